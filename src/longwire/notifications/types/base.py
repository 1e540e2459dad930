"""What all notification senders have in common.

A notification that fires becomes one delivery per recipient, as its type lists them. The delivery's
body is a `NotificationMessage` as JSON, its context a `NotificationContext`. An instance of a type
is the sender that the delivery engine uses for one notification.
"""

import builtins
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Protocol

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
from longwire.measurements.comparisons import is_measurement_name
from longwire.measurements.definitions import NAME_CHARACTERS_MAX
from longwire.notifications import geofences, schedules, templates
from longwire.notifications.alarm_conditions import OnStale
from longwire.translations.catalogue import DEFAULT_LANGUAGE, Language

DAY_S = 86_400
_SPAN_MAX = 365 * DAY_S
CONTACT_POINT_PREFIX = "cpt"
CONTACT_POINTS_MAX = 20  # of a notification

ContactPointId = Annotated[
    str, Meta(min_length=1, max_length=128, examples=["cpt_vzpeqxr5mxjrq2uy6ct3mlgw"])
]

Severity = Literal["info", "warning", "critical"]


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
    language: str = DEFAULT_LANGUAGE  # of subject and body


class NotificationContext(msgspec.Struct, frozen=True, omit_defaults=True):
    """The context of a delivery, as JSON: its recipient."""

    to: str = ""  # an address or the hex digest of a push token; empty where the params say it
    # Of what is sent through a contact point: the number and the group of the notification.
    notification: int = 0
    group_id: str = ""


def decode_context(context: str) -> NotificationContext:
    return msgspec.json.decode(context, type=NotificationContext)


def build_outbound_message(
    delivery_id: str, group_id: str, device_id: str, body: str | bytes, context: str
) -> OutboundMessage:
    decoded = decode_context(context)
    return OutboundMessage(
        id=delivery_id,
        kind="notification",
        group_id=decoded.group_id or group_id,
        device_id=device_id,
        device_type="",
        body=body.encode() if isinstance(body, str) else body,
        content_type="application/json",
        to=decoded.to,
    )


def decode_notification(batch: OutboundBatch) -> NotificationMessage:
    return msgspec.json.decode(batch.single.body, type=NotificationMessage)


