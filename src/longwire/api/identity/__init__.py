"""Operations on people, groups, roles and credentials, and on how people sign in.

Wire shapes, permissions and short handlers; the rules belong to `longwire.identity`.
"""
