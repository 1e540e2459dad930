"""The HTTP layer: server, routing, request handling, validation, errors, OpenAPI, page tokens.

Knows HTTP and JSON, and no noun of the service: an operation in `api/` or `inbound/` describes
itself as a route, and this package does the rest. It never decides who may do what.
"""
