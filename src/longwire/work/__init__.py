"""Who may do work now, and how much: fairness and the pace of background work, in one place.

Owns the two-level turns (`turns`), a queue of them for threads (`fair_queue`), budgets (`budgets`),
rate limits (`rate_limits`), leases (`leases`) and the steps of background work (`stepper`). Knows
no noun and no database.
"""
