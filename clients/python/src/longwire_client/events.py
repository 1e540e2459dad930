"""The live stream: from bytes to typed events."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from longwire_client import models as m


@dataclass(frozen=True, slots=True)
class Connected:
    """The stream is open, for the first time or again: what arrives from here on follows."""

    hello: m.LiveHello


@dataclass(frozen=True, slots=True)
class Records:
    """Records that arrived, in the order of their commits."""

    items: Sequence[m.Arrival]


@dataclass(frozen=True, slots=True)
class Changed:
    """Objects that were changed."""

    ids: m.LiveChanged


@dataclass(frozen=True, slots=True)
class Deliveries:
    """What became of the messages of connectors."""

    items: Sequence[m.LiveDeliveries]


@dataclass(frozen=True, slots=True)
class Alarms:
    """Alarms that were raised, acknowledged or resolved."""

    items: Sequence[m.LiveAlarm]


@dataclass(frozen=True, slots=True)
class Lost:
    """Arrivals that were not sent; `records.arrivals(after=from_, before=to)` has them."""

    gap: m.LiveLost


@dataclass(frozen=True, slots=True)
class Expired:
    """The service ends the stream; the client deals with it."""

    code: str
    detail: str


LiveEvent = Connected | Records | Changed | Deliveries | Alarms | Lost

_hello = msgspec.json.Decoder(m.LiveHello)
_records = msgspec.json.Decoder(list[m.Arrival])
_changed = msgspec.json.Decoder(m.LiveChanged)
_deliveries = msgspec.json.Decoder(list[m.LiveDeliveries])
_alarms = msgspec.json.Decoder(list[m.LiveAlarm])
_lost = msgspec.json.Decoder(m.LiveLost)
_expired = msgspec.json.Decoder(m.LiveExpired)


def parse_event(name: str, data: bytes) -> LiveEvent | Expired | None:
    """A typed event; None for one that this version does not know."""
    match name:
        case "hello":
            return Connected(_hello.decode(data))
        case "records":
            return Records(_records.decode(data))
        case "changed":
            return Changed(_changed.decode(data))
        case "deliveries":
            return Deliveries(_deliveries.decode(data))
        case "alarms":
            return Alarms(_alarms.decode(data))
        case "lost":
            return Lost(_lost.decode(data))
        case "expired":
            end = _expired.decode(data)
            return Expired(end.code, end.detail)
        case _:
            return None


@dataclass(slots=True)
class EventParser:
    """Splits a stream of Server-Sent Events; `last_id` is what to resume from."""

    last_id: str | None = None
    _rest: bytearray = field(default_factory=bytearray)
    _name: str = ""
    _id: str | None = None
    _data: list[bytes] = field(default_factory=list)

    def feed(self, chunk: bytes) -> Iterator[tuple[str, bytes]]:
        """The events that are complete with these bytes: name and data.

        `last_id` moves on when the caller asks for what comes after an event, and has thereby
        dealt with it.
        """
        self._rest += chunk
        # Only what was received as a whole; the lines of the service end with a newline.
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if line:
                self._take(bytes(line))
                continue
            if self._data:
                yield self._name, b"\n".join(self._data)
            if self._id is not None:
                self.last_id = self._id
            self._name, self._id, self._data = "", None, []

    def restart(self) -> None:
        """Drop an event that was cut off, before the stream is opened again."""
        self._rest, self._name, self._id, self._data = bytearray(), "", None, []

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            self._name = value.decode()
        elif name == b"data":
            self._data.append(value)
        elif name == b"id":
            self._id = value.decode()
