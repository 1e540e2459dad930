"""Which connectors forward a record.

Decided on the transaction that stores it, as long as that is cheap. Filters that cost more are
evaluated after the commit: what is deferred is stored with the records (see `deferred_matching`).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any

import msgspec

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
from longwire.model import ChannelPurpose, Connector
from longwire.records import Record
from longwire.store.database import Tx
from longwire.store.delivery import connectors as store_connectors
from longwire.store.delivery.deferrals import Deferral, DeferralRanges
from longwire.store.delivery.deliveries import NewDelivery
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.identity import groups as store_groups
from longwire.store.records.arrival_numbers import arrival_moment
from longwire.store.records.arrived_records import ArrivedRecord
from longwire.store.records.records import RecordRow

INDEXES_MAX = 1_000
# Of a device's id in a set: the set's part of it, and with the string.
SET_ENTRY_BYTES = 64
ID_BYTES = 128
READ_SINGLY_MAX = 100  # connectors, by their numbers
US_PER_KIB = 50.0  # of data, to estimate what an evaluation costs


class MismatchCode(StrEnum):
    """Why a connector does not forward a record."""

    DEVICE_TYPE = "device_type"
    DEVICE_ID = "device_id"
    FILTER_FALSE = "filter_false"
    FILTER_FAILED = "filter_failed"  # neither true nor false


class Mismatch(msgspec.Struct, frozen=True):
    """Why a connector does not forward a record, in code and in words."""

    code: MismatchCode
    reason: str
    missing_field: str | None = None  # without which a condition of the filter is false


OTHER_DEVICE = Mismatch(MismatchCode.DEVICE_ID, "the device is not in deviceIds")


class Matcher(msgspec.Struct, frozen=True):
    """The conditions of a connector."""

    number: int
    group_id: str
    created_at: Moment
    device_types: frozenset[str]
    device_ids: frozenset[str]
    expression: StoredExpression | None
    is_ordered: bool = False

    @property
    def kept_bytes(self) -> int:
        source = "" if self.expression is None else self.expression.source
        return len(self.device_ids) * ID_BYTES + len(source)

    def matches_device(self, device_id: str, device_type: str) -> bool:
        return (not self.device_types or device_type in self.device_types) and (
            not self.device_ids or device_id in self.device_ids
        )

    def matches_record(self, record: Record, device: ReportingDevice) -> bool:
        return self.find_mismatch(record, device) is None

    def prepare(self, record: Record, device: ReportingDevice) -> PreparedExpression | None:
        """The filter with the values of a record; None if it decides nothing or costs too much."""
        if self.expression is None or not self.matches_device(device.id, device.type):
            return None
        try:
            return self.expression.prepare(build_cel_message(record, build_device_context(device)))
        except EvaluationError:
            return None

    def find_mismatch(self, record: Record, device: ReportingDevice) -> Mismatch | None:
        """Why a record is not forwarded; None when it is."""
        if self.device_types and device.type not in self.device_types:
            reason = f"the device type {device.type} is not in deviceTypes"
            return Mismatch(MismatchCode.DEVICE_TYPE, reason)
        if self.device_ids and device.id not in self.device_ids:
            return OTHER_DEVICE
        if self.expression is None:
            return None
        message = build_cel_message(record, build_device_context(device))
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


Indexes = Sequence[tuple[str, FilterIndex[Matcher]]]  # by the group of the connectors


class GroupMatchers:
    """The connectors that forward records of one group, indexed by device and by filter."""

    def __init__(self, matchers: Sequence[Matcher]) -> None:
        self.matchers = tuple(matchers)
        self._owners = sorted({each.group_id for each in matchers})
        self._named_devices = frozenset[str]().union(*(each.device_ids for each in matchers))
        self._indexes: dict[tuple[str | None, str], Indexes] = {}

    def __len__(self) -> int:
        return len(self.matchers)

    @property
    def kept_bytes(self) -> int:
        """With its matchers: they stay as long as it does, wherever else they are cached."""
        own = len(self._named_devices) * SET_ENTRY_BYTES
        return own + sum(each.kept_bytes for each in self.matchers)

    def for_device(self, device: ReportingDevice) -> Indexes:
        """Those that forward records of a device, if their filter is true."""
        key = device.id if device.id in self._named_devices else None, device.type
        indexes = self._indexes.get(key)
        if indexes is None:
            if len(self._indexes) >= INDEXES_MAX:
                self._indexes = {}
            indexes = self._indexes[key] = self._build_indexes(device)
        return indexes

    def _build_indexes(self, device: ReportingDevice) -> Indexes:
        mine = [each for each in self.matchers if each.matches_device(device.id, device.type)]
        return [
            (owner, FilterIndex((each, each.expression) for each in mine if each.group_id == owner))
            for owner in self._owners
            if any(each.group_id == owner for each in mine)
        ]


def build_matcher(connector: Connector, owner: str | None = None) -> Matcher:
    """`owner` is the group that its filter is kept compiled for, if it is."""
    expression: StoredExpression | None = None
    if connector.message_filter:
        expression = StoredExpression(connector.message_filter, owner, is_filter=True)
        expression.fails_at_times = connector.channel.filter_failed > 0
    return Matcher(
        connector.number,
        connector.group_id,
        connector.channel.created_at,
        frozenset(connector.device_types),
        frozenset(connector.device_ids),
        expression,
        connector.channel.is_ordered,
    )


def get_matchers(tx: Tx, group_id: str) -> GroupMatchers:
    """The connectors that forward records of this group, cached."""
    return tx.cache.get_config(
        "matchers",
        group_id,
        lambda: GroupMatchers(_load_matchers(tx, group_id)),
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
    return tx.caches.compiled.get(key, lambda: build_matcher(connector, connector.group_id))


def build_device_context(device: ReportingDevice) -> dict[str, Any]:
    """What expressions see of the device."""
    return {
        "deviceName": device.name,
        "deviceType": device.type,
        "tags": msgspec.json.decode(device.tags),
    }


def encode_device_context(device: ReportingDevice) -> str:
    """The same as JSON: the device when the record was stored, kept with the delivery."""
    return msgspec.json.encode(build_device_context(device)).decode()


def build_delivery(matcher: Matcher, row: RecordRow, device_context: str) -> NewDelivery:
    return NewDelivery(
        matcher.number,
        row.seq,
        row.encoded.record.device_id,
        row.kind,
        row.ts,
        row.encoded.body,
        device_context,
        None,
        matcher.is_ordered,
    )


def match_records(
    tx: Tx,
    rows: Sequence[RecordRow],
    devices: Collection[ReportingDevice],
    allowance: InlineAllowance,
) -> MatchResult:
    """The deliveries that these records cause, and what is left for later."""
    result = MatchResult([], Counter(), FilterOutcomes(), DeferralRanges(ChannelPurpose.CONNECTOR))
    matchers = {group: get_matchers(tx, group) for group in {each.group_id for each in devices}}
    if not any(matchers.values()):
        return result
    by_number = {device.number: device for device in devices}
    found: dict[int, _DeviceMatchers] = {}
    with allowance.measuring():
        for row in rows:
            device = by_number[row.device_number]
            if not matchers[device.group_id]:
                continue
            mine = found.get(row.device_number)
            if mine is None:
                indexes = matchers[device.group_id].for_device(device)
                mine = _DeviceMatchers(indexes, build_device_context(device))
                found[row.device_number] = mine
            _match_record(row, mine, allowance, result)
    return result


class _DeviceMatchers:
    """What the records of one device in a transaction share."""

    __slots__ = ("context", "indexes", "text")

    def __init__(self, indexes: Indexes, context: dict[str, Any]) -> None:
        self.indexes = indexes
        self.context = context
        self.text = msgspec.json.encode(context).decode()


def _match_record(
    row: RecordRow, device: _DeviceMatchers, allowance: InlineAllowance, result: MatchResult
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
    row: RecordRow,
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

    def add(self, matchers: Iterable[Matcher], row: RecordRow, context: str) -> None:
        self.deliveries += [build_delivery(each, row, context) for each in matchers]

    def match(
        self,
        matcher: Matcher,
        expression: Filter,
        message: dict[str, Any],
        row: RecordRow,
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
    matchers: GroupMatchers,
    records: Sequence[ArrivedRecord],
    found: DeferredMatches,
) -> Iterator[None]:
    """Match deferred records with the connectors of one group; yields after each evaluation.

    Some may have been matched before the rest was deferred; no delivery is stored twice.
    """
    for record in records:
        row, device = record.row, record.device
        arrived_at = arrival_moment(row.seq)
        context = build_device_context(device)
        text = msgspec.json.encode(context).decode()
        message = build_cel_message(row.encoded.record, context)
        selected: list[tuple[Matcher, Filter]] = []
        for owner, index in matchers.for_device(device):
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
