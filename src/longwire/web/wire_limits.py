"""Limits on what a client may use before it has sent a complete request."""

from longwire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class WireLimits:
    """Limits on what a client may use before it has sent a complete request."""

    # Tokens and trace headers come to a few kilobytes; common proxies stop at 8 to 16 KiB too.
    head_bytes_max: int = 16 * 1024
    # Counted from the connect, and on a kept-alive connection from the request's first byte.
    head_timeout_s: float = 10.0
    # The whole request with its body, counted from the same moment.
    request_timeout_s: float = 30.0
    # For a client that has stopped reading its response.
    write_timeout_s: float = 30.0
    # Between two requests on one connection.
    keep_alive_s: float = 30.0
    # Requests sent ahead of the first one's response. A request of 20 bytes costs us kilobytes as
    # soon as it is parsed, so this cannot be left to the size of a read.
    pipelined_max: int = 64
    # Zero means no limit, for both. The second is off because behind a proxy on this machine
    # every client has the same address.
    connections_max: int = 10_000
    connections_per_address_max: int = 0
    # Of all responses that wait for their clients.
    unsent_bytes_max: int = 128 * 1024 * 1024
