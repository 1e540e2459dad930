"""CEL EXPRESSIONS: filters and templates that users write, checked and bounded before they run.

Owns the lexer, the checks, the limits on patterns and data, and the evaluation. Knows messages as
plain dictionaries and uses no other package of the project.
"""
