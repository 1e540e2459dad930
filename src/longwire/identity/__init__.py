"""WHO MAY DO WHAT: people, app clients, groups, roles, permissions and tokens.

Owns the rules of membership and authorisation. Uses `store/` and the ground. Never knows HTTP, the
interface's spelling or SQL; never opens a transaction. `access` is the only maker of a `Scope`.
"""
