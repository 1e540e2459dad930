"""What happens in one exchange: how far it came, and the beginning of the response."""

from enum import StrEnum


class Phase(StrEnum):
    """How far an exchange came."""

    RESOLVE = "resolve"  # the name of the host is looked up, and its addresses are checked
    CONNECT = "connect"
    PROXY = "proxy"  # a proxy is asked to connect
    TLS = "tls"
    REQUEST = "request"  # it is sent, and no response has begun
    RESPONSE = "response"  # its head is there
    COMPLETE = "complete"


class Recorder:
    """Of one exchange. Bounded by the limits of a head, and by `body_max`; with 0 it keeps nothing.

    A response that is no success ends at its head, unless its body is wanted.
    """

    __slots__ = ("body", "body_bytes", "body_max", "headers", "phase", "status")

    def __init__(self, body_max: int = 0) -> None:
        self.phase = Phase.RESOLVE
        self.status: int | None = None
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = bytearray()
        self.body_bytes = 0  # received
        self.body_max = body_max

    @property
    def wants_body(self) -> bool:
        """Whether more of it would be kept."""
        return len(self.body) < self.body_max

    def add_header(self, name: bytes, value: bytes) -> None:
        if self.body_max:
            self.headers.append((name, value))

    def add_body(self, part: bytes) -> None:
        self.body_bytes += len(part)
        if self.wants_body:
            self.body += part[: self.body_max - len(self.body)]
