"""How many connections to destinations are open.

Idle ones are kept for the next message, which saves a handshake. But each has a descriptor, and
connectors are many: beyond a limit no connection is kept when its attempt ends, so that there are
never more than that, or than attempts in flight.
"""

import threading

UNLIMITED = 1_000_000
READ_BYTES = 16 * 1_024


class ReadBuffer(threading.local):
    """Of an event loop: what was read is parsed before anything else is read."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(READ_BYTES))


class OpenConnections:
    """Those of all destinations behind one egress guard."""

    def __init__(self, connections_max: int = UNLIMITED) -> None:
        self.count = 0
        self.read_buffer = ReadBuffer()  # shared by all of them
        self._connections_max = connections_max

    @property
    def is_crowded(self) -> bool:
        """Whether a connection has to be closed as soon as nothing is in flight on it."""
        return self.count > self._connections_max
