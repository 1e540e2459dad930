"""Operations on the four kinds of records: stored, listed, exported, drawn and traced.

Wire shapes, permissions and short handlers; the rules belong to `longwire.ingest`.
"""
