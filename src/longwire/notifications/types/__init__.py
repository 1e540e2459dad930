"""Types of notifications: one module each, with its parameters and its sender.

To add one, add its module, and its class to the list in `catalogue.py`.
"""