class ContactParams(ParamsBase, kw_only=True):
    """The parameters of every contact point, whatever its type."""

    subgroups: Annotated[
        bool, Meta(description="Notifications of the groups below may use it as well.")
    ] = False
    language: (
        Annotated[
            Language,
            Meta(
                description="Of what is sent, for recipients that are not members with a language"
                " of their own; else English.",
                examples=["de"],
            ),
        ]
        | None
    ) = None


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
    subgroups: Annotated[
        bool, Meta(description="Also for devices and connectors of the groups below.")
    ] = False
    severity: Annotated[Severity, Meta(description="Of its alarms.", examples=["critical"])] = (
        "warning"
    )
    repeat_every: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=_SPAN_MAX,
                description="Seconds after which an alarm is sent again while it is open and "
                "nobody has acknowledged it.",
            ),
        ]
        | None
    ) = None
    escalate_after: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=_SPAN_MAX,
                description="Seconds after its first message after which `escalateTo` sends it "
                "as well, if nobody has acknowledged it.",
            ),
        ]
        | None
    ) = None
    escalate_to: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=128,
                description="The id of another notification of the group, or of a contact point.",
                examples=["ntf_vzpeqxr5mxjrq2uy6ct3mlgw"],
            ),
        ]
        | None
    ) = None
    contact_points: Annotated[
        list[ContactPointId],
        Meta(
            max_length=CONTACT_POINTS_MAX,
            description="The ids of contact points that it is sent to as well.",
            examples=[["cpt_vzpeqxr5mxjrq2uy6ct3mlgw"]],
        ),
    ] = msgspec.field(default_factory=list)
    condition: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=4_096,
                description="CEL over `message`, `values` (current ones) and `device`, for the "
                "reason `measurement` in place of a limit.",
                examples=["values.temperature > double(device.configuration.limit)"],
            ),
        ]
        | None
    ) = None
    resolve: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=4_096,
                description="The same, for when it is clear; else it is when `condition` is false.",
                examples=["values.temperature < 4.0"],
            ),
        ]
        | None
    ) = None
    measurement: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=NAME_CHARACTERS_MAX,
                description="The name of a measurement, for the reason `measurement`.",
                examples=["temperature"],
            ),
        ]
        | None
    ) = None
    above: (
        Annotated[float, Meta(description="Raised when the value is above this.", examples=[-15])]
        | None
    ) = None
    below: (
        Annotated[float, Meta(description="Raised when the value is below this.", examples=[15])]
        | None
    ) = None
    hysteresis: Annotated[
        float,
        Meta(ge=0, description="How far behind the limit the value must be to resolve it."),
    ] = 0
    met_for: (
        Annotated[int, Meta(ge=1, le=_SPAN_MAX, description="Seconds it must hold to be raised.")]
        | None
    ) = msgspec.field(default=None, name="for")
    for_messages: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=1_000,
                description="Messages in a row for which it must hold; with `for`, both must.",
            ),
        ]
        | None
    ) = None
    resolve_for: (
        Annotated[
            int, Meta(ge=1, le=_SPAN_MAX, description="Seconds it must be clear to be resolved.")
        ]
        | None
    ) = None
    stale_after: (
        Annotated[
            int,
            Meta(ge=1, le=_SPAN_MAX, description="Seconds after which a value holds no longer."),
        ]
        | None
    ) = None
    on_stale: Annotated[
        OnStale,
        Meta(
            description="What happens then: the alarm stays as it is, is resolved, or is raised for"
            " lack of data.",
        ),
    ] = "keep"

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        """Errors that the types of single fields cannot express: (field on the wire, reason)."""
        found = list_invalid_fields(
            {
                "when": None if self.when is None else check_expression(self.when),
                "subject": None if self.subject is None else templates.check(self.subject),
                "body": None if self.body is None else templates.check(self.body),
                "timezone": schedules.check_timezone(self.timezone),
                "escalateTo": "is required with escalateAfter"
                if self.escalate_after is not None and self.escalate_to is None
                else None,
                "escalateAfter": "is required with escalateTo"
                if self.escalate_to is not None and self.escalate_after is None
                else None,
                **self._check_condition(),
            }
        )
        if self.geofence is not None:
            found += [
                (f"geofence.{field}" if field else "geofence", why)
                for field, why in geofences.validate(self.geofence)
            ]
        return found

    def _check_condition(self) -> dict[str, str | None]:
        """What is wrong with the condition on a measurement."""
        if self.condition is not None:
            return self._check_expressions(self.condition)
        name = self.measurement
        if name is None:
            return dict.fromkeys(self.list_condition_fields(), "needs measurement or condition")
        is_name = is_measurement_name(name)
        has_limit = self.above is not None or self.below is not None
        return {
            "measurement": None if is_name else "is no name of a measurement",
            "above": None if has_limit else "or below is required",
            "below": "send either above or below"
            if self.above is not None and self.below is not None
            else None,
            "onStale": self._check_stale(),
            "resolve": None if self.resolve is None else "needs condition",
        }

    def _check_expressions(self, condition: str) -> dict[str, str | None]:
        limited = dict.fromkeys(LIMIT_FIELDS, "send either a limit or a condition")
        given = self.list_condition_fields()
        resolve = self.resolve
        return {
            **{name: why for name, why in limited.items() if name in given},
            "condition": check_expression(condition, CONDITION_ROOTS),
            "resolve": None if resolve is None else check_expression(resolve, CONDITION_ROOTS),
            "onStale": self._check_stale(),
        }

    def _check_stale(self) -> str | None:
        is_incomplete = self.on_stale != "keep" and self.stale_after is None
        return "needs staleAfter" if is_incomplete else None

    def list_condition_fields(self) -> list[str]:
        """The given fields that are for the reason `measurement` only."""
        names = zip(Params.__struct_fields__, Params.__struct_encode_fields__, strict=True)
        defaults = Params()
        return [
            wire_name
            for name, wire_name in names
            if name in CONDITION_FIELDS and getattr(self, name) != getattr(defaults, name)
        ]


LIMIT_FIELDS = ("measurement", "above", "below", "hysteresis")
# What a condition sees besides `message`.
CONDITION_ROOTS = ("values", "device")
CONDITION_FIELDS = (
    "condition",
    "resolve",
    "measurement",
    "above",
    "below",
    "hysteresis",
    "met_for",
    "for_messages",
    "resolve_for",
    "stale_after",
    "on_stale",
)


def check_expression(source: str, roots: Collection[str] = ()) -> str | None:
    """Why the expression is invalid; None if it is valid."""
    try:
        Expression(source, is_filter=True, roots=roots)
    except InvalidExpression as error:
        return str(error)
    return None


ListTokens = Callable[[], Sequence[str]]


class NotificationSender(Protocol):
    """A type of notification or contact point; an instance sends for one of them."""

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
    def list_disallowed(
        cls, params: ParamsBase, config: SendingConfig
    ) -> Sequence[tuple[str, str]]:
        """What the operator's configuration forbids: (field on the wire, reason)."""

    @classmethod
    def list_recipients(cls, params: ParamsBase, list_tokens: ListTokens) -> Sequence[str]:
        """The recipients of one firing: a delivery each, with this in its context.

        `list_tokens` returns the push tokens of the group's members, as hex digests.
        """

    def __init__(self, params: ParamsBase, context: SenderContext) -> None: ...

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
    def list_disallowed(
        cls, params: ParamsBase, config: SendingConfig
    ) -> Sequence[tuple[str, str]]:
        return ()

    @classmethod
    def list_recipients(cls, params: ParamsBase, list_tokens: ListTokens) -> Sequence[str]:
        return [""]


NotificationSenders = Mapping[str, type[NotificationSender]]
