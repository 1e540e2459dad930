"""Traces: how one record came in, how it was decoded, and everything that it caused.

Connectors without a message are asked by what they are now: earlier filters are not stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longwire.delivery.cel.expressions import EvaluationError, build_cel_message
from longwire.delivery.connectors.deliveries import Message, build_message
from longwire.delivery.matching.matching import (
    Matcher,
    MismatchCode,
    build_device_context,
    get_matcher,
)
from longwire.errors import BadInput, FieldError, NotAllowed, invalid_field, not_found
from longwire.fleet import decoding
from longwire.identity import access
from longwire.ids import parse_delivery_id, parse_record_id
from longwire.model import Actor, ChannelPurpose, Connector, Notification
from longwire.records import DataRecord
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import connectors as store_connectors
from longwire.store.delivery import delivery_history
from longwire.store.delivery.delivery_history import DeliveryDetail
from longwire.store.identity import groups as store_groups
from longwire.store.notifications.contact_points import CONTACT_POINTS, ContactPoint
from longwire.store.notifications.notifications import NOTIFICATIONS
from longwire.store.records import arrived_records, receptions
from longwire.store.records.arrival_numbers import arrival_moment
from longwire.store.records.arrived_records import ArrivedRecord
from longwire.store.records.receptions import Reception

GROUPS_SEARCHED_MAX = 10_000
CONNECTORS_SHOWN_MAX = 200
NOTIFIED_MAX = 200
# Estimated CPU time of the filters of one trace.
FILTERS_US_MAX = 5_000.0
COMPILING_US_MAX = 50_000.0

# Why a connector has no message for a record, besides that it does not match.
DISABLED = "disabled"
CREATED_LATER = "created_later"
NOT_EVALUATED = "not_evaluated"
MATCHES_NOW = "matches_now"
NOT_TAKEN = (DISABLED, CREATED_LATER, *MismatchCode, NOT_EVALUATED, MATCHES_NOW)


@dataclass(frozen=True, slots=True)
class Decoding:
    """What the decoder of a device's type made of a payload."""

    decoder: str
    names: Sequence[str]
    failure: str | None


@dataclass(frozen=True, slots=True)
class ConnectorTrace:
    """The message of a connector, or why it has none."""

    connector: Connector
    message: Message | None
    not_taken: str | None = None


