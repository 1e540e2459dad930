"""THE WIRE: HTTP, JSON, the interface's spelling, status codes. Decides nothing.

Owns the door every request comes through, the route tables, the OpenAPI document and the map from
errors to statuses. Uses the rooms below. No other room knows a path, a header or a camelCase name.
"""
