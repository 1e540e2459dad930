"""The archive: records of old months as Parquet files, in a folder or an S3-compatible store.

`mover` moves them out of the tables, for `longwire archive`; `reader` reads them for the service,
in threads of its own. What is in which file, and what of it was deleted, is in the database: see
`store.archive_files`. Nothing here knows HTTP or a permission.
"""
