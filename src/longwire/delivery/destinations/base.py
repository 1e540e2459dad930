"""The interface of destinations, and what the engine exchanges with them.

A destination sends an `OutboundBatch` and returns one of three outcomes. It never raises for
anything that the peer does, never shows the peer's texts, and never retries: that is up to the
engine. It may keep connections open between batches.
"""

import builtins
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Protocol

import msgspec
from msgspec import Meta

from longwire.clock import Moment
from longwire.delivery.exchanges import Exchange
from longwire.delivery.http.egress import Egress

MASK = "********"

# Encrypted at rest, masked in responses; marked in the JSON Schema, too.
Secret = Annotated[
    str,
    Meta(
        min_length=1, max_length=4_096, extra_json_schema={"writeOnly": True, "format": "password"}
    ),
]


class OutboundMessage(msgspec.Struct, frozen=True):
    """One record, formatted for its destination."""

    id: str  # the same for every attempt, so that receivers can deduplicate
    kind: str
    group_id: str
    device_id: str
    device_type: str
    body: bytes
    content_type: str
    element: bytes = b""  # JSON with the id in it, as an element of a batch
    to: str = ""  # the recipient, for senders with several
    is_test: bool = False  # sent by hand, to see what happens


class OutboundBatch(msgspec.Struct, frozen=True):
    """What is sent at once: one message, or several if the connector has batches enabled."""

    id: str
    messages: Sequence[OutboundMessage]
    at: Moment = 0  # when it is sent, by the service's clock
    traceparent: str = ""  # of the attempt, if it is traced

    @property
    def single(self) -> OutboundMessage:
        return self.messages[0]


class FailureCode(StrEnum):
    """Why an attempt failed. Behaviour depends on the code, never on the words of the reason."""

    REJECTED = "rejected"  # the receiver answered and did not accept the message
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    EGRESS_DENIED = "egress_denied"
    TLS_FAILED = "tls_failed"
    LOGIN_REJECTED = "login_rejected"
    LIMIT_EXCEEDED = "limit_exceeded"  # the receiver sends more than it may
    GONE = "gone"  # the receiver wants nothing more
    RECIPIENT_GONE = "recipient_gone"  # a push token or an address that is no longer valid
    NOT_CONFIGURED = "not_configured"
    INVALID_MESSAGE = "invalid_message"  # it cannot be expressed in the format or protocol
    WITHDRAWN = "withdrawn"  # cancelled, expired or no longer meant for this recipient
    QUOTA_USED_UP = "quota_used_up"  # of the group that sends it
    INTERNAL_ERROR = "internal_error"
    ORPHANED = "orphaned"  # the process that was sending it died
    STOPPED = "stopped"  # the process that was sending it shut down


class Delivered(msgspec.Struct, frozen=True):
    """The receiver has confirmed it."""

    answer: str = ""  # part of the response, for the handlers that need it
    is_duplicate: bool = False  # an earlier attempt had already arrived
    status: int | None = None  # of an HTTP response
    exchange: Exchange | None = None  # if it is to be kept


class Refused(msgspec.Struct, frozen=True):
    """The receiver answered and did not accept it."""

    reason: str  # in our own words
    is_final: bool = False  # a retry cannot help
    retry_after_s: int | None = None  # as requested by the receiver
    disables: bool = False  # the receiver wants nothing more from this connector
    code: FailureCode = FailureCode.REJECTED
    status: int | None = None  # of an HTTP response
    exchange: Exchange | None = None  # if it is to be kept


class Unreachable(msgspec.Struct, frozen=True):
    """No response, so it may or may not have arrived; or no connection."""

    reason: str
    is_final: bool = False
    code: FailureCode = FailureCode.UNREACHABLE
    exchange: Exchange | None = None  # if it is to be kept


Outcome = Delivered | Refused | Unreachable

# Responses that are about the receiver rather than the message: it is slow, busy or broken.
_FAILING_STATUSES = frozenset((408, 429))
_REQUESTING_STATUSES = frozenset((429, 503))


