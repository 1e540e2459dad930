"""Records that have left the tables: which files have them, and how both are read as one.

The files themselves are written by `longwire.archive`.
"""
