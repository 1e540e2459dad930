"""What connectors send and get back: of attempts that were kept, and of a test."""

from functools import partial
from typing import Annotated, Any

from msgspec import Meta, field, structs

from longwire.api.delivery.channels import params_parser
from longwire.api.delivery.connectors import ConnectorParams, ConnectorTypeName, FormatName
from longwire.api.delivery.deliveries import MessageId
from longwire.api.replies import Page, Shown
from longwire.api.services import AsyncContext, Context
from longwire.api.types import GroupId, RecordKindName
from longwire.delivery.connectors import connector_tests, deliveries
from longwire.delivery.connectors.connector_tests import Sample, TestResult
from longwire.delivery.connectors.connectors import ConnectorDraft
from longwire.delivery.destinations.base import Delivered, FailureCode
from longwire.delivery.exchanges import Content
from longwire.delivery.exchanges import Exchange as ExchangeValue
from longwire.delivery.exchanges import ReceivedResponse as ReceivedValue
from longwire.delivery.exchanges import SentRequest as SentValue
from longwire.delivery.http.recorder import Phase
from longwire.errors import BadInput, FieldError
from longwire.records import KIND_NAMES, RecordKind
from longwire.web.fields import (
    CONVERTER,
    Body,
    Count,
    DateText,
    Id,
    Paged,
    Reply,
    words,
)
from longwire.web.routing import Route

TESTS_PER_MINUTE_MAX = 20
SAMPLE_CHARACTERS_MAX = 65_536

OutcomeName = Annotated[
    str,
    words("AttemptOutcome", ("delivered", *FailureCode)),
    Meta(
        description="`delivered`, or why not, as in `attempts` of a message.", examples=["rejected"]
    ),
]
PhaseName = Annotated[
    str,
    words("ExchangePhase", tuple(Phase)),
    Meta(
        description="How far it came: `resolve` (the host name), `connect`, `proxy`, `tls`,"
        " `request` (sent, and no response has begun), `response` (its head has arrived) or"
        " `complete`. Absent for what is no HTTP.",
        examples=["complete"],
    ),
]


# --- responses ---


class ExchangeContent(Shown[Content]):
    """The first 4 KiB of a body."""

    text: Annotated[
        str, Meta(description="As text, or in base64 if it is none.", examples=['{"error":"full"}'])
    ]
    is_base64: Annotated[bool, Meta(description="Whether it is in base64.", examples=[False])]
    size: Annotated[
        Count,
        Meta(
            description="Bytes of the body; of a response, as far as it was received.",
            examples=[16],
        ),
    ]
    is_cut: Annotated[bool, Meta(description="Whether there was more.", examples=[False])]


class ExchangeRequest(Shown[SentValue]):
    """The request, as it was sent; secrets are masked."""

    method: Annotated[
        str, Meta(description="The method, or what the protocol does.", examples=["POST"])
    ]
    url: Annotated[str, Meta(description="Where it went.", examples=["https://example.com/hook"])]
    headers: Annotated[
        dict[str, str],
        Meta(extra={CONVERTER: dict}, description="The headers; credentials are masked."),
    ]
    body: ExchangeContent


class ExchangeResponse(Shown[ReceivedValue]):
    """The response. Secrets of the connector that it echoes are masked."""

    status: Annotated[int, Meta(description="The HTTP status.", examples=[503])]
    headers: Annotated[
        dict[str, str],
        Meta(extra={CONVERTER: dict}, description="Those that say what a failure is about."),
    ]
    body: ExchangeContent


class Exchange(Shown[ExchangeValue], kw_only=True):
    """What was sent in one attempt, and what came back."""

    id: Annotated[
        str,
        Meta(
            description="As in `exchangeId` of an attempt.",
            examples=["exc_vzpeqxr5mxjrq2uy6ct3mlgw"],
        ),
    ]
    at: Annotated[DateText, Meta(description="When it began.")] = field(name="timestamp")
    duration_ms: Annotated[Count, Meta(description="How long it took.", examples=[87])]
    phase: PhaseName | None = None
    messages: Annotated[Count, Meta(description="How many messages the request had.", examples=[1])]
    request: ExchangeRequest
    response: ExchangeResponse | None = None


class ExchangeConnection(Page[Exchange]):
    """A page of exchanges."""


class ConnectorTestReply(Reply, kw_only=True):
    """What became of a test message."""

    is_delivered: Annotated[
        bool, Meta(description="Whether the receiver has confirmed it.", examples=[False])
    ] = field(name="delivered")
    outcome: OutcomeName
    reason: (
        Annotated[
            str,
            Meta(description="Why it was not delivered.", examples=["answered with status 401"]),
        ]
        | None
    ) = None
    duration_ms: Annotated[Count, Meta(description="How long it took.", examples=[87])]
    phase: PhaseName | None = None
    request: ExchangeRequest | None = None
    response: ExchangeResponse | None = None


# --- requests ---


class ExchangesQuery(Paged, kw_only=True):
    """Which exchanges of a connector."""

    connector_id: Id
    group_id: GroupId
    message_id: MessageId | None = None


