"""Rows of records: inserted in batches, read by page, arrival or scan, deleted when they expire.

Every path of a record through the tables; the archive beside them has its own room.
"""
