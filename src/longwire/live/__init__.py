"""Tells those who listen what happens: records after their commit, changes, deliveries.

Owns the listeners of a process and what waits for them. Never holds up whoever stores something,
and costs nothing while nobody listens.
"""
