"""MESSAGES OUT: what is stored reaches the systems that asked for it, or is kept until it does.

Owns connectors and channels, matching and formatting (pure), CEL expressions, the engine (claim,
send, settle), resends and replays, the egress guard and the destinations. Uses `identity`,
`metrics` and `store`. Opens transactions in the engine alone, and none while it waits for another
system.
"""
