"""Identity and access: users, app clients, groups, roles, permissions and tokens.

Owns the rules of membership and authorisation. Uses `store/` and the base modules. Knows neither
HTTP, wire names nor SQL; never opens a transaction. Only `access` creates a `Scope`.
"""
