"""Previews: what a connector would do with the latest records. Nothing is sent.

The records are read first; its filter and its template are evaluated with no transaction open, and
within a budget of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from longwire.clock import Clock, Moment
from longwire.delivery import connectors, messages
from longwire.delivery.budgets import ComputeBudgets
from longwire.delivery.destinations.base import (
    Destination,
    OutboundBatch,
    Refused,
    RequestPreview,
)
from longwire.delivery.egress import Egress
from longwire.delivery.matching import Matcher, build_matcher, encode_device_context
from longwire.errors import TooManyRequests
from longwire.identity import access
from longwire.model import Actor
from longwire.store import records as store_records
from longwire.store.database import Tx
from longwire.store.records import ArrivedRecord


@dataclass(frozen=True, slots=True)
class PreviewedRecord:
    """What a connector would do with a stored record."""

    device_id: str
    kind: str
    ts: Moment
    reason: str | None  # why it would not be forwarded; None when it would
    request: RequestPreview | None


@dataclass(frozen=True, slots=True)
class PreviewInputs:
    """A connector, and the latest records that it may see."""

    group_id: str
    builder: messages.MessageBuilder
    matcher: Matcher
    destination: Destination
    records: Sequence[ArrivedRecord]
    at: Moment


# Of the records of a preview, and of its requests; a template may make a small record large.
CHARACTERS_MAX = 4 * 1024 * 1024
# Of a process; people look at previews now and then.
PREVIEW_BUDGETS = ComputeBudgets(Clock(), ms_per_s=100, burst_ms=2_000)


def load_preview(
    tx: Tx, actor: Actor, group_id: str, connector_id: str, limit: int
) -> PreviewInputs:
    """The latest records, newest first; fewer if they are large."""
    connector = connectors.KIND.require(tx, actor, "read", group_id, connector_id)
    access.authorize(tx, actor, "record.read", group_id)  # the preview shows their content
    params = connectors.KIND.open_params(tx, connector.channel)
    groups = [int(each) for each in connectors.list_source_groups(tx, connector)]
    return PreviewInputs(
        connector.group_id,
        messages.MessageBuilder.for_connector(connector, params),
        build_matcher(connector),
        messages.build_destination(connector, params, Egress()),  # which is only described
        store_records.list_latest(tx, groups, limit, CHARACTERS_MAX),
        tx.now,
    )


def build_preview(
    inputs: PreviewInputs, budgets: ComputeBudgets = PREVIEW_BUDGETS
) -> list[PreviewedRecord]:
    """What would happen to each record, and the request that it would cause."""
    previewed: list[PreviewedRecord] = []
    size = 0
    for past in inputs.records:
        if budgets.is_used_up(inputs.group_id):
            raise TooManyRequests(
                "The filter or the template of this connector takes too long for a preview of so"
                " many records; wait, or use a lower limit.",
                retry_after_s=10,
            )
        with budgets.charging(inputs.group_id):
            shown = _preview_record(inputs, past)
        previewed.append(shown)
        size += 0 if shown.request is None else len(shown.request.body)
        if size > CHARACTERS_MAX:
            break
    return previewed


def _preview_record(inputs: PreviewInputs, past: ArrivedRecord) -> PreviewedRecord:
    row, device = past.row, past.device
    record = row.encoded.record
    reason = inputs.matcher.explain_mismatch(record, device)
    message = inputs.builder.build(row.seq, row.encoded, encode_device_context(device))
    request = None
    if isinstance(message, Refused):
        reason = reason or message.reason
    else:
        request = inputs.destination.describe(OutboundBatch(message.id, [message], inputs.at))
    return PreviewedRecord(device.id, record.kind.label, row.ts, reason, request)
