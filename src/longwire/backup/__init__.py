"""Backups: a consistent copy of the database in chunks that are named by their content.

A backup is a manifest that lists the chunks of its files. Chunks are shared: another backup of the
same database adds only those that changed. A manifest is written when all of its chunks are there,
so a backup exists as a whole or not at all. The secret key is never part of it unless asked for.
"""
