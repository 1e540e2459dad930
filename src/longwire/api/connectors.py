"""Connectors on the wire."""

from typing import Annotated

from msgspec import Meta

from longwire.api.groups import GroupPage
from longwire.api.records import DeviceId, period
from longwire.dates import LATEST, date_text, optional_date_text
from longwire.delivery import connectors, replays, retry_policy
from longwire.delivery.destinations import catalogue
from longwire.delivery.destinations.base import Params
from longwire.errors import missing
from longwire.ids import delivery_id
from longwire.model import Replay as ReplayValue
from longwire.store import deliveries
from longwire.store.deliveries import Event
from longwire.store.records import KINDS
from longwire.web.page_tokens import page_of_names
from longwire.web.routing import ANY_TOKEN, Call, Route
from longwire.web.validation import (
    Body,
    Count,
    DateIn,
    DateQuery,
    DateText,
    GroupId,
    Id,
    Name,
    Paged,
    Query,
    Reply,
    Tags,
    Text,
    decode_text,
    up_to,
)

EVENTS_DEFAULT = 1_000
PREVIEW_DEFAULT = 10
PREVIEW_MAX = 100

ConnectorId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        pattern=r"^[A-Za-z0-9._~-]+$(?!\n)",  # Python's $ would let a line break through
        examples=["con_vzpeqxr5mxjrq2uy6ct3mlgw"],
    ),
]
ParamsText = Annotated[
    str,
    Meta(
        max_length=65_536,
        description="A JSON object, as the type's `expectedParameters` describe it.",
        examples=['{"url":"https://example.com/hook"}'],
    ),
]
TypeName = Annotated[str, Meta(min_length=1, max_length=64, examples=["http"])]
FormatName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="`json`, `cloudevents`, `raw` or `custom`.",
        examples=["json"],
    ),
]
Filter = Annotated[
    str,
    Meta(
        max_length=4_096,
        description="CEL over `message`; what it is true for is forwarded. Empty for everything.",
        examples=["message.kind == 'data' && message.data.temperature > 30"],
    ),
]
DeviceTypes = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=128)]], up_to("bulk_ids_max", unit="types")
]
DeviceIds = Annotated[list[DeviceId], up_to("bulk_ids_max", unit="ids")]
ReplayId = Annotated[Id, Meta(examples=["rpl_vzpeqxr5mxjrq2uy6ct3mlgw"])]


# --- what is answered ---


class ConnectorError(Reply):
    """The last failure."""

    at: DateText | None = None
    message: str | None = None


class RetryPolicy(Reply):
    """How often, and how many seconds apart, a message is tried again."""

    retry_delay: int | None = None
    max_retry: int | None = None


class DataFailurePolicy(Reply):
    """What is kept of messages that could not be delivered."""

    storing_duration: int | None = None
    has_data: bool | None = None
    start_time: DateText | None = None
    resending: bool | None = None


class Connector(Reply, kw_only=True):
    """Where a group's messages are forwarded to, and which of them."""

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
    device_types: list[str] | None = None
    device_ids: list[str] | None = None
    enabled: bool | None = None
    message_filter: str | None = None
    format: str | None = None
    data_failure_policy: DataFailurePolicy | None = None
    retry_policy: RetryPolicy | None = None
    tags: list[str] | None = None


class ConnectorConnection(Reply):
    """A page of connectors, under the name the interface gives it."""

    test: list[Connector]
    next_token: str | None = None


class ConnectorType(Reply):
    """A kind of destination, and what it wants to be told."""

    expected_parameters: str
    type: str
    format_available: list[str] | None = None
    name: str | None = None


class ConnectorTypeConnection(Reply):
    """A page of connector types."""

    items: list[ConnectorType]
    next_token: str | None = None


class ConnectorEvent(Reply):
    """What became of one message."""

    connector_id: str
    timestamp: DateText | None = None
    status: str | None = None
    id: str | None = None
    device_id: str | None = None
    kind: str | None = None
    attempts: Count | None = None
    message: str | None = None


