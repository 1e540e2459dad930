"""Previews of connectors: what one would send, saved or not."""

from typing import Annotated

from msgspec import Meta, field, structs

from longwire.api.delivery.connectors import ConnectorParams, ConnectorTypeName, Filter, FormatName
from longwire.api.replies import Shown
from longwire.api.services import AsyncContext
from longwire.api.types import (
    DeviceId,
    DeviceIds,
    DeviceTypeNames,
    GroupId,
    MessageKindName,
    parse_period,
)
from longwire.delivery.connectors import previews
from longwire.delivery.connectors.connectors import ConnectorDraft
from longwire.delivery.connectors.previews import (
    NOT_SENT,
    PreviewedRecord,
    PreviewInputs,
    WantedRecords,
)
from longwire.delivery.destinations.base import RequestPreview
from longwire.delivery.matching.matching import Mismatch
from longwire.errors import invalid_field
from longwire.ids import format_record_id
from longwire.web.fields import CONVERTER, Body, DateIn, DateText, Id, Reply, words
from longwire.web.routing import Route
from longwire.web.validation import decode_text

PREVIEW_DEFAULT = 10
PREVIEW_MAX = 100

NotSent = Annotated[
    str,
    words("NotSent", NOT_SENT),
    Meta(
        description="Why it is not forwarded: `kind`, `device_type`, `device_id`, `filter_false`,"
        " `filter_failed` (it is neither true nor false), or `invalid_message` (it cannot be"
        " written in the format). Absent if it is forwarded.",
        examples=["filter_false"],
    ),
]


# --- responses ---


class PreviewRequest(Shown[RequestPreview]):
    """The request that would be sent; secrets are masked."""

    method: str
    url: str
    headers: Annotated[dict[str, str], Meta(extra={CONVERTER: dict})]
    body: str


class PreviewItem(Shown[PreviewedRecord], kw_only=True):
    """What a connector would do with one stored record or change."""

    device_id: Annotated[str, Meta(description="Absent for the alarm of a connector.")] | None = (
        None
    )
    kind: MessageKindName
    ts: DateText = field(name="timestamp")
    record_id: (
        Annotated[
            str,
            Meta(
                description="The id of the record; absent for a change.",
                examples=["rec_19805e2c41a0003"],
            ),
        ]
        | None
    ) = None
    matches: bool
    reason: str
    code: NotSent | None = None
    missing_field: (
        Annotated[
            str,
            Meta(
                description="A field that the filter names and the record does not have.",
                examples=["message.data.temperature"],
            ),
        ]
        | None
    ) = None
    request: PreviewRequest | None = None
    is_sent_now: (
        Annotated[
            bool,
            Meta(description="Whether the saved connector sends it; in the preview of a draft."),
        ]
        | None
    ) = field(default=None, name="matchedBefore")


class Preview(Reply):
    """What a connector would do with the latest records and changes, newest first."""

    items: list[PreviewItem]
    kinds_without_examples: (
        Annotated[
            list[MessageKindName],
            Meta(
                description="Those of its `kinds` of which nothing is stored yet. Changes of the"
                " registry are stored from when a connector asks for them.",
                examples=[["registry"]],
            ),
        ]
        | None
    ) = None


# --- requests ---


class PreviewDraft(Body):
    """The fields of a connector that decide what it sends."""

    type: ConnectorTypeName | None = None
    params: ConnectorParams | None = None
    device_types: DeviceTypeNames | None = None
    device_ids: DeviceIds | None = None
    message_filter: Filter | None = None
    format: FormatName | None = None


class PreviewInput(Body, kw_only=True):
    """Which connector or draft, and which of the latest records."""

    group_id: GroupId
    connector_id: Annotated[Id, Meta(description="Required without a draft.")] | None = None
    draft: (
        Annotated[
            PreviewDraft,
            Meta(
                description="Changes to the connector that are not saved; or, without"
                " `connectorId`, a connector that does not exist yet. Requires `connector.write`."
            ),
        ]
        | None
    ) = None
    limit: Annotated[int, Meta(ge=1, le=PREVIEW_MAX)] | None = None
    device_id: Annotated[DeviceId, Meta(description="Only records of this device.")] | None = None
    begin_date: (
        Annotated[DateIn, Meta(description="Only records with a timestamp from here on.")] | None
    ) = None
    end_date: (
        Annotated[DateIn, Meta(description="Only records with an earlier timestamp.")] | None
    ) = None


# --- the operation ---


async def _load_inputs(context: AsyncContext, body: PreviewInput) -> PreviewInputs:
    actor = context.actor
    begin_at, end_at = parse_period(body.begin_date, body.end_date)
    limit = PREVIEW_DEFAULT if body.limit is None else body.limit
    wanted = WantedRecords(limit, body.device_id, begin_at, end_at)
    if body.draft is not None:
        draft = ConnectorDraft(**structs.asdict(body.draft))
        return await context.read(
            lambda tx: previews.load_draft_preview(
                tx,
                actor,
                body.group_id,
                body.connector_id,
                draft,
                wanted,
                lambda expected, text: decode_text("params", text, expected, context.limits),
                context.services.egress,
            )
        )
    if (connector_id := body.connector_id) is not None:
        return await context.read(
            lambda tx: previews.load_preview(tx, actor, body.group_id, connector_id, wanted)
        )
    raise invalid_field("connector_id", "is required without a draft")


async def preview_connector(context: AsyncContext, body: PreviewInput) -> Preview:
    """Preview what a connector would send.

    For the latest records, and changes of the kinds that it asks for: whether they match, why not,
    and the request that would be sent. Nothing is sent. With a draft, nothing is saved either, and
    `matchedBefore` compares it with the saved connector. Records of a device or a period are looked
    for among the last 5,000.
    """
    inputs = await _load_inputs(context, body)
    # With no transaction open.
    computing = context.services.computing
    found = await computing.threads.run(
        inputs.group_id, previews.build_preview, inputs, computing.previews
    )
    return Preview(
        items=[_show(each) for each in found],
        kinds_without_examples=list(inputs.without_examples) or None,
    )


def _show(record: PreviewedRecord) -> PreviewItem:
    not_sent = record.not_sent
    return PreviewItem.show(
        record,
        record_id=None if record.record_seq is None else format_record_id(record.record_seq),
        matches=not_sent is None,
        reason="" if not_sent is None else not_sent.reason,
        code=None if not_sent is None else not_sent.code,
        missing_field=not_sent.missing_field if isinstance(not_sent, Mismatch) else None,
    )


ROUTES = [
    Route(
        "POST",
        "/connector/preview",
        preview_connector,
        "connector.read",
        tag="Connectors",
        object_rule="in the group of the connector; record.read there as well",
        not_found_is_bad_request=True,
        only_reads=True,
        is_addition=True,
        in_turns=True,
    )
]
