"""What ingest takes and returns: the records of a request, and the result after their commit."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from longwire.clock import Moment
from longwire.errors import FieldError, LongwireError, NotFound, Unavailable
from longwire.model import Actor
from longwire.records import ArrivalSource, Record
from longwire.spans import Span
from longwire.store.records.receptions import Reception


class IngestItem(msgspec.Struct, frozen=True, gc=False):
    """A record as it was sent: without its group, and perhaps without the name of its device."""

    record: Record
    ts: Moment
    digest: bytes
    claimed_group: str | None = None  # the device's group, according to the sender


class MessageMetadata(msgspec.Struct, frozen=True, gc=False):
    """What a network message says beyond its records; it counts if any of them is new."""

    device_id: str
    counts: tuple[str, ...] = ()
    battery: str | None = None
    at: Moment | None = None
    # The version of the device that the sender decoded with.
    as_of: Moment | None = None
    # Frame counter and its modulus; `restarts` is a reset of the counter, such as a join.
    sequence: int | None = None
    modulus: int = 0
    restarts: bool = False
    # Whether the configuration in its records is the device's own word, and not filled in.
    reports_configuration: bool = False

    @property
    def is_numbered(self) -> bool:
        return self.sequence is not None or self.restarts

    def received_at(self, now: Moment) -> Moment:
        """When the message was received, but never in the future."""
        return now if self.at is None else min(self.at, now)


class IngestRequest(msgspec.Struct, frozen=True, gc=False):
    """The records of one request: all of them are stored, or none."""

    actor: Actor
    items: Sequence[IngestItem]
    is_batch: bool
    metadata: MessageMetadata | None = None
    source: int = ArrivalSource.API.value
    reception: Reception | None = None  # how it came in, if that is kept for a trace
    span: Span | None = None  # if the request is traced


class IngestResult(msgspec.Struct, frozen=True, gc=False):
    """The records as they are returned, and how many of them had been stored before."""

    bodies: list[str]
    duplicates: int


class UnknownRecordDevices(NotFound):
    """There is no such device, or the sender has no access to it."""

    def __init__(self, field_errors: Iterable[FieldError], records: Sequence[Record]) -> None:
        super().__init__(field_errors=field_errors)
        self.records = records  # of these devices


class StaleDevice(Unavailable):
    """The device was changed while its message was processed; nothing was stored. Retry at once."""


class DevicesLocked(Unavailable):
    """A device is being changed; nothing was stored. Retry shortly."""


# Called once with the result of a request, after the commit.
OnResult = Callable[[IngestResult | Exception], None]
IngestResults = list[IngestResult | LongwireError]