class ConnectorEventStats(Reply, omit_defaults=False):
    """How many messages of the period stand how."""

    total_still_processing: Count = 0
    total_succeed: Count = 0
    total_failed: Count = 0


class ConnectorEventConnection(Reply):
    """A page of what became of messages; `stats` count the whole period."""

    items: list[ConnectorEvent]
    stats: ConnectorEventStats
    next_token: str | None = None


class PreviewRequest(Reply):
    """What would go out; secrets are masked."""

    method: str
    url: str
    headers: dict[str, str]
    body: str


class PreviewItem(Reply):
    """What a connector would do with one stored record."""

    device_id: str
    kind: str
    timestamp: DateText
    matches: bool
    reason: str
    request: PreviewRequest | None = None


class Preview(Reply):
    """What a connector would do with the last records, the newest first."""

    items: list[PreviewItem]


class ReplayStarted(Reply):
    """A replay that was begun."""

    message: str
    queued: Count
    replay_id: str


class Replay(Reply):
    """How far a replay is."""

    replay_id: str
    connector_id: str
    group_id: str
    status: str
    looked_at: Count
    queued: Count
    begin_date: DateText
    end_date: DateText
    created_at: DateText
    updated_at: DateText
    created_by: str


# --- what is taken ---


class RetryPolicyInput(Body):
    """How often, and how many seconds apart, a message is tried again."""

    retry_delay: Annotated[int, Meta(ge=1, le=retry_policy.RETRY_DELAY_MAX_S)]
    max_retry: Annotated[int, Meta(ge=0, le=retry_policy.RETRIES_MAX)]


RetryPolicyChange = Annotated[
    RetryPolicyInput | Annotated[str, Meta(max_length=0)],
    Meta(
        description="How to try again; an empty text takes it away, and the default holds.",
        examples=[{"retryDelay": 60, "maxRetry": 5}],
    ),
]


class DataFailurePolicyInput(Body):
    """How many seconds messages that could not be delivered are kept for a resend."""

    storing_duration: Annotated[int, Meta(ge=0, le=retry_policy.STORING_MAX_S)] | None = None


class ConnectorInput(Body, kw_only=True):
    """A connector to create."""

    group_id: GroupId
    params: ParamsText
    type: TypeName
    id: ConnectorId | None = None
    name: Name | None = None
    description: Text | None = None
    device_types: DeviceTypes | None = None
    device_ids: DeviceIds | None = None
    message_filter: Filter | None = None
    format: FormatName | None = None
    data_failure_policy: DataFailurePolicyInput | None = None
    retry_policy: RetryPolicyInput | None = None
    enabled: bool | None = None
    tags: Tags | None = None


class UpdateConnectorInput(Body, kw_only=True):
    """What is to be different about a connector."""

    connector_id: Id
    group_id: GroupId
    params: ParamsText | None = None
    name: Name | None = None
    description: Text | None = None
    type: TypeName | None = None
    device_types: DeviceTypes | None = None
    device_ids: DeviceIds | None = None
    message_filter: Filter | None = None
    data_failure_policy: DataFailurePolicyInput | None = None
    retry_policy: RetryPolicyChange | None = None
    format: FormatName | None = None
    enabled: bool | None = None
    tags: Tags | None = None


class ConnectorQuery(Query):
    """Which connector, of which group."""

    connector_id: Id
    group_id: GroupId


class ConnectorTypeQuery(Query):
    """Which connector type."""

    type: TypeName


class EventsQuery(Paged, kw_only=True):
    """Which connector, which period, in which order."""

    connector_id: Id
    group_id: GroupId
    begin_date: DateQuery
    end_date: DateQuery
    ascending: Annotated[bool, Meta(description="false for the newest first.")] | None = None


class ConnectorNamed(Body):
    """Which connector, of which group."""

    connector_id: Id
    group_id: GroupId


