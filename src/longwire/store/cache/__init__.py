"""What a process keeps in memory of the database, and how it learns that this is out of date.

Reads through transactions; never a second truth.
"""
