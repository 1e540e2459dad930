"""Which connectors forward a record: filters, their index, and what evaluating them may cost.

Runs within the transaction of the record; never sends.
"""
