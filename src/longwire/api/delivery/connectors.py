"""Operations on connectors and their deliveries."""

from functools import partial
from typing import Annotated

from msgspec import UNSET, Meta, field

from longwire.api.delivery.channels import (
    MISPLACED_IN_CHANNELS,
    ChannelError,
    FilterFailing,
    describe_params,
    draft_fields,
    params_parser,
    show_error,
    show_failing_filter,
)
from longwire.api.delivery.retry_policies import (
    RetryPolicy,
    RetryPolicyChange,
    RetryPolicyInput,
    build_retry_draft,
    show_retry_policy,
)
from longwire.api.replies import Page, Shown
from longwire.api.services import Context
from longwire.api.types import (
    CHANGED_MEANWHILE,
    ChannelParams,
    ChannelTypeName,
    DeviceIds,
    DeviceTypeNames,
    GroupId,
    GroupTreePage,
    IfUpdatedAt,
    MessageKindName,
    Tags,
    parse_period,
)
from longwire.changes import MESSAGE_KIND_NAMES
from longwire.dates import format_optional_date
from longwire.delivery import retry_policy
from longwire.delivery.connectors import connectors
from longwire.delivery.connectors.formats import FORMATS
from longwire.delivery.destinations import catalogue
from longwire.ids import format_delivery_id
from longwire.model import Channel
from longwire.model import Connector as ConnectorValue
from longwire.store.delivery.delivery_history import DeliveryEvent
from longwire.store.delivery.delivery_states import DeliveryState
from longwire.web.fields import (
    Body,
    Clearable,
    Count,
    DateQuery,
    DateText,
    Id,
    Name,
    Paged,
    Query,
    Reply,
    Text,
    parse_clearable,
    words,
)
from longwire.web.page_tokens import paginate_names
from longwire.web.routing import ANY_TOKEN, Route

EVENTS_DEFAULT = 1_000

ConnectorId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        pattern=r"^[A-Za-z0-9._~-]+$(?!\n)",  # Python's $ would let a line break through
        examples=["con_vzpeqxr5mxjrq2uy6ct3mlgw"],
    ),
]
ConnectorParams = Annotated[ChannelParams, Meta(examples=['{"url":"https://example.com/hook"}'])]
ConnectorTypeName = Annotated[ChannelTypeName, Meta(examples=["http"])]
FormatName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="How a record is encoded in a message.",
        examples=["json"],
    ),
    words("MessageFormat", FORMATS),
]
DeliveryStatus = Annotated[str, words("DeliveryStatus", ("processing", "succeed", "failed"))]
Filter = Annotated[
    str,
    Meta(
        max_length=4_096,
        description="CEL over `message`; records for which it is true are forwarded. Empty: all.",
        examples=["message.kind == 'data' && message.data.temperature > 30"],
    ),
]


# --- responses ---


class ConnectorError(ChannelError):
    """The last failure."""


class DataFailurePolicy(Shown[Channel]):
    """Which dead letters are kept for a resend."""

    storing_s: int | None = field(default=None, name="storingDuration")
    has_data: bool | None = None
    start_time: DateText | None = None
    resending: bool | None = None


class Connector(Shown[ConnectorValue], kw_only=True):
    """Where a group's records are forwarded to, and which of them."""

    group_id: str
    id: str
    name: str | None = None
    description: str | None = None
    params: str
    type: str
    created_at: DateText
    updated_at: DateText
    updated_by: str
    created_by: str
    error: ConnectorError | None = None
    filter_failing: FilterFailing | None = None
    device_types: list[str] | None = None
    device_ids: list[str] | None = None
    is_enabled: bool | None = field(default=None, name="enabled")
    message_filter: str | None = None
    format: FormatName | None = None
    data_failure_policy: DataFailurePolicy | None = None
    retry_policy: RetryPolicy | None = None
    tags: list[str] | None = None
    previous_secret_until: DateText | None = None


class ConnectorConnection(Reply):
    """A page of connectors; the interface names the list `test`."""

    test: list[Connector]
    next_token: str | None = None


