"""How many connections to destinations are open.

Idle ones are kept for the next message, which saves a handshake. But each has a descriptor, and
connectors are many: beyond a limit no connection is kept when its attempt ends, so that there are
never more than that, or than attempts in flight.
"""

UNLIMITED = 1_000_000


class OpenConnections:
    """Those of all destinations behind one egress guard."""

    def __init__(self, connections_max: int = UNLIMITED) -> None:
        self.count = 0
        self._connections_max = connections_max

    @property
    def is_crowded(self) -> bool:
        """Whether a connection has to be closed as soon as nothing is in flight on it."""
        return self.count > self._connections_max
