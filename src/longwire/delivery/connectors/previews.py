"""Previews: what a connector, or a draft of one, would do with the latest records.

Nothing is sent and nothing is saved.

The records are read first; its filter and its template are evaluated with no transaction open, and
within a budget of their own.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import structs

from longwire.changes import MESSAGE_KIND_NAMES
from longwire.clock import Moment
from longwire.delivery.channel_owners import check_devices
from longwire.delivery.connectors import connectors, messages
from longwire.delivery.connectors.connectors import ConnectorDraft, ParseParams
from longwire.delivery.destinations.base import (
    Destination,
    FailureCode,
    OutboundBatch,
    Refused,
    RequestPreview,
)
from longwire.delivery.destinations.parameters import mask_url
from longwire.delivery.http.egress import Egress
from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.delivery.matching.matching import (
    CHANGE_KINDS,
    Content,
    Matcher,
    Mismatch,
    MismatchCode,
    build_matcher,
    get_content,
    is_seen,
)
from longwire.errors import BadInput, TooManyRequests
from longwire.identity import access
from longwire.model import Actor, Connector
from longwire.store.database import Tx
from longwire.store.delivery import change_messages
from longwire.store.records import arrived_records

# Why a record would not be forwarded.
NOT_SENT: Sequence[str] = (*MismatchCode, FailureCode.INVALID_MESSAGE)


@dataclass(frozen=True, slots=True)
class PreviewedRecord:
    """What a connector would do with a stored record."""

    device_id: str | None  # None if it is an alarm of a connector
    kind: str
    ts: Moment
    not_sent: Mismatch | Refused | None  # why it would not be forwarded; None when it would
    request: RequestPreview | None
    is_sent_now: bool | None = None  # by the saved connector, in the preview of a draft of it
    record_seq: int | None = None  # None for a change


@dataclass(frozen=True, slots=True)
class PreviewInputs:
    """A connector, and the latest records that it may see."""

    group_id: str
    builder: messages.MessageBuilder
    matcher: Matcher
    destination: Destination
    contents: Sequence[Content]
    without_examples: Sequence[str]  # kinds that it forwards and of which nothing is stored
    at: Moment
    shows_url: bool  # as a whole, to those who may update the connector
    saved: Matcher | None = None  # of the connector that a draft would change


@dataclass(frozen=True, slots=True)
class WantedRecords:
    """Which of the latest records to preview."""

    limit: int
    device_id: str | None = None
    begin_at: Moment | None = None
    end_at: Moment | None = None

    @property
    def are_all(self) -> bool:
        return self.device_id is None and self.begin_at is None and self.end_at is None

    def include(self, device_id: str, ts: Moment) -> bool:
        return (
            (self.device_id is None or device_id == self.device_id)
            and (self.begin_at is None or ts >= self.begin_at)
            and (self.end_at is None or ts < self.end_at)
        )


# Of the records of a preview, and of its requests; a template may make a small record large.
CHARACTERS_MAX = 4 * 1024 * 1024


def load_preview(
    tx: Tx, actor: Actor, group_id: str, connector_id: str, wanted: WantedRecords
) -> PreviewInputs:
    """A saved connector, and the records for it."""
    connector = connectors.KIND.require(tx, actor, "read", group_id, connector_id)
    return _load(tx, actor, connector, None, wanted)


def load_draft_preview(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str | None,
    draft: ConnectorDraft,
    wanted: WantedRecords,
    parse: ParseParams,
    egress: Egress,
) -> PreviewInputs:
    """A connector that is not saved, or the changes of one that is, and the records for it."""
    saved, connector = connectors.try_draft(tx, actor, group_id, connector_id, draft, parse, egress)
    return _load(tx, actor, connector, saved, wanted)


def _load(
    tx: Tx, actor: Actor, connector: Connector, saved: Connector | None, wanted: WantedRecords
) -> PreviewInputs:
    """The latest records, newest first; fewer if they are large."""
    access.authorize(tx, actor, "record.read", connector.group_id)  # it shows their content
    params = connectors.KIND.open_params(tx, connector.channel)
    matcher = build_matcher(connector)
    sources = connectors.list_source_groups(tx, connector)
    if saved is not None:
        sources |= connectors.list_source_groups(tx, saved)
    if wanted.device_id is not None:
        field_errors = check_devices(tx, {"device_id": wanted.device_id}, sources)
        if field_errors:
            raise BadInput(field_errors=field_errors)
    contents = _list_contents(tx, sources, matcher, wanted)
    found = {each.row.kind for each in contents}
    return PreviewInputs(
        connector.group_id,
        messages.MessageBuilder.for_connector(connector, params),
        matcher,
        messages.build_destination(connector, params, Egress()),  # which is only described
        contents,
        [MESSAGE_KIND_NAMES[each] for each in sorted((matcher.kinds & CHANGE_KINDS) - found)],
        tx.now,
        "connector.write" in access.get_permissions(tx, actor, connector.group_id),
        build_matcher(saved) if saved is not None else None,
    )


def _list_contents(
    tx: Tx, sources: Collection[str], matcher: Matcher, wanted: WantedRecords
) -> list[Content]:
    """The latest records, and changes of the kinds that the connector asks for, newest first."""
    groups = [int(each) for each in sources]
    records = arrived_records.list_latest(
        tx,
        groups,
        wanted.limit,
        CHARACTERS_MAX,
        is_wanted=None if wanted.are_all else wanted.include,
    )
    contents = [get_content(each.row, each.device) for each in records]
    for kind in sorted(matcher.kinds & CHANGE_KINDS):
        contents += _list_latest_changes(tx, groups, sources, kind, wanted)
    contents.sort(key=lambda each: each.row.seq, reverse=True)
    return _keep_of_each_kind(contents, wanted.limit)


def _list_latest_changes(
    tx: Tx, groups: Sequence[int], sources: Collection[str], kind: int, wanted: WantedRecords
) -> list[Content]:
    """The last changes of a kind that connectors of these groups see."""
    most = wanted.limit if wanted.are_all else arrived_records.WANTED_AMONG_MAX
    rows = change_messages.list_latest(tx, groups, [kind], most)
    return [
        Content(each, msgspec.json.decode(each.context))
        for each in rows
        if is_seen(each, sources) and wanted.include(each.encoded.record.device_id, each.ts)
    ][: wanted.limit]


def _keep_of_each_kind(contents: Sequence[Content], most: int) -> list[Content]:
    """The first of them, but of each kind that is there at least a share."""
    share = most // (2 * len({each.row.kind for each in contents}) or 1)
    seen: Counter[int] = Counter()
    kept = []
    for each in contents:
        seen[each.row.kind] += 1
        if seen[each.row.kind] <= share:
            kept.append(each)
    chosen = {each.row.seq for each in kept}
    others = [each for each in contents if each.row.seq not in chosen]
    kept += others[: most - len(kept)]
    return sorted(kept, key=lambda each: each.row.seq, reverse=True)


def build_preview(inputs: PreviewInputs, budgets: ComputeBudgets) -> list[PreviewedRecord]:
    """What would happen to each record, and the request that it would cause."""
    previewed: list[PreviewedRecord] = []
    size = 0
    for past in inputs.contents:
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


def _preview_record(inputs: PreviewInputs, past: Content) -> PreviewedRecord:
    row = past.row
    record = row.encoded.record
    not_sent: Mismatch | Refused | None = inputs.matcher.find_mismatch(past)
    context = msgspec.json.encode(past.context).decode()
    message = inputs.builder.build(row.seq, row.encoded, context)
    request = None
    if isinstance(message, Refused):
        not_sent = not_sent or message
    else:
        request = inputs.destination.describe(OutboundBatch(message.id, [message], inputs.at))
        if not inputs.shows_url and request.url.lower().startswith(("http://", "https://")):
            request = structs.replace(request, url=mask_url(request.url))
    is_sent_now = None if inputs.saved is None else inputs.saved.matches_content(past)
    return PreviewedRecord(
        record.device_id or None,
        record.kind.label,
        row.ts,
        not_sent,
        request,
        is_sent_now,
        None if record.kind in CHANGE_KINDS else row.seq,
    )
