"""Requests that leave the service: clients with limits, behind the egress guard.

Nothing of the service connects to a host of a user in any other way.
"""
