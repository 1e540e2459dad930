"""Who may do work now, and how much may wait: fairness, in one place.

Owns the two-level turns (`turns`), a queue of them for threads (`fair_queue`) and limits that leave
something to those who have little (`budgets`). Knows no noun and waits for nothing but the queue.
"""
