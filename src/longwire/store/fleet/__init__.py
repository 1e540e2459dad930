"""Rows of devices: what each is, its state, its configuration, and what is sent to it.

Knows rows and conditions; rules of devices belong to `longwire.fleet`.
"""
