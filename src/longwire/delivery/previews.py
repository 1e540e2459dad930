"""Previews: what a connector would do with the latest records. Nothing is sent."""

from dataclasses import dataclass

from longwire.clock import Moment
from longwire.delivery import connectors, messages
from longwire.delivery.destinations.base import OutboundBatch, Refused, RequestPreview
from longwire.delivery.egress import Egress
from longwire.delivery.matching import build_matcher, encode_device_context
from longwire.identity import access
from longwire.model import Actor
from longwire.store import records as store_records
from longwire.store.database import Tx


@dataclass(frozen=True, slots=True)
class PreviewedRecord:
    """What a connector would do with a stored record."""

    device_id: str
    kind: str
    ts: Moment
    reason: str | None  # why it would not be forwarded; None when it would
    request: RequestPreview | None


def preview_connector(
    tx: Tx, actor: Actor, group_id: str, connector_id: str, limit: int, egress: Egress
) -> list[PreviewedRecord]:
    """The latest records, and the request that each would cause."""
    connector = connectors.KIND.require(tx, actor, "read", group_id, connector_id)
    access.authorize(tx, actor, "record.read", group_id)  # the preview shows their content
    params = connectors.KIND.open_params(tx, connector.channel)
    builder = messages.MessageBuilder.for_connector(connector, params)
    matcher = build_matcher(connector)
    destination = messages.build_destination(connector, params, egress)
    groups = [int(each) for each in connectors.list_source_groups(tx, connector)]
    previewed = []
    for past in store_records.list_latest(tx, groups, limit):
        row, device = past.row, past.device
        record = row.encoded.record
        reason = matcher.explain_mismatch(record, device)
        message = builder.build(row.seq, row.encoded, encode_device_context(device))
        request = None
        if isinstance(message, Refused):
            reason = reason or message.reason
        else:
            request = destination.describe(OutboundBatch(message.id, [message], tx.now))
        previewed.append(PreviewedRecord(device.id, record.kind.label, row.ts, reason, request))
    return previewed
