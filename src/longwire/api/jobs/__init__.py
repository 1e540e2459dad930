"""Operations on jobs.

Wire shapes, permissions and short handlers; the rules belong to `longwire.jobs`.
"""
