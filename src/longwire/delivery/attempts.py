"""The attempts of a delivery: a short log in its own row, which is written anyway."""

import msgspec

from longwire.clock import Moment

# Of a delivery. A resend begins to count again, so 20 may be of several generations.
ATTEMPTS_KEPT_MAX = 20
DELIVERED = "delivered"

_MS = 1_000


class Attempt(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One attempt to send a message. The order of the fields is what is stored."""

    at_ms: int  # when it began, in milliseconds since 1970
    duration_ms: int
    outcome: str  # DELIVERED, or the code of the failure
    status: int | None  # of the HTTP response, if there was one
    number: int  # since the message was created or last sent again
    exchange_id: str | None = None  # what was sent and came back, if that was kept

    @property
    def at(self) -> Moment:
        return self.at_ms * _MS


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Attempt]).decode


def build_attempt(
    at: Moment,
    duration_ms: int,
    outcome: str,
    status: int | None,
    number: int,
    exchange_id: str | None = None,
) -> Attempt:
    return Attempt(at // _MS, duration_ms, outcome, status, number, exchange_id)


def append_attempt(log: str | None, attempt: Attempt) -> str:
    """The log of a delivery with one attempt more; the oldest ones are dropped."""
    if log is None:
        return _encode((attempt,)).decode()
    return _encode([*_decode(log), attempt][-ATTEMPTS_KEPT_MAX:]).decode()


def parse_attempts(log: str | None) -> list[Attempt]:
    """Oldest first."""
    return [] if log is None else _decode(log)