@dataclass(frozen=True, slots=True)
class NotificationTrace:
    """What a notification or a contact point sent because of a record."""

    notification: Notification | ContactPoint
    deliveries: Sequence[DeliveryDetail]


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that is known of a record."""

    arrived: ArrivedRecord
    reception: Reception | None
    decoding: Decoding | None
    connectors: Sequence[ConnectorTrace]
    has_more_connectors: bool
    notifications: Sequence[NotificationTrace]
    hidden_connectors: int  # with a message, but not the actor's to see
    hidden_notifications: int


def trace(
    tx: Tx,
    actor: Actor,
    record_id: str | None,
    message_id: str | None,
    group_id: str | None,
) -> Trace:
    """The trace of a record by its id, by that of a message about it, or by both."""
    if record_id is None and message_id is None:
        reason = "is required, or messageId"
        raise BadInput(field_errors=[FieldError("record_id", reason)])
    if group_id is not None:
        access.authorize(tx, actor, "record.read", group_id)
    found = None
    if message_id is not None:
        found = _find_by_message(tx, actor, message_id)
    if record_id is not None:
        by_record = _find_by_id(tx, actor, record_id, group_id)
        if found is not None and found.row.seq != by_record.row.seq:
            raise invalid_field("message_id", "is not a message about this record")
        found = by_record
    assert found is not None
    if group_id is not None and found.device.group_id != group_id:
        raise not_found("record_id" if record_id else "message_id", "record of this group")
    return _build(tx, actor, found)


def _find_by_id(tx: Tx, actor: Actor, record_id: str, group_id: str | None) -> ArrivedRecord:
    seq = parse_record_id(record_id)
    group: int | None = None
    if seq is not None and group_id is not None:
        group = int(group_id)
    elif seq is not None:
        scope = access.scope_all_groups(actor, "record.read")
        groups = store_groups.list_reached(tx, scope, GROUPS_SEARCHED_MAX + 1)
        if len(groups) > GROUPS_SEARCHED_MAX:
            raise invalid_field("group_id", "is required: you can read too many groups")
        group = arrived_records.find_group(tx, groups, seq)
    found = (
        arrived_records.find_in_group(tx, group, seq)
        if group is not None and seq is not None
        else None
    )
    if found is None:
        raise not_found("record_id", "record")
    return found


def _find_by_message(tx: Tx, actor: Actor, message_id: str) -> ArrivedRecord:
    """The record that a message of a connector or a notification is about."""
    key = parse_delivery_id(message_id)
    detail = delivery_history.get_detail(tx, *key) if key else None
    channel = store_channels.get_by_numbers(tx, [key[0]]).get(key[0]) if key else None
    found: ArrivedRecord | None = None
    if detail is not None and channel is not None:
        is_record = channel.purpose == ChannelPurpose.CONNECTOR and detail.cause is None
        seq = detail.event.seq if is_record else detail.cause
        if seq is not None:
            found = arrived_records.find_of_device(tx, detail.event.device_id, seq)
    held = access.get_permissions(tx, actor, found.device.group_id) if found else frozenset()
    if found is None or not held:
        raise not_found("message_id", "message about a stored record")
    if "record.read" not in held:
        raise NotAllowed(f"This needs the permission record.read in group {found.device.group_id}.")
    return found


# --- what is known ---


def _build(tx: Tx, actor: Actor, arrived: ArrivedRecord) -> Trace:
    row = arrived.row
    reception = receptions.find(tx, row.group_number, row.seq)
    shown, has_more, hidden_connectors = _trace_connectors(tx, actor, arrived)
    caused = _list_caused(tx, row.seq)
    shown += _trace_changes(tx, actor, caused)
    notifications, hidden_notifications = _trace_notifications(tx, actor, caused)
    return Trace(
        arrived,
        reception,
        _describe_decoding(tx, arrived, reception),
        shown,
        has_more,
        notifications,
        hidden_connectors,
        hidden_notifications,
    )


def _describe_decoding(
    tx: Tx, arrived: ArrivedRecord, reception: Reception | None
) -> Decoding | None:
    record = arrived.row.encoded.record
    if not isinstance(record, DataRecord):
        return None
    failure = None if reception is None else reception.decode_failure
    codec = decoding.get_codec(tx, arrived.device.type)
    if not codec.exists and failure is None and not record.decoded_names:
        return None
    return Decoding(codec.kind, record.decoded_names or (), failure)


def _trace_connectors(
    tx: Tx, actor: Actor, arrived: ArrivedRecord
) -> tuple[list[ConnectorTrace], bool, int]:
    """Those that the actor may see, first those that have a message; if there are more; and how
    many others have a message.
    """
    reaching = store_connectors.list_reaching(tx, arrived.device.group_id)
    numbers = [each.number for each in reaching]
    sent = delivery_history.list_of_arrival(tx, numbers, arrived.row.seq) if numbers else {}
    visible = [
        each
        for each in reaching
        if "connector.read" in access.get_permissions(tx, actor, each.group_id)
    ]
    hidden = len(sent.keys() - {each.number for each in visible})
    visible.sort(key=lambda each: each.number not in sent)
    explain = _Explanation(tx, arrived)
    traced = []
    for connector in visible[:CONNECTORS_SHOWN_MAX]:
        detail = sent.get(connector.number)
        if detail is not None:
            traced.append(ConnectorTrace(connector, build_message(connector, detail, None)))
        else:
            traced.append(ConnectorTrace(connector, None, explain.find_reason(connector)))
    return traced, len(visible) > CONNECTORS_SHOWN_MAX, hidden


class _Explanation:
    """Why connectors have no message about a record, within some CPU time."""

    def __init__(self, tx: Tx, arrived: ArrivedRecord) -> None:
        self._tx = tx
        self._arrived = arrived
        self._us_left = FILTERS_US_MAX
        self._compiling_us_left = COMPILING_US_MAX
        self._message: dict[str, Any] | None = None

    def find_reason(self, connector: Connector) -> str:
        arrived_at = arrival_moment(self._arrived.row.seq)
        if connector.channel.created_at > arrived_at:
            return CREATED_LATER
        if not connector.channel.is_enabled:
            return DISABLED
        device = self._arrived.device
        kind = self._arrived.row.encoded.record.kind.label
        if connector.kinds and kind not in connector.kinds:
            return MismatchCode.KIND
        if connector.device_types and device.type not in connector.device_types:
            return MismatchCode.DEVICE_TYPE
        if connector.device_ids and device.id not in connector.device_ids:
            return MismatchCode.DEVICE_ID
        if connector.message_filter is None:
            return MATCHES_NOW
        return self._evaluate(get_matcher(self._tx, connector))

    def _evaluate(self, matcher: Matcher) -> str:
        if matcher.expression is None:
            return MATCHES_NOW
        if self._message is None:
            context = build_device_context(self._arrived.device)
            self._message = build_cel_message(self._arrived.row.encoded.record, context)
        compile_us = matcher.expression.compile_us
        if compile_us > self._compiling_us_left:
            return NOT_EVALUATED
        self._compiling_us_left -= compile_us
        try:
            prepared = matcher.expression.prepare(self._message)
            if prepared.cost_us > self._us_left:
                return NOT_EVALUATED
            self._us_left -= prepared.cost_us
            return MATCHES_NOW if prepared.matches() else MismatchCode.FILTER_FALSE
        except EvaluationError:
            return MismatchCode.FILTER_FAILED


def _list_caused(tx: Tx, seq: int) -> dict[int, list[DeliveryDetail]]:
    """What was sent about what a record has caused, by channel."""
    caused: dict[int, list[DeliveryDetail]] = {}
    for detail in delivery_history.list_caused(tx, seq, NOTIFIED_MAX):
        caused.setdefault(detail.event.channel_number, []).append(detail)
    return caused


def _trace_changes(
    tx: Tx, actor: Actor, caused: Mapping[int, Sequence[DeliveryDetail]]
) -> list[ConnectorTrace]:
    """What connectors were sent about alarms that the record has raised or resolved."""
    found = store_connectors.CONNECTORS.get_by_numbers(tx, list(caused))
    return [
        ConnectorTrace(each, build_message(each, detail, None))
        for number, each in sorted(found.items())
        if "connector.read" in access.get_permissions(tx, actor, each.group_id)
        for detail in caused[number]
    ]


def _trace_notifications(
    tx: Tx, actor: Actor, caused: Mapping[int, Sequence[DeliveryDetail]]
) -> tuple[list[NotificationTrace], int]:
    """Those that the actor may see, and how many others there are."""
    found: dict[int, Notification | ContactPoint] = {
        **NOTIFICATIONS.get_by_numbers(tx, list(caused)),
        **CONTACT_POINTS.get_by_numbers(tx, list(caused)),
    }
    visible = [
        NotificationTrace(each, caused[number])
        for number, each in sorted(found.items())
        if "notification.read" in access.get_permissions(tx, actor, each.group_id)
    ]
    return visible, len(found) - len(visible)
