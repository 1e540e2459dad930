"""What every kind of destination has in common.

A destination takes a `Parcel` and says what became of it, in one of three words. It never raises
for anything the other side does, never repeats what the other side says, and never tries twice:
when to try again is the engine's business. It keeps its connection open between parcels as it
likes.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Protocol

import msgspec
from msgspec import Meta

from longwire.clock import Moment
from longwire.delivery.egress import Egress

MASK = "********"

# Sealed at rest, masked in answers. The mark is in the JSON Schema that users see, too.
Secret = Annotated[
    str,
    Meta(
        min_length=1, max_length=4_096, extra_json_schema={"writeOnly": True, "format": "password"}
    ),
]


class Message(msgspec.Struct, frozen=True):
    """One record, shaped for the way out."""

    id: str  # the same on every try, so that a receiver can tell a repetition
    kind: str
    group_id: str
    device_id: str
    device_type: str
    body: bytes
    content_type: str
    element: bytes = b""  # JSON with the id in it, as a member of a batch
    to: str = ""  # whom it is for, where a sender has several to choose from


class Parcel(msgspec.Struct, frozen=True):
    """What goes out in one piece: one message, or several where the connector asked for batches."""

    id: str
    messages: Sequence[Message]
    at: Moment = 0  # when it leaves, by the service's clock

    @property
    def only(self) -> Message:
        return self.messages[0]


class Delivered(msgspec.Struct, frozen=True):
    """The other side has confirmed it."""

    answer: str = ""  # what it said with that, for the few purposes that want to know


class Refused(msgspec.Struct, frozen=True):
    """The other side answered, and did not take it."""

    reason: str  # in our own words
    is_final: bool = False  # trying again cannot help
    retry_after_s: int | None = None  # what the other side asked for
    disables: bool = False  # the other side wants nothing more from this connector


class Unreachable(msgspec.Struct, frozen=True):
    """No answer, so it may or may not have arrived; or no way there."""

    reason: str
    is_final: bool = False


Outcome = Delivered | Refused | Unreachable


class Request(msgspec.Struct, frozen=True):
    """What would go out, for people to look at; secrets are masked."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: str


class Params(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """What every connector can be told, whatever its type."""

    subgroups: Annotated[bool, Meta(description="Also what devices in the groups below say.")] = (
        False
    )
    template: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=4_096,
                description="CEL over `message`, for the format `custom`.",
            ),
        ]
        | None
    ) = None

    def problems(self, egress: Egress) -> list[tuple[str, str]]:
        """What is wrong although each field by itself is fine: (field on the wire, why)."""
        return []


def only_problems(looked_at: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """Of the fields that were looked at, those that something is wrong with, and what."""
    return [(field, why) for field, why in looked_at.items() if why]


ParamsType = type[Params]


class Sender(Protocol):
    """One way out, as the engine sees it."""

    @property
    def batch_max(self) -> int:
        """How many messages may share a parcel."""

    async def send(self, parcel: Parcel) -> Outcome:
        """Send, and wait for the confirmation; whoever calls sets the time limit by cancelling."""

    async def close(self) -> None:
        """Let go of connections."""


class Destination(Sender, Protocol):
    """One kind of destination; an instance is one connector's way there."""

    type: ClassVar[str]
    title: ClassVar[str]
    params_type: ClassVar[ParamsType]
    formats: ClassVar[tuple[str, ...]]

    def __init__(self, params: Params, egress: Egress) -> None: ...

    def describe(self, parcel: Parcel) -> Request:
        """What `send` would send, without sending it."""