class ConnectorHealth(Shown[connectors.ConnectorHealth], kw_only=True):
    """How a connector is at the moment."""

    failures: Annotated[
        Count,
        Meta(description="Failed attempts in a row, since the last success.", examples=[5]),
    ]
    waiting: Annotated[Count, Meta(description="Queued messages, up to 10,000.", examples=[12])]
    held_back: Annotated[
        Count,
        Meta(
            description="Of those that wait: for an earlier message of their device, because the"
            " connector is ordered; up to 10,000.",
            examples=[7],
        ),
    ]
    rate_limited: Annotated[
        Count,
        Meta(
            description="Of those that wait: due, and held up by `maxPerSecond` alone; up to"
            " 10,000.",
            examples=[0],
        ),
    ]
    dead_letters: Annotated[
        Count, Meta(description="Messages kept for a resend, up to 10,000.", examples=[64])
    ]
    failing_since: (
        Annotated[
            DateText,
            Meta(description="The first of these attempts; absent if the last one succeeded."),
        ]
        | None
    ) = None
    next_attempt_at: (
        Annotated[
            DateText,
            Meta(
                description="When the receiver gets a message again, at the earliest: the next one"
                " is due, and the time that the receiver has asked for is over. Absent if nothing"
                " waits, or it neither fails nor holds messages back."
            ),
        ]
        | None
    ) = None


class ConnectorType(Reply):
    """A type of destination and its parameters."""

    expected_parameters: str
    type: str
    format_available: list[FormatName] | None = None
    name: str | None = None


class ConnectorTypeConnection(Page[ConnectorType]):
    """A page of connector types."""


class ConnectorEvent(Shown[DeliveryEvent]):
    """The status of one delivery."""

    connector_id: str
    changed_at: DateText | None = field(default=None, name="timestamp")
    status: DeliveryStatus | None = None
    id: str | None = None
    device_id: str | None = None
    kind: MessageKindName | None = None
    attempts: Count | None = None
    error: str | None = field(default=None, name="message")


class ConnectorEventStats(Reply, omit_defaults=False):
    """The number of deliveries of the period, by status."""

    total_still_processing: Count = 0
    total_succeed: Count = 0
    total_failed: Count = 0


class ConnectorEventConnection(Reply):
    """A page of deliveries; `stats` count the whole period."""

    items: list[ConnectorEvent]
    stats: ConnectorEventStats
    next_token: str | None = None


# --- requests ---


class DataFailurePolicyInput(Body):
    """How many seconds dead letters are kept for a resend."""

    storing_duration: Annotated[int, Meta(ge=0, le=retry_policy.STORING_MAX_S)] | None = None


class ConnectorInput(Body, kw_only=True):
    """A connector to create."""

    group_id: GroupId
    params: ConnectorParams
    type: ConnectorTypeName
    id: ConnectorId | None = None
    name: Name | None = None
    description: Text | None = None
    device_types: DeviceTypeNames | None = None
    device_ids: DeviceIds | None = None
    message_filter: Filter | None = None
    format: FormatName | None = None
    data_failure_policy: DataFailurePolicyInput | None = None
    retry_policy: RetryPolicyInput | None = None
    enabled: bool | None = None
    tags: Tags | None = None


class UpdateConnectorInput(Body, kw_only=True):
    """Changes to a connector."""

    connector_id: Id
    group_id: GroupId
    params: ConnectorParams | None = None
    name: Clearable[Name] = UNSET
    description: Clearable[Text] = UNSET
    type: ConnectorTypeName | None = None
    device_types: DeviceTypeNames | None = None
    device_ids: DeviceIds | None = None
    message_filter: Clearable[Filter] = UNSET
    data_failure_policy: DataFailurePolicyInput | None = None
    retry_policy: Clearable[RetryPolicyChange] = UNSET
    format: FormatName | None = None
    enabled: bool | None = None
    tags: Tags | None = None
    if_updated_at: IfUpdatedAt | None = None


class ConnectorQuery(Query):
    """Which connector, of which group."""

    connector_id: Id
    group_id: GroupId


class ConnectorTypeQuery(Query):
    """Which connector type."""

    type: ConnectorTypeName


class EventsQuery(Paged, kw_only=True):
    """The deliveries of a connector in a period."""

    connector_id: Id
    group_id: GroupId
    begin_date: DateQuery
    end_date: DateQuery
    ascending: Annotated[bool, Meta(description="false for the newest first.")] | None = None


class ConnectorRef(Body):
    """Which connector, of which group."""

    connector_id: Id
    group_id: GroupId


# --- conversion ---

