"""Rows of jobs, their leases and results.

What a job does is decided by `longwire.jobs`.
"""
