"""Throughput and latency of the service, as a share of a ceiling measured in the same run.

Owns: the load client (`load`), the ceiling to compare with (`ceiling`), the table of results
(`table`).
May use: the service from outside, over HTTP, and its server class.
Never: uses internals of the service, or reports a rate without its ceiling.
"""
