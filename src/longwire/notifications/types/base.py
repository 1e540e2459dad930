"""What all notification senders have in common.

A notification that fires becomes one delivery per recipient, as its type lists them. The delivery's
body is a `NotificationMessage` as JSON, its context a `NotificationContext`. An instance of a type
is the sender that the delivery engine uses for one notification.
"""

import builtins
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Protocol

import msgspec
from msgspec import Meta

from longwire.delivery.cel.expressions import Expression
from longwire.delivery.cel.lexer import InvalidExpression
from longwire.delivery.destinations.base import (
    OutboundBatch,
    OutboundMessage,
    Outcome,
    ParamsBase,
    Refused,
    list_invalid_fields,
)
from longwire.delivery.http.egress import Egress
from longwire.delivery.mail.smtp import MailConfig
from longwire.notifications import geofences, schedules, templates

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class SendingConfig:
    """What the operator has configured to send with; empty where nothing is."""

    mail: MailConfig = field(default_factory=MailConfig)
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
class SenderContext:
    """What a sender may use."""

    egress: Egress
    config: SendingConfig
    # By the hex digest in a delivery's context; None if the token was removed, or its user may no
    # longer read the notifications of the group.
    get_push_target: Callable[[str], Awaitable[PushTarget | None]]
    # By an address: why no mail may go there now; None if one may, and then it is counted.
    check_mail: Callable[[str], Awaitable[Refused | None]]


class NotificationMessage(msgspec.Struct, frozen=True, rename="camel"):
    """The body of a delivery, as JSON."""

    subject: str
    body: str
    reason: str
    message: dict[str, Any]  # what happened, as expressions see it
    held_back: int = 0  # how many were suppressed since the last one


class NotificationContext(msgspec.Struct, frozen=True):
    """The context of a delivery, as JSON: its recipient."""

    to: str = ""  # an address or the hex digest of a push token; empty where the params say it


def build_outbound_message(
    delivery_id: str, group_id: str, device_id: str, body: str | bytes, context: str
) -> OutboundMessage:
    return OutboundMessage(
        id=delivery_id,
        kind="notification",
        group_id=group_id,
        device_id=device_id,
        device_type="",
        body=body.encode() if isinstance(body, str) else body,
        content_type="application/json",
        to=msgspec.json.decode(context, type=NotificationContext).to,
    )


def decode_notification(batch: OutboundBatch) -> NotificationMessage:
    return msgspec.json.decode(batch.single.body, type=NotificationMessage)


class Params(ParamsBase, kw_only=True):
    """The parameters of every notification, whatever its type."""

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
            description="Seconds in which at most one notification per device is sent; those held "
            "back are counted in the next one. 0 sends all.",
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

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        """Errors that the types of single fields cannot express: (field on the wire, reason)."""
        found = list_invalid_fields(
            {
                "when": None if self.when is None else check_expression(self.when),
                "subject": None if self.subject is None else templates.check(self.subject),
                "body": None if self.body is None else templates.check(self.body),
                "timezone": schedules.check_timezone(self.timezone),
            }
        )
        if self.geofence is not None:
            found += [
                (f"geofence.{field}" if field else "geofence", why)
                for field, why in geofences.validate(self.geofence)
            ]
        return found


def check_expression(source: str) -> str | None:
    """Why the expression is invalid; None if it is valid."""
    try:
        Expression(source, is_filter=True)
    except InvalidExpression as error:
        return str(error)
    return None


ListTokens = Callable[[], Sequence[str]]


class NotificationSender(Protocol):
    """A type of notification; an instance sends for one notification."""

    type: ClassVar[str]
    title: ClassVar[str]
    params_type: ClassVar[builtins.type[Params]]
    # Whether its messages keep the whole record; not where each firing has many recipients.
    keeps_message: ClassVar[bool]
    # What the operator has to configure before this type can be used.
    setup_hint: ClassVar[str]

    @classmethod
    def is_available(cls, config: SendingConfig) -> bool:
        """Whether the operator has configured what this type needs."""

    @classmethod
    def list_disallowed(cls, params: Params, config: SendingConfig) -> Sequence[tuple[str, str]]:
        """What the operator's configuration forbids: (field on the wire, reason)."""

    @classmethod
    def list_recipients(cls, params: Params, list_tokens: ListTokens) -> Sequence[str]:
        """The recipients of one firing: a delivery each, with this in its context.

        `list_tokens` returns the push tokens of the group's members, as hex digests.
        """

    def __init__(self, params: Params, context: SenderContext) -> None: ...

    @property
    def batch_max(self) -> int:
        """Always one."""

    async def send(self, batch: OutboundBatch) -> Outcome:
        """Send one message; never raises for what the receiver does."""

    async def close(self) -> None:
        """Close connections."""


class PublicService:
    """Defaults of the types that need nothing from the operator, and have one recipient."""

    setup_hint: ClassVar[str] = ""

    @classmethod
    def is_available(cls, config: SendingConfig) -> bool:
        return True

    @classmethod
    def list_disallowed(cls, params: Params, config: SendingConfig) -> Sequence[tuple[str, str]]:
        return ()

    @classmethod
    def list_recipients(cls, params: Params, list_tokens: ListTokens) -> Sequence[str]:
        return [""]


NotificationSenders = Mapping[str, type[NotificationSender]]