class TestDraft(Body):
    """The fields of a connector that decide what is sent, and where to."""

    type: ConnectorTypeName | None = None
    params: ConnectorParams | None = None
    format: FormatName | None = None


class ConnectorTestInput(Body, kw_only=True):
    """Which connector or draft, and which record; a sample, unless `recordId` names one."""

    group_id: GroupId
    connector_id: Annotated[Id, Meta(description="Required without a draft.")] | None = None
    draft: TestDraft | None = None
    record_id: (
        Annotated[
            Id,
            Meta(
                description="A stored record of the group, or of a group below it if `subgroups`"
                " is set. Requires `record.read`.",
                examples=["rec_19805e2c41a0003"],
            ),
        ]
        | None
    ) = None
    kind: (
        Annotated[RecordKindName, Meta(max_length=64, description="The kind of the sample.")] | None
    ) = None
    data: (
        Annotated[
            str,
            Meta(
                max_length=SAMPLE_CHARACTERS_MAX,
                description="The `data` of the sample.",
                examples=['{"celsius":21.5}'],
            ),
        ]
        | None
    ) = None


# --- operations ---


def list_exchanges(context: Context, query: ExchangesQuery) -> ExchangeConnection:
    """List what a connector sent and what came back.

    Of attempts that are kept, as `storeResponses` in its `params` says: the request and the first
    4 KiB of the response, newest first; or, with `messageId`, those of one message, oldest first.
    A process keeps about one exchange of a connector in a second, after 20 at once.
    """
    page = deliveries.list_exchanges(
        context.tx,
        context.actor,
        query.group_id,
        query.connector_id,
        query.message_id,
        context.page_tokens.page_request(query),
    )
    return ExchangeConnection.show(context, query, page, Exchange.show)


async def test_connector(context: AsyncContext, body: ConnectorTestInput) -> ConnectorTestReply:
    """Send a test message.

    One message, now, through a connector or a draft, whether it is enabled or not and whatever its
    filter says; the response shows what was sent and what came back. It is no delivery: it is
    neither queued nor retried, and no counter and no health changes. Its id begins with `test_`; a
    webhook gets the header `webhook-test`, and the formats `json` and `cloudevents` have a member
    `test`.
    """
    record = _choose_record(body)
    changes: dict[str, Any] = {} if body.draft is None else structs.asdict(body.draft)
    draft = ConnectorDraft(**changes)
    inputs = await context.read(
        lambda tx: connector_tests.load_test(
            tx,
            context.actor,
            body.group_id,
            body.connector_id,
            draft,
            record,
            params_parser(context),
            context.services.egress,
        )
    )
    computing = context.services.computing
    message = await computing.threads.run(
        body.group_id, connector_tests.build_test_message, inputs, computing.previews
    )
    await context.write(lambda tx: connector_tests.log_test(tx, context.actor, inputs.connector))
    return _show_test(await connector_tests.send_test(inputs, message))


def _choose_record(body: ConnectorTestInput) -> str | Sample:
    field_errors = []
    if body.connector_id is None and body.draft is None:
        field_errors.append(FieldError("connector_id", "is required without a draft"))
    if body.kind is not None and body.kind not in KIND_NAMES:
        field_errors.append(FieldError("kind", f"is unknown; known are {', '.join(KIND_NAMES)}"))
    if body.record_id is not None:
        field_errors += [
            FieldError(name, "cannot be combined with recordId")
            for name in ("kind", "data")
            if getattr(body, name) is not None
        ]
    if field_errors:
        raise BadInput(field_errors=field_errors)
    if body.record_id is not None:
        return body.record_id
    kind = RecordKind.DATA if body.kind is None else RecordKind(KIND_NAMES.index(body.kind))
    return Sample(kind, body.data)


def _show_test(result: TestResult) -> ConnectorTestReply:
    outcome, exchange = result.outcome, result.exchange
    is_delivered = isinstance(outcome, Delivered)
    response = None if exchange is None else exchange.response
    return ConnectorTestReply(
        is_delivered=is_delivered,
        outcome="delivered" if isinstance(outcome, Delivered) else outcome.code.value,
        reason=None if isinstance(outcome, Delivered) else outcome.reason,
        duration_ms=result.duration_ms,
        phase=None if exchange is None else exchange.phase,
        request=None if exchange is None else ExchangeRequest.show(exchange.request),
        response=None if response is None else ExchangeResponse.show(response),
    )


_route = partial(Route, tag="Connectors", is_addition=True, not_found_is_bad_request=True)

ROUTES = [
    _route(
        "GET",
        "/connector/exchanges",
        list_exchanges,
        "connector.write",
        object_rule="in the group of the connector; record.read there as well",
        has_secrets=True,
    ),
    _route(
        "POST",
        "/connector/test",
        test_connector,
        "connector.write",
        object_rule="in groupId; record.read there for a stored record",
        in_turns=True,
        per_minute_max=TESTS_PER_MINUTE_MAX,
    ),
]
