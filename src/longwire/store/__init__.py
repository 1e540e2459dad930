"""HOW IT IS KEPT: the only SQL of the service.

Owns the schema, its migrations, the two engines and one file of queries per noun. Uses the ground
(`model`, `errors`, `clock`, `ids`, `seal`) and SQLAlchemy. Never decides who may do what: what
belongs to somebody is read through a `Scope`, and a transaction is opened only by `Database`.
"""
