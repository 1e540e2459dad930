"""How a database gets from any earlier shape to today's (`schema`).

Each file in `versions/` is one step, run in order inside one transaction, once per database.
"""