def is_receiver_failing(outcome: Outcome) -> bool:
    """Whether other messages would probably fare no better now."""
    if isinstance(outcome, Refused):
        status = outcome.status or 0
        return not outcome.is_final and (status in _FAILING_STATUSES or status >= 500)
    return isinstance(outcome, Unreachable) and not outcome.is_final


def get_requested_pause_s(outcome: Outcome) -> int:
    """How long the receiver wants to get nothing at all."""
    if isinstance(outcome, Refused) and outcome.status in _REQUESTING_STATUSES:
        return outcome.retry_after_s or 0
    return 0


# In metrics and traces.
OUTCOME_NAMES: Mapping[builtins.type[Outcome], str] = {
    Delivered: "delivered",
    Refused: "refused",
    Unreachable: "unreachable",
}


def invalid_message(reason: str) -> Refused:
    """The outcome for a message that cannot be sent by this protocol."""
    return Refused(reason, is_final=True, code=FailureCode.INVALID_MESSAGE)


class RequestPreview(msgspec.Struct, frozen=True):
    """What would be sent, for users to inspect; secrets are masked."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: str


class ParamsBase(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Parameters of a connector or a notification, of any type."""

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        """Errors that the schema cannot express: (field on the wire, reason)."""
        return []


Template = Annotated[
    str,
    Meta(
        min_length=1, max_length=4_096, description="CEL over `message`, for the format `custom`."
    ),
]


# A request every 17 minutes. Faster than the highest rate, the limit would be what one process can
# send, which needs no setting.
MAX_PER_SECOND_MIN = 0.001
MAX_PER_SECOND_MAX = 1_000
MessageKind = Literal["data", "event", "geoloc", "telemetry", "alarm", "registry"]


class DestinationParams(ParamsBase, kw_only=True):
    """Parameters that every type of connector has."""

    subgroups: Annotated[
        bool, Meta(description="Also forward messages of devices in subgroups.")
    ] = False
    template: Template | None = None
    ordered: Annotated[
        bool,
        Meta(
            description="Send the messages of a device one after the other: one that failed holds"
            " back the later ones of its device until it is delivered, given up or cancelled."
        ),
    ] = False
    max_per_second: (
        Annotated[
            float,
            Meta(
                ge=MAX_PER_SECOND_MIN,
                le=MAX_PER_SECOND_MAX,
                description="Send at most so many requests in a second; the others wait.",
                examples=[10, 0.5],
            ),
        ]
        | None
    ) = None
    kinds: (
        Annotated[
            list[MessageKind],
            Meta(
                min_length=1,
                max_length=6,
                description="What is forwarded: kinds of records, `alarm` for alarms that are"
                " raised, acknowledged or resolved, and `registry` for devices that are created,"
                " changed, moved or deleted. Without it, all records.",
                examples=[["data", "alarm"]],
            ),
        ]
        | None
    ) = None

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        names = self.kinds or ()
        twice = [index for index, each in enumerate(names) if each in names[:index]]
        return [
            *super().validate(egress),
            *((f"kinds[{index}]", "is given twice") for index in twice),
        ]


def list_invalid_fields(reasons: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """The fields that have a reason to be invalid, and the reason."""
    return [(field, reason) for field, reason in reasons.items() if reason]


class Sender(Protocol):
    """Sends a channel's batches."""

    @property
    def batch_max(self) -> int:
        """How many messages a batch may have."""

    async def send(self, batch: OutboundBatch) -> Outcome:
        """Send, and wait for the confirmation; the caller's timeout cancels it."""

    async def close(self) -> None:
        """Close connections."""


class Destination(Sender, Protocol):
    """A type of destination; an instance belongs to one connector."""

    type: ClassVar[str]
    title: ClassVar[str]
    params_type: ClassVar[builtins.type[DestinationParams]]
    formats: ClassVar[tuple[str, ...]]

    def __init__(self, params: DestinationParams, egress: Egress) -> None: ...

    def describe(self, batch: OutboundBatch) -> RequestPreview:
        """What `send` would send."""
