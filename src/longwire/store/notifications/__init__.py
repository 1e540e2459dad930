"""Rows of notifications and of monitored devices.

What they mean is decided by `longwire.notifications` and `longwire.fleet`.
"""
