"""Operations on reports, and what their files contain.

Wire shapes, permissions and short handlers; the rules belong to `longwire.reports`.
"""
