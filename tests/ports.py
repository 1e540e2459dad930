"""Ports for servers that cannot choose one themselves."""

import secrets
import socket

# Below those that systems give to clients. One of them could go to a connection of another test
# before the server has it; and whoever tries to connect until it listens might get the very port as
# its own, and be connected to itself. Browsers refuse to connect to port 10080.
FIRST_PORT = 10_081
LAST_PORT = 31_999


def free_port() -> int:
    """A port of this machine that nobody uses."""
    while True:
        port = FIRST_PORT + secrets.randbelow(LAST_PORT - FIRST_PORT + 1)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
