"""What every way of telling somebody has in common.

A notification that fires becomes one delivery for each of its recipients, as its type counts them.
The delivery's body is a `Letter` as JSON, its context says whom it is for. An instance of a type
sends them: it is what the delivery engine calls a sender, and answers in the same three words.
"""

import builtins
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Protocol

import msgspec
from msgspec import Meta

from longwire.delivery.destinations.base import Message, Outcome, Parcel, only_problems
from longwire.delivery.egress import Egress
from longwire.delivery.filters import BadExpression, Expression
from longwire.notifications import geofences, schedules, templates

DAY_S = 86_400

# The reason for which a push token is of no use any more: whoever hears it disables the token.
TOKEN_IS_DEAD = "the push token is not valid any more"


@dataclass(frozen=True, slots=True)
class Office:
    """What the operator has set up to send with; empty for what there is not."""

    smtp_host: str = ""
    smtp_port: int = 587
    smtp_user: str = ""
    smtp_password: str = ""
    smtp_from: str = ""
    smtp_security: str = "starttls"  # starttls, tls or none
    mail_domains: frozenset[str] = frozenset()  # those that mails may go to; none for any
    vapid_key: str = ""  # private, in base64url
    vapid_contact: str = ""  # mailto: or https:
    fcm_account: str = ""  # the JSON of a service account
    fcm_url: str = "https://fcm.googleapis.com"


@dataclass(frozen=True, slots=True)
class PushTarget:
    """A push token as it was registered."""

    type: str  # webpush or fcm
    token: str


@dataclass(frozen=True, slots=True)
class Means:
    """What a type may use to send."""

    egress: Egress
    office: Office
    # By the digest in hex that a delivery carries; None once nobody who may hear has it any more.
    find_token: Callable[[str], Awaitable[PushTarget | None]]


class Letter(msgspec.Struct, frozen=True, rename="camel"):
    """What is told: the body of a delivery, as JSON."""

    subject: str
    body: str
    reason: str
    message: dict[str, Any]  # what happened, as expressions see it
    held_back: int = 0  # how many were not sent since the last one


class Envelope(msgspec.Struct, frozen=True):
    """Whom it is for: the context of a delivery, as JSON."""

    to: str = ""  # an address, or the digest of a push token in hex; nothing where params say it


def enclosed(
    delivery_id: str, group_id: str, device_id: str, body: str | bytes, context: str
) -> Message:
    """A delivery of ours as a message for the engine."""
    return Message(
        id=delivery_id,
        kind="notification",
        group_id=group_id,
        device_id=device_id,
        device_type="",
        body=body.encode() if isinstance(body, str) else body,
        content_type="application/json",
        to=msgspec.json.decode(context, type=Envelope).to,
    )


def letter_in(parcel: Parcel) -> Letter:
    return msgspec.json.decode(parcel.only.body, type=Letter)


class Params(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """What every notification can be told, whatever its type."""

    when: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=4_096,
                description="CEL over `message`: it fires only when this is true.",
                examples=["double(message.data.temperature) > 30.0"],
            ),
        ]
        | None
    ) = None
    subject: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=templates.SUBJECT_TEMPLATE_CHARACTERS_MAX,
                description="The subject, on one line; `{{ CEL }}` in it is replaced by its value.",
                examples=["{{ message.deviceName }} is too warm"],
            ),
        ]
        | None
    ) = None
    body: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=templates.BODY_TEMPLATE_CHARACTERS_MAX,
                description="The text, with the same placeholders.",
                examples=["{{ message.data.temperature }} degrees at {{ message.timestamp }}"],
            ),
        ]
        | None
    ) = None
    timezone: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=64,
            description="The zone that the schedule is meant in, by its IANA name.",
            examples=["Europe/Paris"],
        ),
    ] = "UTC"
    throttle: Annotated[
        int,
        Meta(
            ge=0,
            le=30 * DAY_S,
            description="Seconds in which one device is told about at most once; what is held back "
            "is counted in the next one. 0 tells every time.",
        ),
    ] = 0
    battery_below: Annotated[
        float,
        Meta(gt=0, le=100, description="Per cent of charge below which `batteryLow` is raised."),
    ] = 20
    silent_after: Annotated[
        int,
        Meta(ge=60, le=365 * DAY_S, description="Seconds of silence that raise `deviceSilent`."),
    ] = DAY_S
    failing_after: Annotated[
        int,
        Meta(ge=1, le=1_000, description="Failures in a row that raise `connectorFailing`."),
    ] = 5
    geofence: geofences.Geofence | None = None

    def problems(self, egress: Egress) -> list[tuple[str, str]]:
        """What is wrong although each field by itself is fine: (field on the wire, why)."""
        found = only_problems(
            {
                "when": None if self.when is None else expression_problem(self.when),
                "subject": None if self.subject is None else templates.problem(self.subject),
                "body": None if self.body is None else templates.problem(self.body),
                "timezone": schedules.timezone_problem(self.timezone),
            }
        )
        if self.geofence is not None:
            found += [
                (f"geofence.{field}" if field else "geofence", why)
                for field, why in geofences.problems(self.geofence)
            ]
        return found


def expression_problem(source: str) -> str | None:
    try:
        Expression(source)
    except BadExpression as error:
        return str(error)
    return None


Tokens = Callable[[], Sequence[str]]


class NotificationType(Protocol):
    """One way to tell somebody; an instance sends for one notification."""

    type: ClassVar[str]
    title: ClassVar[str]
    params_type: ClassVar[builtins.type[Params]]
    # Whether its letters keep what happened beside the words about it. Not where there are many.
    keeps_message: ClassVar[bool]

    @classmethod
    def unavailable(cls, office: Office) -> str | None:
        """Why nothing can be sent this way as the operator has set things up; None if it can."""

    @classmethod
    def unwanted(cls, params: Params, office: Office) -> Sequence[tuple[str, str]]:
        """What the operator does not let anybody tell or be told: (field on the wire, why)."""

    @classmethod
    def recipients(cls, params: Params, tokens: Tokens) -> Sequence[str]:
        """Whom one firing is for: a delivery each, with this in its envelope.

        `tokens` gives the push tokens of the group's members, as digests in hex.
        """

    def __init__(self, params: Params, means: Means) -> None: ...

    @property
    def batch_max(self) -> int:
        """Always one: a letter is a letter."""

    async def send(self, parcel: Parcel) -> Outcome:
        """Send one letter; raises for nothing that the other side does."""

    async def close(self) -> None:
        """Let go of connections."""


NotificationTypes = Mapping[str, type[NotificationType]]