class PreviewInput(Body):
    """Which connector, and for how many of the last records."""

    connector_id: Id
    group_id: GroupId
    limit: Annotated[int, Meta(ge=1, le=PREVIEW_MAX)] | None = None


class ReplayInput(Body):
    """Which connector, and the timestamps of which records."""

    connector_id: Id
    group_id: GroupId
    begin_date: DateIn
    end_date: DateIn


class ReplayQuery(Query):
    """Which replay of which connector."""

    connector_id: Id
    group_id: GroupId
    replay_id: ReplayId


# --- shaping ---

_STATUS = {
    deliveries.QUEUED: "processing",
    deliveries.LEASED: "processing",
    deliveries.SUCCEEDED: "succeed",
    deliveries.FAILED: "failed",
    deliveries.EXPIRED: "failed",
    deliveries.CANCELLED: "failed",
}


def connector_wire(view: connectors.View) -> Connector:
    connector = view.connector
    retry = None
    if connector.retries_max is not None:
        retry = RetryPolicy(retry_delay=connector.retry_delay_s, max_retry=connector.retries_max)
    error = None
    if connector.error_at is not None:
        error = ConnectorError(at=date_text(connector.error_at), message=connector.error_message)
    return Connector(
        group_id=connector.group_id,
        id=connector.id,
        name=connector.name,
        description=connector.description,
        params=view.params,
        type=connector.type,
        created_at=date_text(connector.created_at),
        updated_at=date_text(connector.updated_at),
        updated_by=connector.updated_by,
        created_by=connector.created_by,
        error=error,
        device_types=list(connector.device_types),
        device_ids=list(connector.device_ids),
        enabled=connector.is_enabled,
        message_filter=connector.message_filter,
        format=connector.format,
        data_failure_policy=DataFailurePolicy(
            storing_duration=connector.storing_s,
            has_data=view.kept_since is not None,
            start_time=optional_date_text(view.kept_since),
            resending=connector.resend_before is not None,
        ),
        retry_policy=retry,
        tags=list(connector.tags),
    )


def event_wire(connector_id: str, event: Event) -> ConnectorEvent:
    return ConnectorEvent(
        connector_id=connector_id,
        timestamp=date_text(event.changed_at),
        status=_STATUS[event.state],
        id=delivery_id(event.connector_number, event.seq),
        device_id=event.device_id,
        kind=KINDS[event.kind],
        attempts=event.attempts,
        message=event.error,
    )


def type_wire(name: str) -> ConnectorType:
    kind = catalogue.TYPES[name]
    return ConnectorType(
        expected_parameters=catalogue.expected_parameters(name),
        type=name,
        format_available=list(kind.formats),
        name=kind.title,
    )


def _replay_wire(query: ReplayQuery, replay: ReplayValue) -> Replay:
    return Replay(
        replay_id=replay.id,
        connector_id=query.connector_id,
        group_id=query.group_id,
        status=replay.state,
        looked_at=replay.looked_at,
        queued=replay.queued,
        begin_date=date_text(replay.begin_at),
        end_date=date_text(min(replay.end_at, LATEST)),
        created_at=date_text(replay.created_at),
        updated_at=date_text(replay.updated_at),
        created_by=replay.created_by,
    )


def _wish(body: ConnectorInput | UpdateConnectorInput) -> connectors.Wish:
    storing = body.data_failure_policy
    return connectors.Wish(
        params=body.params,
        type=body.type,
        name=body.name,
        description=body.description,
        device_types=body.device_types,
        device_ids=body.device_ids,
        message_filter=body.message_filter,
        format=body.format,
        storing_s=storing.storing_duration if storing else None,
        retry=_wished_retry(body.retry_policy),
        is_enabled=body.enabled,
        tags=body.tags,
    )


def _wished_retry(given: RetryPolicyInput | str | None) -> connectors.Retry | None:
    if isinstance(given, str):
        return connectors.RETRY_DEFAULT
    return None if given is None else (given.retry_delay, given.max_retry)


