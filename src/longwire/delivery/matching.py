"""Which connectors take a record. Decided while it is stored, in the same transaction."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from longwire.delivery.filters import NO_MATCH, Expression, message_of
from longwire.model import Connector
from longwire.store import connectors as store_connectors
from longwire.store.database import Tx
from longwire.store.deliveries import Fresh
from longwire.store.devices import Reporting
from longwire.store.records import KINDS, Row


class Matcher(msgspec.Struct, frozen=True):
    """A connector as far as matching is concerned."""

    number: int
    group_number: int
    device_types: frozenset[str]
    device_ids: frozenset[str]
    expression: Expression | None

    def refuses(self, device_id: str, device_type: str) -> str:
        """Why the device is not wanted, whatever it says; empty when it is."""
        if self.device_types and device_type not in self.device_types:
            return f"the device type {device_type} is not among deviceTypes"
        if self.device_ids and device_id not in self.device_ids:
            return "the device is not among deviceIds"
        return ""

    def verdict(self, row: Row, device: Reporting) -> str:
        """Why a record is not taken; empty when it is."""
        refusal = self.refuses(device.id, device.type)
        if refusal or self.expression is None:
            return refusal
        matches, reason = self.expression.matches(_message(row, context_of(device)))
        return "" if matches else reason


class Matched(msgspec.Struct, frozen=True):
    """What is to be delivered, and whose filters could not be evaluated."""

    deliveries: list[Fresh]
    groups: Counter[int]  # how many deliveries, by the group of their connectors
    errors: dict[int, str]


def matcher_of(connector: Connector) -> Matcher:
    return Matcher(
        connector.number,
        int(connector.group_id),
        frozenset(connector.device_types),
        frozenset(connector.device_ids),
        Expression(connector.message_filter) if connector.message_filter else None,
    )


def matchers_for(tx: Tx, group_id: str) -> tuple[Matcher, ...]:
    """The connectors that take what devices of this group say."""
    return tx.recall(
        "matchers",
        group_id,
        lambda: tuple(matcher_of(each) for each in store_connectors.reaching(tx, group_id)),
    )


def context_of(device: Reporting) -> str:
    """What goes along with a record: how its device was called and what it was."""
    return msgspec.json.encode(
        {
            "deviceName": device.name,
            "deviceType": device.type,
            "tags": msgspec.Raw(device.tags.encode()),
        }
    ).decode()


def fresh_of(matcher: Matcher, row: Row, device: Reporting) -> Fresh:
    return Fresh(matcher.number, row.seq, device.id, row.kind, row.ts, row.body, context_of(device))


def match(tx: Tx, fresh: Sequence[Row], devices: Collection[Reporting]) -> Matched:
    """Everything that some records are to cause."""
    matched = Matched([], Counter(), {})
    by_number = {device.number: device for device in devices}
    takers = {group: matchers_for(tx, group) for group in {each.group_id for each in devices}}
    if not any(takers.values()):
        return matched
    contexts: dict[int, str] = {}
    for row in fresh:
        device = by_number[row.device_number]
        matchers = takers[device.group_id]
        if not matchers:
            continue
        context = contexts.get(row.device_number)
        if context is None:
            context = contexts[row.device_number] = context_of(device)
        message: dict[str, Any] | None = None
        for matcher in matchers:
            if matcher.refuses(device.id, device.type):
                continue
            if matcher.expression is not None:
                if message is None:
                    message = _message(row, context)
                matches, reason = matcher.expression.matches(message)
                if not matches:
                    if reason != NO_MATCH:
                        matched.errors[matcher.number] = reason
                    continue
            matched.deliveries.append(
                Fresh(matcher.number, row.seq, device.id, row.kind, row.ts, row.body, context)
            )
            matched.groups[matcher.group_number] += 1
    return matched


def _message(row: Row, context: str) -> dict[str, Any]:
    return message_of(KINDS[row.kind], row.body, msgspec.json.decode(context))
