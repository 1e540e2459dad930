"""Counts of the devices and connectors of groups, and which of them need attention."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from longwire.clock import Moment
from longwire.model import ChannelPurpose, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.delivery.delivery_states import DeliveryState
from longwire.store.engines.dialects import array_param, dialect_sql, in_array, using_index
from longwire.store.engines.number_ranges import find_range, is_in_range, list_homes
from longwire.store.fleet.unknown_devices import UnknownReason

# On SQLite, a group with so many devices is counted by itself.
LARGE_GROUP = 1_000

_COUNTS = """
    count(*),
    count(*) filter (where s.seen_at >= :hour_ago),
    count(*) filter (where s.seen_at >= :day_ago),
    count(*) filter (where s.seen_at = :never),
    count(*) filter (where s.battery_level < :battery_low),
    count(*) filter (where s.silent_at is not null),
    min(s.silent_at)
from device_state s"""

COUNT_DEVICES = dialect_sql(
    f"""
select s.group_id,{_COUNTS} {{by_group}}
where s.group_id {{listed}}
group by s.group_id
order by s.group_id
""",
    by_group=using_index("ix_device_state_group_id_device_number"),
    listed=in_array("homes"),
)

COUNT_DEVICES_IN_RANGE = f"""
select{_COUNTS}
where {is_in_range("s.group_id", "s.device_number", is_one_group=True)}
"""

COUNT_DRIFTING = dialect_sql(
    """
select group_id, count(*), min(drifted_at)
from device
where group_id {listed}
    and drifted_at is not null
group by group_id
order by 2 desc, group_id
""",
    listed=in_array("homes"),
)

COUNT_UNKNOWN = dialect_sql(
    """
select group_id, count(*), min(first_at)
from unknown_device
where group_id {listed}
    and (reason = :rejected) = :is_rejected
group by group_id
order by 2 desc, group_id
""",
    listed=in_array("homes"),
)

COUNT_GROUPS = dialect_sql(
    """
select coalesce(sum(device_count), 0)
from device_group
where id {listed}
""",
    listed=in_array("homes"),
)

_CONNECTORS = f"""
from channel c
where c.group_id {{listed}}
    and c.purpose = '{ChannelPurpose.CONNECTOR}'
    and c.deleted_at is null"""

COUNT_CONNECTORS = dialect_sql(
    f"""
select
    count(*),
    sum(case when c.is_enabled then 1 else 0 end),
    sum(case when c.is_enabled and c.failures > 0 then 1 else 0 end){_CONNECTORS}
""",
    listed=in_array("homes"),
)

LIST_CONNECTOR_NUMBERS = dialect_sql(
    f"""
select c.number{_CONNECTORS}
order by c.number
limit :most
""",
    listed=in_array("homes"),
)

_SELECT_CONNECTOR = """
select c.number, c.id, c.group_id, n.name, c.error_at, c.error_message, c.failing_since
from channel c
join connector n on n.channel_number = c.number"""

LIST_FAILING = dialect_sql(
    f"""{_SELECT_CONNECTOR}
where c.group_id {{listed}}
    and c.deleted_at is null
    and c.is_enabled
    and c.failures > 0
order by coalesce(c.failing_since, c.error_at), c.number
limit :most
""",
    listed=in_array("homes"),
)

LIST_FAILING_FILTERS = dialect_sql(
    """
select
    c.id,
    c.purpose,
    c.group_id,
    coalesce(n.name, m.name),
    c.filter_failing_since,
    c.filter_failed,
    c.filter_evaluated,
    c.error_message
from channel c
left join connector n on n.channel_number = c.number
left join notification m on m.channel_number = c.number
where c.group_id {listed}
    and c.deleted_at is null
    and c.is_enabled
    and c.purpose {purposes}
    and c.filter_failing_since is not null
order by c.filter_failing_since, c.number
limit :most
""",
    listed=in_array("homes"),
    purposes=in_array("purposes"),
)

LIST_BY_NUMBER = dialect_sql(
    f"""{_SELECT_CONNECTOR}
where c.number {{listed}}
order by c.number
""",
    listed=in_array("numbers"),
)

COUNT_QUEUED = dialect_sql(
    f"""
select count(*)
from (
    select 1
    from delivery {{by_due}}
    where channel_number {{listed}}
        and state = {DeliveryState.QUEUED:d}
    limit :most
) d
""",
    by_due=using_index("ix_delivery_due"),
    listed=in_array("numbers"),
)

COUNT_DEAD_LETTERS = dialect_sql(
    f"""