def _reader(call: Call) -> connectors.ReadParams:
    def read(expected: type[Params], text: str) -> Params:
        return decode_text("params", text, expected, call.limits)

    return read


# --- operations ---


def show_connector(call: Call, query: ConnectorQuery) -> Connector:
    """Show a connector.

    Secrets among its `params` are masked unless you may change it.
    """
    return connector_wire(connectors.show(call.tx, call.actor, query.group_id, query.connector_id))


def create_connector(call: Call, body: ConnectorInput) -> Connector:
    """Create a connector.

    From now on it forwards every record of the group's devices that its `deviceTypes`, `deviceIds`
    and `messageFilter` let through. `id` can be chosen as long as nobody has it.
    """
    return connector_wire(
        connectors.create(
            call.tx,
            call.actor,
            body.group_id,
            _wish(body),
            _reader(call),
            call.egress,
            wished_id=body.id,
        )
    )


def change_connector(call: Call, body: UpdateConnectorInput) -> Connector:
    """Change a connector.

    What is left out stays; an empty `messageFilter` or `retryPolicy` is taken away. A mask in
    `params` keeps the secret in its place. While it is disabled, no new deliveries are made, and
    those that wait go on waiting.
    """
    return connector_wire(
        connectors.change(
            call.tx,
            call.actor,
            body.group_id,
            body.connector_id,
            _wish(body),
            _reader(call),
            call.egress,
        )
    )


def delete_connector(call: Call, query: ConnectorQuery) -> Connector:
    """Delete a connector.

    What it had not delivered yet is dropped, and so is its history.
    """
    return connector_wire(
        connectors.delete(call.tx, call.actor, query.group_id, query.connector_id)
    )


def list_connectors(call: Call, query: GroupPage) -> ConnectorConnection:
    """List the connectors of a group."""
    page = connectors.in_group(call.tx, call.actor, query.group_id, call.pages.open(query))
    return ConnectorConnection(
        test=[connector_wire(each) for each in page.items],
        next_token=call.pages.close(query, page),
    )


def show_connector_type(call: Call, query: ConnectorTypeQuery) -> ConnectorType:
    """Show a connector type.

    `expectedParameters` is a JSON Schema, as text.
    """
    if query.type not in catalogue.TYPES:
        raise missing("type", "connector type")
    return type_wire(query.type)


def list_connector_types(call: Call, query: Paged) -> ConnectorTypeConnection:
    """List the connector types."""
    page = page_of_names(catalogue.TYPES, call.pages.open(query))
    return ConnectorTypeConnection(
        items=[type_wire(name) for name in page.items], next_token=call.pages.close(query, page)
    )


def list_events(call: Call, query: EventsQuery) -> ConnectorEventConnection:
    """List what became of a connector's messages.

    One for each message, by the moment of its last change. `stats` count all of the period,
    whichever page it is. `id` is what the receiver gets as `webhook-id`.
    """
    begin, end = period(query.begin_date, query.end_date)
    assert begin is not None and end is not None  # both are required
    if query.limit is None:
        query.limit = min(EVENTS_DEFAULT, call.limits.page_items_max)
    history = connectors.history(
        call.tx,
        call.actor,
        query.group_id,
        query.connector_id,
        begin,
        end,
        call.pages.open(query),
        ascending=query.ascending is not False,
    )
    totals = {"processing": 0, "succeed": 0, "failed": 0}
    for state, number in history.counts.items():
        totals[_STATUS[state]] += number
    return ConnectorEventConnection(
        items=[event_wire(query.connector_id, each) for each in history.page.items],
        stats=ConnectorEventStats(
            total_still_processing=totals["processing"],
            total_succeed=totals["succeed"],
            total_failed=totals["failed"],
        ),
        next_token=call.pages.close(query, history.page),
    )


def resend_data(call: Call, body: ConnectorNamed) -> Connector:
    """Send again what could not be delivered.

    Everything that failed for good and is still kept goes back into the queue, the oldest first,
    under its old id. Asking again while that goes on changes nothing.
    """
    return connector_wire(connectors.resend(call.tx, call.actor, body.group_id, body.connector_id))


