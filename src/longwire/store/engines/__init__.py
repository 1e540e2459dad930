"""The databases themselves: SQLite, PostgreSQL and Citus, their threads, connections and copies.

The only place that begins and ends transactions, and that knows which engine there is.
"""