select channel_number, count(*)
from (
    select channel_number
    from delivery {{by_failed}}
    where channel_number {{listed}}
        and state = {DeliveryState.FAILED:d}
    limit :most
) d
group by channel_number
order by 2 desc, channel_number
""",
    by_failed=using_index("ix_delivery_failed"),
    listed=in_array("numbers"),
)


@dataclass(frozen=True, slots=True)
class GroupDeviceCounts:
    """Devices of one group; of those that are silent, since when the first one is."""

    group_id: str
    total: int
    seen_hour: int
    seen_day: int
    never: int
    battery_low: int
    silent: int
    silent_since: Moment | None


@dataclass(frozen=True, slots=True)
class GroupCount:
    """Devices of one group that need attention, and since when the first one does."""

    group_id: str
    count: int
    since: Moment


@dataclass(frozen=True, slots=True)
class ConnectorTotals:
    total: int
    enabled: int
    failing: int


@dataclass(frozen=True, slots=True)
class ConnectorProblem:
    """A connector, and its last error."""

    number: int
    id: str
    group_id: str
    name: str | None
    error_at: Moment | None
    error: str | None
    failing_since: Moment | None


@dataclass(frozen=True, slots=True)
class FailingFilter:
    """A connector or notification whose filter cannot be evaluated for most records."""

    id: str
    purpose: ChannelPurpose
    group_id: str
    name: str | None
    since: Moment
    failed: int
    evaluated: int
    error: str | None


def sum_device_counts(tx: Tx, scope: Scope) -> int:
    return int(tx.fetch_raw(COUNT_GROUPS, _homes(tx, scope))[0][0])


def count_devices(
    tx: Tx, scope: Scope, *, hour_ago: Moment, day_ago: Moment, battery_low: int
) -> list[GroupDeviceCounts]:
    """Look at the state of every device; one result for each group that has any."""
    values = {
        "hour_ago": hour_ago,
        "day_ago": day_ago,
        "never": schema.NEVER_SEEN,
        "battery_low": battery_low,
    }
    rows: list[tuple[Any, ...]] = []
    others: list[int] = []
    for home, count in list_homes(tx, scope).items():
        numbers = find_range(tx, {home: count}) if count >= LARGE_GROUP else None
        if numbers is None:
            others.append(home)
        else:
            place = {"home": home, **numbers._asdict()}
            rows.append((home, *tx.fetch_raw(COUNT_DEVICES_IN_RANGE, values | place)[0]))
    if others:
        values |= {"homes": array_param(tx, others)}
        rows += tx.fetch_raw(COUNT_DEVICES, values, is_planned_by_values=True)
    return [_device_counts(row) for row in sorted(rows, key=lambda row: int(row[0]))]


def _device_counts(row: tuple[Any, ...]) -> GroupDeviceCounts:
    return GroupDeviceCounts(str(row[0]), *row[1:])


def count_drifting(tx: Tx, scope: Scope) -> list[GroupCount]:
    """By group; those with most of them first."""
    rows = tx.fetch_raw(COUNT_DRIFTING, _homes(tx, scope))
    return [GroupCount(str(group), count, since) for group, count, since in rows]


def count_unknown_devices(tx: Tx, scope: Scope, *, is_rejected: bool) -> list[GroupCount]:
    """The same of unknown devices, or of those whose messages were rejected."""
    values = {"rejected": UnknownReason.REJECTED.value, "is_rejected": is_rejected}
    rows = tx.fetch_raw(COUNT_UNKNOWN, _homes(tx, scope) | values)
    return [GroupCount(str(group), count, since) for group, count, since in rows]


def count_connectors(tx: Tx, scope: Scope) -> ConnectorTotals:
    row = tx.fetch_raw(COUNT_CONNECTORS, _homes(tx, scope))[0]
    return ConnectorTotals(*(int(value or 0) for value in row))


def list_connector_numbers(tx: Tx, scope: Scope, most: int) -> list[int]:
    rows = tx.fetch_raw(LIST_CONNECTOR_NUMBERS, _homes(tx, scope) | {"most": most})
    return [row[0] for row in rows]


def list_failing(tx: Tx, scope: Scope, most: int) -> list[ConnectorProblem]:
    """Enabled connectors whose last attempts failed; first what has failed for longest."""
    rows = tx.fetch_raw(LIST_FAILING, _homes(tx, scope) | {"most": most})
    return [_problem(*row) for row in rows]


def list_failing_filters(
    tx: Tx, scope: Scope, purposes: Collection[ChannelPurpose], most: int
) -> list[FailingFilter]:
    """Those that are enabled; first what has failed for longest."""
    values = {"purposes": array_param(tx, [each.value for each in purposes]), "most": most}
    rows = tx.fetch_raw(LIST_FAILING_FILTERS, _homes(tx, scope) | values)
    return [
        FailingFilter(channel_id, ChannelPurpose(purpose), str(home), *rest)
        for channel_id, purpose, home, *rest in rows
    ]


def list_connectors(tx: Tx, numbers: Collection[int]) -> dict[int, ConnectorProblem]:
    rows = tx.fetch_raw(LIST_BY_NUMBER, {"numbers": array_param(tx, numbers)})
    return {row[0]: _problem(*row) for row in rows}


def count_queued(tx: Tx, numbers: Collection[int], most: int) -> int:
    """Messages that wait, counted up to `most`."""
    values = {"numbers": array_param(tx, numbers), "most": most}
    return int(tx.fetch_raw(COUNT_QUEUED, values)[0][0])


def count_dead_letters(tx: Tx, numbers: Collection[int], most: int) -> dict[int, int]:
    """Dead letters by connector, most first, counted up to `most` of all."""
    values = {"numbers": array_param(tx, numbers), "most": most}
    return dict(tx.fetch_raw(COUNT_DEAD_LETTERS, values))


def _problem(
    number: int,
    connector_id: str,
    home: int,
    name: str | None,
    error_at: Moment | None,
    error: str | None,
    failing_since: Moment | None,
) -> ConnectorProblem:
    problem = number, connector_id, str(home), name, error_at, error, failing_since
    return ConnectorProblem(*problem)


def _homes(tx: Tx, scope: Scope) -> dict[str, object]:
    homes = [schema.group_number(group_id) for group_id in scope.group_ids]
    return {"homes": array_param(tx, homes)}