# The states of deliveries behind each status of the interface.
STATUSES = {
    "processing": frozenset([DeliveryState.QUEUED, DeliveryState.LEASED]),
    "succeed": frozenset([DeliveryState.SUCCEEDED]),
    "failed": frozenset([DeliveryState.FAILED, DeliveryState.EXPIRED, DeliveryState.CANCELLED]),
}
_STATUS = {state: status for status, states in STATUSES.items() for state in states}


def show_connector(view: connectors.ConnectorView) -> Connector:
    channel, kept_since = view.owner.channel, view.kept_since
    return Connector.show(
        view.owner,
        params=view.params,
        error=show_error(channel, ConnectorError),
        filter_failing=show_failing_filter(channel),
        data_failure_policy=DataFailurePolicy.show(
            channel,
            has_data=kept_since is not None,
            start_time=format_optional_date(kept_since),
            resending=channel.resend_before is not None,
        ),
        retry_policy=show_retry_policy(channel),
        previous_secret_until=format_optional_date(view.previous_secret_until),
    )


def show_event(event: DeliveryEvent, *, connector_id: str) -> ConnectorEvent:
    return ConnectorEvent.show(
        event,
        connector_id=connector_id,
        status=_STATUS[event.state],
        id=format_delivery_id(event.channel_number, event.seq),
        kind=MESSAGE_KIND_NAMES[event.kind],
        device_id=event.device_id or None,
    )


def type_wire(name: str) -> ConnectorType:
    expected_parameters = describe_params(connectors.KIND, name)
    destination = catalogue.TYPES[name]
    return ConnectorType(
        expected_parameters=expected_parameters,
        type=name,
        format_available=list(destination.formats),
        name=destination.title,
    )


def connector_draft(body: ConnectorInput | UpdateConnectorInput) -> connectors.ConnectorDraft:
    storing = body.data_failure_policy
    return connectors.ConnectorDraft(
        **draft_fields(body),
        device_ids=body.device_ids,
        message_filter=parse_clearable(body.message_filter),
        format=body.format,
        storing_s=storing.storing_duration if storing else None,
        retry=build_retry_draft(body.retry_policy),
    )


# --- operations ---


def get_connector(context: Context, query: ConnectorQuery) -> Connector:
    """Get a connector.

    Secrets in `params` are masked unless the caller may update it.
    """
    return show_connector(
        connectors.get_connector(context.tx, context.actor, query.group_id, query.connector_id)
    )


def create_connector(context: Context, body: ConnectorInput) -> Connector:
    """Create a connector.

    From now on it forwards every record of the group's devices that matches `deviceTypes`,
    `deviceIds` and `messageFilter`. `id` can be chosen if it is not taken.
    """
    return show_connector(
        connectors.create_connector(
            context.tx,
            context.actor,
            body.group_id,
            connector_draft(body),
            params_parser(context),
            context.services.egress,
            quotas=context.services.quotas,
            requested_id=body.id,
        )
    )


def update_connector(context: Context, body: UpdateConnectorInput) -> Connector:
    """Update a connector.

    Members left out are unchanged; null removes `name`, `description`, `messageFilter` and
    `retryPolicy`, of the last two an empty string, too. A mask in
    `params` keeps the secret. While the connector is disabled, no new deliveries are created, and
    queued ones are held.
    """
    return show_connector(
        connectors.update_connector(
            context.tx,
            context.actor,
            body.group_id,
            body.connector_id,
            connector_draft(body),
            params_parser(context),
            context.services.egress,
            quotas=context.services.quotas,
        )
    )


def delete_connector(context: Context, query: ConnectorQuery) -> Connector:
    """Delete a connector.

    Its queued deliveries and its history are deleted as well.
    """
    return show_connector(
        connectors.delete_connector(context.tx, context.actor, query.group_id, query.connector_id)
    )


def list_connectors(context: Context, query: GroupTreePage) -> ConnectorConnection:
    """List the connectors of a group.

    With `subgroups` also those of the groups below; `groupId` of each says whose it is.
    """
    page = connectors.list_connectors(
        context.tx,
        context.actor,
        query.group_id,
        context.page_tokens.page_request(query),
        subgroups=query.subgroups,
    )
    return ConnectorConnection(
        test=[show_connector(each) for each in page.items],
        next_token=context.page_tokens.next_token(query, page),
    )


