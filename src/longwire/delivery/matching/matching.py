"""Which connectors forward a record.

Decided on the transaction that stores it, as long as that is cheap. Filters that cost more are
evaluated after the commit: what is deferred is stored with the records (see `deferred_matching`).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from longwire.changes import MESSAGE_KIND_NAMES, ChangeKind
from longwire.clock import Moment
from longwire.delivery.cel.expressions import (
    EvaluationError,
    PreparedExpression,
    build_cel_message,
)
from longwire.delivery.cel.stored import StoredExpression
from longwire.delivery.matching.budgets import InlineAllowance
from longwire.delivery.matching.filter_index import Filter, FilterIndex
from longwire.delivery.matching.filter_outcomes import FilterOutcomes
from longwire.model import Connector
from longwire.records import RecordKind
from longwire.store.cache.compiled_bound import CompiledShare
from longwire.store.database import Tx
from longwire.store.delivery import connectors as store_connectors
from longwire.store.delivery.change_messages import ChangeRow
from longwire.store.delivery.deferrals import Deferral, DeferralPurpose, DeferralRanges
from longwire.store.delivery.deliveries import NewDelivery
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.identity import groups as store_groups
from longwire.store.records.arrival_numbers import arrival_moment
from longwire.store.records.records import RecordRow

INDEXES_MAX = 1_000
# Of a device's id in a set: the set's part of it, and with the string.
SET_ENTRY_BYTES = 64
ID_BYTES = 128
READ_SINGLY_MAX = 100  # connectors, by their numbers
RECORD_KINDS = frozenset(map(int, RecordKind))
CHANGE_KINDS = frozenset(map(int, ChangeKind))
US_PER_KIB = 50.0  # of data, to estimate what an evaluation costs


class MismatchCode(StrEnum):
    """Why a connector does not forward a record."""

    KIND = "kind"
    DEVICE_TYPE = "device_type"
    DEVICE_ID = "device_id"
    FILTER_FALSE = "filter_false"
    FILTER_FAILED = "filter_failed"  # neither true nor false


# The id and the type of a device, and the number of a kind.
ContentKey = tuple[str, str, int]


class Mismatch(msgspec.Struct, frozen=True):
    """Why a connector does not forward a record, in code and in words."""

    code: MismatchCode
    reason: str
    missing_field: str | None = None  # without which a condition of the filter is false


class Content(msgspec.Struct, frozen=True):
    """A record or a change, and what was known of its device: what a connector may forward."""

    row: RecordRow | ChangeRow
    context: Mapping[str, Any]

    @property
    def key(self) -> ContentKey:
        row = self.row
        return row.encoded.record.device_id, self.context.get("deviceType", ""), row.kind

    def build_message(self) -> dict[str, Any]:
        """What expressions see of it."""
        return build_cel_message(self.row.encoded.record, self.context)


OTHER_DEVICE = Mismatch(MismatchCode.DEVICE_ID, "the device is not in deviceIds")


class Matcher(msgspec.Struct, frozen=True):
    """The conditions of a connector."""

    number: int
    group_id: str
    created_at: Moment
    device_types: frozenset[str]
    device_ids: frozenset[str]
    expression: StoredExpression | None
    kinds: frozenset[int]  # the numbers of those that it forwards
    is_ordered: bool = False

    @property
    def kept_bytes(self) -> int:
        source = "" if self.expression is None else self.expression.source
        return len(self.device_ids) * ID_BYTES + len(source)

    def forwards(self, device_id: str, device_type: str, kind: int) -> bool:
        """Whether it forwards what its filter does not leave out."""
        return kind in self.kinds and self.matches_device(device_id, device_type)

    def matches_device(self, device_id: str, device_type: str) -> bool:
        return (not self.device_types or device_type in self.device_types) and (
            not self.device_ids or device_id in self.device_ids
        )

    def matches_content(self, content: Content) -> bool:
        return self.find_mismatch(content) is None

    def prepare(self, content: Content) -> PreparedExpression | None:
        """The filter with the values of a record; None if it decides nothing or costs too much."""
        device_id, device_type, kind = content.key
        if self.expression is None or not self.forwards(device_id, device_type, kind):
            return None
        try:
            return self.expression.prepare(content.build_message())
        except EvaluationError:
            return None

    def find_mismatch(self, content: Content) -> Mismatch | None:
        """Why a record or a change is not forwarded; None when it is."""
        device_id, device_type, kind = content.key
        if kind not in self.kinds:
            reason = f"the kind {MESSAGE_KIND_NAMES[kind]} is not in kinds"
            return Mismatch(MismatchCode.KIND, reason)
        if self.device_types and device_type not in self.device_types:
            reason = f"the device type {device_type} is not in deviceTypes"
            return Mismatch(MismatchCode.DEVICE_TYPE, reason)
        if self.device_ids and device_id not in self.device_ids:
            return OTHER_DEVICE
        if self.expression is None:
            return None
        message = content.build_message()
        try:
            prepared = self.expression.prepare(message)
            if prepared.matches():
                return None
            missing = prepared.find_missing_field()
            reason = "the filter is false" + (f": there is no {missing}" if missing else "")
            return Mismatch(MismatchCode.FILTER_FALSE, reason, missing)
        except EvaluationError as error:
            return Mismatch(MismatchCode.FILTER_FAILED, str(error))


class MatchResult(msgspec.Struct, frozen=True):
    """The deliveries to enqueue, and the connectors whose filter could not be evaluated."""

    deliveries: list[NewDelivery]
    groups: Counter[int]  # number of deliveries, by the group of their connectors
    filters: FilterOutcomes
    deferred: DeferralRanges  # records whose filters are evaluated after the commit

    @classmethod
    def for_purpose(cls, purpose: DeferralPurpose) -> "MatchResult":
        """Nothing is found yet."""
        return cls([], Counter(), FilterOutcomes(), DeferralRanges(purpose))


Indexes = Sequence[tuple[str, FilterIndex[Matcher]]]  # by the group of the connectors


class GroupMatchers:
    """The connectors that forward some kinds of one group, indexed by device and by filter."""

    def __init__(self, matchers: Sequence[Matcher], kinds: frozenset[int]) -> None:
        self.matchers = tuple(each for each in matchers if not kinds.isdisjoint(each.kinds))
        # Whether one of them forwards some of these kinds only.
        self.select_kinds = not all(kinds <= each.kinds for each in self.matchers)
        self._owners = sorted({each.group_id for each in self.matchers})
        self._named_devices = frozenset[str]().union(*(each.device_ids for each in self.matchers))
        self._indexes: dict[tuple[str | None, str, int | None], Indexes] = {}

    def __len__(self) -> int:
        return len(self.matchers)

    @property
    def kept_bytes(self) -> int:
        """With its matchers: they stay as long as it does, wherever else they are cached."""
        own = len(self._named_devices) * SET_ENTRY_BYTES
        return own + sum(each.kept_bytes for each in self.matchers)

    def find(self, device_id: str, device_type: str, kind: int) -> Indexes:
        """Those that forward a kind of a device, if their filter is true."""
        named_id = device_id if device_id in self._named_devices else None
        key = named_id, device_type, kind if self.select_kinds else None
        indexes = self._indexes.get(key)
        if indexes is None:
            if len(self._indexes) >= INDEXES_MAX:
                self._indexes = {}
            indexes = self._indexes[key] = self._build_indexes(device_id, device_type, kind)
        return indexes

    def _build_indexes(self, device_id: str, device_type: str, kind: int) -> Indexes:
        mine = [each for each in self.matchers if each.forwards(device_id, device_type, kind)]
        return [
            (owner, FilterIndex((each, each.expression) for each in mine if each.group_id == owner))
            for owner in self._owners
            if any(each.group_id == owner for each in mine)
        ]


def build_matcher(connector: Connector, share: CompiledShare | None = None) -> Matcher:
    """`share` is that of the group for which its filter is kept compiled, if it is."""
    expression: StoredExpression | None = None
    if connector.message_filter:
        expression = StoredExpression(connector.message_filter, share, is_filter=True)
        expression.fails_at_times = connector.channel.filter_failed > 0
    return Matcher(
        connector.number,
        connector.group_id,
        connector.channel.created_at,
        frozenset(connector.device_types),
        frozenset(connector.device_ids),
        expression,
        frozenset(map(MESSAGE_KIND_NAMES.index, connector.kinds)) or RECORD_KINDS,
        connector.channel.is_ordered,
    )


def get_matchers(tx: Tx, group_id: str) -> GroupMatchers:
    """The connectors that forward records of this group, cached."""
    return _get_matchers(tx, "matchers", group_id, RECORD_KINDS)


def get_change_matchers(tx: Tx, group_id: str) -> GroupMatchers:
    """The connectors that forward changes of alarms or devices of this group, cached."""
    return _get_matchers(tx, "change matchers", group_id, CHANGE_KINDS)


def _get_matchers(tx: Tx, name: str, group_id: str, kinds: frozenset[int]) -> GroupMatchers:
    return tx.cache.get_config(
        name,
        group_id,
        lambda: GroupMatchers(_load_matchers(tx, group_id), kinds),
        lambda: store_groups.get_path(tx, group_id),
    )


def _load_matchers(tx: Tx, group_id: str) -> list[Matcher]:
    """Only connectors that have changed are read, unless many have."""
    versions = store_connectors.list_versions_for_group(tx, group_id)
    compiled = tx.caches.compiled.find(_matcher_key(*each) for each in versions)
    changed = [each[0] for each in versions if _matcher_key(*each) not in compiled]
    if len(changed) > READ_SINGLY_MAX:
        return [get_matcher(tx, each) for each in store_connectors.list_for_group(tx, group_id)]
    read = store_connectors.CONNECTORS.get_by_numbers(tx, changed)
    return [
        get_matcher(tx, read[each[0]]) if each[0] in read else compiled[_matcher_key(*each)]
        for each in versions
    ]


def _matcher_key(number: int, version: int, updated_at: Moment) -> tuple[str, int, int, Moment]:
    return "matcher", number, version, updated_at


def get_matcher(tx: Tx, connector: Connector) -> Matcher:
    """The matcher of a connector, whose filter is compiled once for each of its versions."""
    channel = connector.channel
    key = _matcher_key(channel.number, channel.version, channel.updated_at)
    share = tx.caches.expressions.share(connector.group_id)
    return tx.caches.compiled.get(key, lambda: build_matcher(connector, share))


def build_device_context(device: ReportingDevice) -> dict[str, Any]:
    """What expressions see of the device."""
    return {
        "deviceName": device.name,
        "deviceType": device.type,
        "tags": msgspec.json.decode(device.tags),
    }


def get_content(row: RecordRow, device: ReportingDevice) -> Content:
    """A record with its device."""
    return Content(row, build_device_context(device))


def encode_device_context(device: ReportingDevice) -> str:
    """The same as JSON: the device when the record was stored, kept with the delivery."""
    return msgspec.json.encode(build_device_context(device)).decode()


def build_delivery(
    matcher: Matcher, row: RecordRow | ChangeRow, device_context: str
) -> NewDelivery:
    return NewDelivery(
        matcher.number,
        row.seq,
        row.encoded.record.device_id,
        row.kind,
        row.ts,
        row.encoded.body,
        device_context,
        row.cause,
        matcher.is_ordered,
    )


def match_records(
    tx: Tx,
    rows: Sequence[RecordRow],
    devices: Collection[ReportingDevice],
    allowance: InlineAllowance,
) -> MatchResult:
    """The deliveries that these records cause, and what is left for later."""
    result = MatchResult.for_purpose(DeferralPurpose.CONNECTOR)
    matchers = {group: get_matchers(tx, group) for group in {each.group_id for each in devices}}
    if not any(matchers.values()):
        return result
    by_number = {device.number: device for device in devices}
    found: dict[int | tuple[int, int], _DeviceMatchers] = {}
    with allowance.measuring():
        for row in rows:
            device = by_number[row.device_number]
            group = matchers[device.group_id]
            if not group:
                continue
            key = (row.device_number, row.kind) if group.select_kinds else row.device_number
            mine = found.get(key)
            if mine is None:
                indexes = group.find(device.id, device.type, row.kind)
                mine = _DeviceMatchers(indexes, build_device_context(device))
                found[key] = mine
            _match_record(row, mine, allowance, result)
    return result


class _DeviceMatchers:
    """What the records of one device in a transaction share."""

    __slots__ = ("context", "indexes", "text")

    def __init__(self, indexes: Indexes, context: Mapping[str, Any]) -> None:
        self.indexes = indexes
        self.context = context
        self.text = msgspec.json.encode(context).decode()


def match_changes(tx: Tx, rows: Sequence[ChangeRow], allowance: InlineAllowance) -> MatchResult:
    """The same of changes."""
    result = MatchResult.for_purpose(DeferralPurpose.CHANGE)
    selection = ChangeSelection(tx)
    with allowance.measuring():
        for row in rows:
            content = Content(row, msgspec.json.decode(row.context))
            indexes = selection.get_matchers(row).find(*content.key)
            _match_record(row, _DeviceMatchers(indexes, content.context), allowance, result)
    return result


def is_seen(row: ChangeRow, groups: Collection[str]) -> bool:
    """Whether a change is for a connector that forwards from these groups."""
    sees_other = str(row.other_group_number) in groups
    return row.other_group_number is None or sees_other == row.is_for_both


class ChangeSelection:
    """Whose connectors are to have which changes.

    A device that moves is three changes: for who sees the group that it leaves, for who sees the
    one that it joins, and for who sees both.
    """

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._groups: dict[int, GroupMatchers] = {}
        self._moves: dict[tuple[int, int, bool], GroupMatchers] = {}

    def get_matchers(self, row: ChangeRow) -> GroupMatchers:
        here = self._get_of_group(row.group_number)
        if row.other_group_number is None or not here:
            return here
        key = row.group_number, row.other_group_number, row.is_for_both
        found = self._moves.get(key)
        if found is None:
            there = self._get_of_group(row.other_group_number)
            both = {each.number for each in there.matchers}
            mine = [each for each in here.matchers if (each.number in both) == row.is_for_both]
            found = self._moves[key] = GroupMatchers(mine, CHANGE_KINDS)
        return found

    def _get_of_group(self, number: int) -> GroupMatchers:
        # Nothing is cached for a transaction that changes connectors.
        if number not in self._groups:
            self._groups[number] = get_change_matchers(self._tx, str(number))
        return self._groups[number]


def _match_record(
    row: RecordRow | ChangeRow,
    device: _DeviceMatchers,
    allowance: InlineAllowance,
    result: MatchResult,
) -> None:
    message: dict[str, Any] | None = None  # built for the first filter that needs it
    for owner, index in device.indexes:
        matched = index.unfiltered
        if index.has_filters and allowance.take(owner, index.cost_us):
            if message is None:
                message = build_cel_message(row.encoded.record, device.context)
            matched = [*matched, *_evaluate(index, message, row, allowance, result)]
        elif index.has_filters:
            result.deferred.add(owner, row)
        if matched and not allowance.take_deliveries(owner, len(matched)):
            result.deferred.add(owner, row)
        elif matched:
            result.groups[int(owner)] += len(matched)
            result.deliveries.extend(build_delivery(each, row, device.text) for each in matched)


def _evaluate(
    index: FilterIndex[Matcher],
    message: dict[str, Any],
    row: RecordRow | ChangeRow,
    allowance: InlineAllowance,
    result: MatchResult,
) -> Iterator[Matcher]:
    """Those whose filter is true; the rest of them is deferred when there is no allowance left."""
    prepare_us = US_PER_KIB * len(row.encoded.record.data or "") / 1_024
    for matcher, expression in index.select(message):
        try:
            is_allowed = allowance.take(matcher.group_id, prepare_us + expression.compile_us)
            prepared = expression.prepare(message) if is_allowed else None
            if prepared is None or not allowance.take(matcher.group_id, prepared.cost_us):
                result.deferred.add(matcher.group_id, row)
                return
            is_true = prepared.matches()
        except EvaluationError as error:
            # A filter that cannot be evaluated does not match, and its connector shows the error.
            result.filters.add_failure(matcher.number, matcher.expression, str(error))
            continue
        if matcher.expression is not None:
            result.filters.add_value(matcher.number, matcher.expression)
        if is_true:
            yield matcher


# --- after the commit ---


class DeferredMatches(msgspec.Struct):
    """What the deferred evaluation of some records has found so far."""

    deliveries: list[NewDelivery] = []
    filters: FilterOutcomes = msgspec.field(default_factory=FilterOutcomes)
    done_seq: int | None = None  # the last record that was evaluated

    @property
    def size(self) -> int:
        return len(self.deliveries)

    def clear(self) -> None:
        """Drop what was stored."""
        self.deliveries, self.filters, self.done_seq = [], FilterOutcomes(), None

    def add(self, matchers: Iterable[Matcher], row: RecordRow | ChangeRow, context: str) -> None:
        self.deliveries += [build_delivery(each, row, context) for each in matchers]

    def match(
        self,
        matcher: Matcher,
        expression: Filter,
        message: dict[str, Any],
        row: RecordRow | ChangeRow,
        context: str,
    ) -> None:
        try:
            is_true = expression.matches(message)
        except EvaluationError as error:
            self.filters.add_failure(matcher.number, matcher.expression, str(error))
            return
        if matcher.expression is not None:
            self.filters.add_value(matcher.number, matcher.expression)
        if is_true:
            self.add([matcher], row, context)


def match_deferred(
    deferral: Deferral,
    contents: Sequence[tuple[Content, GroupMatchers]],
    found: DeferredMatches,
) -> Iterator[None]:
    """Match what was deferred with the connectors of one group; yields after each evaluation.

    Some may have been matched before the rest was deferred; no delivery is stored twice.
    """
    for content, matchers in contents:
        row = content.row
        arrived_at = arrival_moment(row.seq)
        text = msgspec.json.encode(content.context).decode()
        message = content.build_message()
        selected: list[tuple[Matcher, Filter]] = []
        for owner, index in matchers.find(*content.key):
            if owner == deferral.owner_id:
                found.add(
                    (each for each in index.unfiltered if each.created_at <= arrived_at), row, text
                )
                yield from index.compile()
                selected += index.select(message)
        for matcher, expression in selected:
            if matcher.created_at <= arrived_at:
                found.match(matcher, expression, message, row, text)
            yield
        found.done_seq = row.seq
        yield