def preview_connector(call: Call, body: PreviewInput) -> Preview:
    """Show what a connector would send.

    For the last records: whether they match, why not, and the request that would go out. Nothing
    is sent.
    """
    found = connectors.preview(
        call.tx,
        call.actor,
        body.group_id,
        body.connector_id,
        PREVIEW_DEFAULT if body.limit is None else body.limit,
        call.egress,
    )
    return Preview(
        items=[
            PreviewItem(
                device_id=each.device_id,
                kind=each.kind,
                timestamp=date_text(each.ts),
                matches=not each.reason,
                reason=each.reason,
                request=None
                if each.request is None
                else PreviewRequest(
                    method=each.request.method,
                    url=each.request.url,
                    headers=dict(each.request.headers),
                    body=each.request.body,
                ),
            )
            for each in found
        ]
    )


def begin_replay(call: Call, body: ReplayInput) -> ReplayStarted:
    """Send stored records through a connector.

    Those with timestamps in the range that match, also from before the connector existed. What it
    had before goes out again under its old id. `queued` is how many are in the queue by now; a long
    range is worked through in the background, and `GET /connector/replay` tells how far it is.
    """
    begin, end = period(body.begin_date, body.end_date)
    assert begin is not None and end is not None  # both are required
    replay = replays.start(
        call.tx, call.actor, body.group_id, body.connector_id, begin, end, call.writer
    )
    going = "The rest follows." if replay.state == "running" else "That is all."
    return ReplayStarted(
        message=f"{replay.queued} queued. {going}", queued=replay.queued, replay_id=replay.id
    )


def show_replay(call: Call, query: ReplayQuery) -> Replay:
    """Show how far a replay is."""
    return _replay_wire(
        query,
        replays.show(call.tx, call.actor, query.group_id, query.connector_id, query.replay_id),
    )


def cancel_replay(call: Call, query: ReplayQuery) -> Replay:
    """Cancel a replay.

    What it has put into the queue is still sent.
    """
    return _replay_wire(
        query,
        replays.cancel(call.tx, call.actor, query.group_id, query.connector_id, query.replay_id),
    )


_IN_GROUP = "in the group of the connector"


def _route(method: str, path: str, handler: object, needs: str, **more: object) -> Route:
    return Route(
        method=method,
        path=path,
        handler=handler,  # type: ignore[arg-type]
        needs=needs,
        rule=str(more.pop("rule", _IN_GROUP)),
        tag="Connectors",
        missing_is_bad=True,
        **more,  # type: ignore[arg-type]
    )


_FOR_EVERYONE = "the catalogue is the same for everyone"

ROUTES = [
    _route("GET", "/connector", show_connector, "connector.read"),
    _route("POST", "/connector", create_connector, "connector.write", rule="in groupId"),
    _route("PUT", "/connector", change_connector, "connector.write"),
    _route("DELETE", "/connector", delete_connector, "connector.write"),
    _route("GET", "/connector/connectors", list_connectors, "connector.read", rule="in the group"),
    _route("GET", "/connector/connectorType", show_connector_type, ANY_TOKEN, rule=_FOR_EVERYONE),
    _route("GET", "/connector/connectorTypes", list_connector_types, ANY_TOKEN, rule=_FOR_EVERYONE),
    _route("GET", "/connector/connectorEvent", list_events, "connector.read"),
    _route("POST", "/connector/resendData", resend_data, "connector.resend"),
    _route(
        "POST",
        "/connector/preview",
        preview_connector,
        "connector.read",
        rule=f"{_IN_GROUP}; record.read there as well",
        is_addition=True,
    ),
    _route("POST", "/connector/replay", begin_replay, "connector.resend", is_addition=True),
    _route("GET", "/connector/replay", show_replay, "connector.read", is_addition=True),
    _route("DELETE", "/connector/replay", cancel_replay, "connector.resend", is_addition=True),
]
