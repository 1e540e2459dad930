"""Which connectors forward a record. Decided while it is stored, in the same transaction."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from longwire.delivery.cel.expressions import EvaluationError, Expression, build_cel_message
from longwire.model import Connector
from longwire.records import Record
from longwire.store import connectors as store_connectors
from longwire.store import groups as store_groups
from longwire.store.database import Tx
from longwire.store.deliveries import NewDelivery
from longwire.store.devices import ReportingDevice
from longwire.store.records import RecordRow

FILTER_IS_FALSE = "the filter is false"


class Matcher(msgspec.Struct, frozen=True):
    """The conditions of a connector, compiled."""

    number: int
    group_number: int
    device_types: frozenset[str]
    device_ids: frozenset[str]
    expression: Expression | None

    def matches_device(self, device_id: str, device_type: str) -> bool:
        return (not self.device_types or device_type in self.device_types) and (
            not self.device_ids or device_id in self.device_ids
        )

    def matches_record(self, record: Record, device: ReportingDevice) -> bool:
        return self.explain_mismatch(record, device) is None

    def explain_mismatch(self, record: Record, device: ReportingDevice) -> str | None:
        """Why a record is not forwarded; None when it is."""
        if self.device_types and device.type not in self.device_types:
            return f"the device type {device.type} is not in deviceTypes"
        if self.device_ids and device.id not in self.device_ids:
            return "the device is not in deviceIds"
        if self.expression is None:
            return None
        message = build_cel_message(record, build_device_context(device))
        try:
            return None if self.expression.matches(message) else FILTER_IS_FALSE
        except EvaluationError as error:
            return str(error)


class MatchResult(msgspec.Struct, frozen=True):
    """The deliveries to enqueue, and the connectors whose filter could not be evaluated."""

    deliveries: list[NewDelivery]
    groups: Counter[int]  # number of deliveries, by the group of their connectors
    errors: dict[int, str]  # by connector


def build_matcher(connector: Connector) -> Matcher:
    return Matcher(
        connector.number,
        int(connector.group_id),
        frozenset(connector.device_types),
        frozenset(connector.device_ids),
        Expression(connector.message_filter) if connector.message_filter else None,
    )


def get_matchers(tx: Tx, group_id: str) -> tuple[Matcher, ...]:
    """Matchers of the connectors that forward records of this group, cached."""
    return tx.cached_config(
        "matchers",
        group_id,
        lambda: tuple(
            build_matcher(each) for each in store_connectors.list_for_group(tx, group_id)
        ),
        lambda: store_groups.get_path(tx, group_id),
    )


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


def build_delivery(channel_number: int, row: RecordRow, device_context: str) -> NewDelivery:
    return NewDelivery(
        channel_number,
        row.seq,
        row.encoded.record.device_id,
        row.kind,
        row.ts,
        row.encoded.body,
        device_context,
    )


def match_records(
    tx: Tx, rows: Sequence[RecordRow], devices: Collection[ReportingDevice]
) -> MatchResult:
    """The deliveries that these records cause."""
    result = MatchResult([], Counter(), {})
    matchers = {group: get_matchers(tx, group) for group in {each.group_id for each in devices}}
    if not any(matchers.values()):
        return result
    by_number = {device.number: device for device in devices}
    contexts: dict[int, str] = {}
    for row in rows:
        device = by_number[row.device_number]
        if not matchers[device.group_id]:
            continue
        context = contexts.get(row.device_number)
        if context is None:
            context = contexts[row.device_number] = encode_device_context(device)
        _match_record(row, device, context, matchers[device.group_id], result)
    return result


def _match_record(
    row: RecordRow,
    device: ReportingDevice,
    context: str,
    matchers: Sequence[Matcher],
    result: MatchResult,
) -> None:
    message: dict[str, Any] | None = None  # built for the first filter that needs it
    for matcher in matchers:
        if not matcher.matches_device(device.id, device.type):
            continue
        if matcher.expression is not None:
            if message is None:
                message = build_cel_message(row.encoded.record, build_device_context(device))
            if not _matches_filter(matcher.number, matcher.expression, message, result.errors):
                continue
        result.deliveries.append(build_delivery(matcher.number, row, context))
        result.groups[matcher.group_number] += 1


def _matches_filter(
    number: int, expression: Expression, message: dict[str, Any], errors: dict[int, str]
) -> bool:
    """A filter that cannot be evaluated does not match, and its connector shows the error."""
    try:
        return expression.matches(message)
    except EvaluationError as error:
        errors[number] = str(error)
        return False