def get_connector_health(context: Context, query: ConnectorQuery) -> ConnectorHealth:
    """Get the health of a connector.

    Whether its last attempts failed, and how many messages wait or are kept for a resend.
    """
    health = connectors.get_health(context.tx, context.actor, query.group_id, query.connector_id)
    return ConnectorHealth.show(health)


def get_connector_type(context: Context, query: ConnectorTypeQuery) -> ConnectorType:
    """Get a connector type.

    `expectedParameters` is a JSON Schema, as text.
    """
    return type_wire(query.type)


def list_connector_types(context: Context, query: Paged) -> ConnectorTypeConnection:
    """List the connector types."""
    page = paginate_names(catalogue.TYPES, context.page_tokens.page_request(query))
    return ConnectorTypeConnection.show(context, query, page, type_wire)


def list_connector_events(context: Context, query: EventsQuery) -> ConnectorEventConnection:
    """List the deliveries of a connector.

    One item per message, by the time of its last change. `stats` count the whole period on every
    page. `id` is sent to the receiver as `webhook-id`.
    """
    begin, end = parse_period(query.begin_date, query.end_date)
    assert begin is not None and end is not None  # both are required
    if query.limit is None:
        query.limit = min(EVENTS_DEFAULT, context.limits.page_items_max)
    history = connectors.list_deliveries(
        context.tx,
        context.actor,
        query.group_id,
        query.connector_id,
        begin,
        end,
        context.page_tokens.page_request(query),
        ascending=query.ascending is not False,
    )
    totals = {"processing": 0, "succeed": 0, "failed": 0}
    for state, number in history.counts.items():
        totals[_STATUS[state]] += number
    return ConnectorEventConnection(
        items=[show_event(each, connector_id=query.connector_id) for each in history.page.items],
        stats=ConnectorEventStats(
            total_still_processing=totals["processing"],
            total_succeed=totals["succeed"],
            total_failed=totals["failed"],
        ),
        next_token=context.page_tokens.next_token(query, history.page),
    )


def resend_dead_letters(context: Context, body: ConnectorRef) -> Connector:
    """Resend dead letters.

    Every failed message that is still kept is queued again, oldest first, under its old id.
    Repeating the request while that is in progress changes nothing.
    """
    return show_connector(
        connectors.resend_failed(context.tx, context.actor, body.group_id, body.connector_id)
    )


_IN_GROUP = "in the group of the connector"
_FOR_EVERYONE = "the catalogue is the same for everyone"

# Without a filter or a device a connector forwards everything of its group.
_MISPLACED = {
    **MISPLACED_IN_CHANNELS,
    **dict.fromkeys(("subgroups", "template", "topic"), "send it in params"),
    **dict.fromkeys(("filter", "when"), "send it as messageFilter"),
    "deviceId": "send a list, deviceIds",
    "retryDelay": "send it in retryPolicy",
    "maxRetry": "send it in retryPolicy",
    "delays": "send it in retryPolicy",
    "ordered": "send it in params",
    "maxPerSecond": "send it in params",
    "storingDuration": "send it in dataFailurePolicy",
}
_route = partial(Route, tag="Connectors", object_rule=_IN_GROUP, not_found_is_bad_request=True)

ROUTES = [
    _route(
        "GET",
        "/connector",
        get_connector,
        "connector.read",
        has_secrets=True,
    ),
    _route(
        "POST",
        "/connector",
        create_connector,
        "connector.write",
        object_rule="in groupId",
        misplaced=_MISPLACED,
    ),
    _route(
        "PUT",
        "/connector",
        update_connector,
        "connector.write",
        conflicts=CHANGED_MEANWHILE,
        misplaced=_MISPLACED,
    ),
    _route("DELETE", "/connector", delete_connector, "connector.write"),
    _route(
        "GET",
        "/connector/connectors",
        list_connectors,
        "connector.read",
        object_rule="in the group",
        has_secrets=True,
    ),
    _route(
        "GET", "/connector/connectorType", get_connector_type, ANY_TOKEN, object_rule=_FOR_EVERYONE
    ),
    _route(
        "GET",
        "/connector/connectorTypes",
        list_connector_types,
        ANY_TOKEN,
        object_rule=_FOR_EVERYONE,
    ),
    _route("GET", "/connector/health", get_connector_health, "connector.read", is_addition=True),
    _route("GET", "/connector/connectorEvent", list_connector_events, "connector.read"),
    _route("POST", "/connector/resendData", resend_dead_letters, "connector.resend"),
]
