"""Devices, device types, records, decoding and downlinks.

Owns the rules about devices and their records. Uses `identity/` for who may, `store/` to keep
things, and the ground. Never knows HTTP or SQL; never opens a transaction.
"""
