"""Rows of connectors, their channels, and the deliveries on their way out.

Every lease has a fencing token; nothing here sends anything.
"""
