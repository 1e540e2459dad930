"""Counts of the devices and connectors of groups, and which of them need attention."""

from collections.abc import Collection
from typing import Any

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.model import ChannelPurpose, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.delivery.delivery_states import DeliveryState
from longwire.store.engines.number_ranges import find_range, is_in_range, list_homes
from longwire.store.fleet.unknown_devices import UnknownReason
from longwire.store.statement import Statement

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

COUNT_DEVICES = Statement(
    f"""
select s.group_id,{_COUNTS} {{index:ix_device_state_group_id_device_number}}
where s.group_id {{in:homes}}
group by s.group_id
order by s.group_id
""",
    is_planned_by_values=True,
)

COUNT_DEVICES_IN_RANGE = Statement(f"""
select{_COUNTS}
where {is_in_range("s.group_id", "s.device_number", is_one_group=True)}
""")

COUNT_DRIFTING = Statement("""
select group_id, count(*), min(drifted_at)
from device
where group_id {in:homes}
    and drifted_at is not null
group by group_id
order by 2 desc, group_id
""")

COUNT_UNKNOWN = Statement("""
select group_id, count(*), min(first_at)
from unknown_device
where group_id {in:homes}
    and (reason = :rejected) = :is_rejected
group by group_id
order by 2 desc, group_id
""")

COUNT_GROUPS = Statement("""
select coalesce(sum(device_count), 0)
from device_group
where id {in:homes}
""")

_CONNECTORS = f"""
from channel c
where c.group_id {{in:homes}}
    and c.purpose = '{ChannelPurpose.CONNECTOR}'
    and c.deleted_at is null"""

COUNT_CONNECTORS = Statement(f"""
select
    count(*),
    sum(case when c.is_enabled then 1 else 0 end),
    sum(case when c.is_enabled and c.failures > 0 then 1 else 0 end){_CONNECTORS}
""")

LIST_CONNECTOR_NUMBERS = Statement(
    f"""
select c.number{_CONNECTORS}
order by c.number
limit :most
""",
    into=int,
)

_SELECT_CONNECTOR = """
select c.number, c.id, c.group_id, n.name, c.error_at, c.error_message, c.failing_since
from channel c
join connector n on n.channel_number = c.number"""

LIST_FAILING = Statement(f"""{_SELECT_CONNECTOR}
where c.group_id {{in:homes}}
    and c.deleted_at is null
    and c.is_enabled
    and c.failures > 0
order by coalesce(c.failing_since, c.error_at), c.number
limit :most
""")

LIST_FAILING_FILTERS = Statement("""
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
where c.group_id {in:homes}
    and c.deleted_at is null
    and c.is_enabled
    and c.purpose {in:purposes}
    and c.filter_failing_since is not null
order by c.filter_failing_since, c.number
limit :most
""")

LIST_BY_NUMBER = Statement(f"""{_SELECT_CONNECTOR}
where c.number {{in:numbers}}
order by c.number
""")

COUNT_QUEUED = Statement(f"""
select count(*)
from (
    select 1
    from delivery {{index:ix_delivery_due}}
    where channel_number {{in:numbers}}
        and state = {DeliveryState.QUEUED:d}
    limit :most
) d
""")

COUNT_DEAD_LETTERS = Statement(f"""
select channel_number, count(*)
from (
    select channel_number
    from delivery {{index:ix_delivery_failed}}
    where channel_number {{in:numbers}}
        and state = {DeliveryState.FAILED:d}
    limit :most
) d
group by channel_number
order by 2 desc, channel_number
""")


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
    return int(tx.fetch(COUNT_GROUPS, **_homes(scope))[0][0])


def count_devices(
    tx: Tx, scope: Scope, *, hour_ago: Moment, day_ago: Moment, battery_low: int
) -> list[GroupDeviceCounts]:
    """Look at the state of every device; one result for each group that has any."""
    values: dict[str, Any] = {
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
            rows.append((home, *tx.fetch(COUNT_DEVICES_IN_RANGE, **values, **place)[0]))
    if others:
        values |= {"homes": others}
        rows += tx.fetch(COUNT_DEVICES, **values)
    return [_device_counts(row) for row in sorted(rows, key=lambda row: int(row[0]))]


def _device_counts(row: tuple[Any, ...]) -> GroupDeviceCounts:
    return GroupDeviceCounts(str(row[0]), *row[1:])


def count_drifting(tx: Tx, scope: Scope) -> list[GroupCount]:
    """By group; those with most of them first."""
    rows = tx.fetch(COUNT_DRIFTING, **_homes(scope))
    return [GroupCount(str(group), count, since) for group, count, since in rows]


def count_unknown_devices(tx: Tx, scope: Scope, *, is_rejected: bool) -> list[GroupCount]:
    """The same of unknown devices, or of those whose messages were rejected."""
    values = {"rejected": UnknownReason.REJECTED.value, "is_rejected": is_rejected}
    rows = tx.fetch(COUNT_UNKNOWN, **_homes(scope), **values)
    return [GroupCount(str(group), count, since) for group, count, since in rows]


def count_connectors(tx: Tx, scope: Scope) -> ConnectorTotals:
    row = tx.fetch(COUNT_CONNECTORS, **_homes(scope))[0]
    return ConnectorTotals(*(int(value or 0) for value in row))


def list_connector_numbers(tx: Tx, scope: Scope, most: int) -> list[int]:
    return tx.fetch(LIST_CONNECTOR_NUMBERS, **_homes(scope), most=most)


def list_failing(tx: Tx, scope: Scope, most: int) -> list[ConnectorProblem]:
    """Enabled connectors whose last attempts failed; first what has failed for longest."""
    rows = tx.fetch(LIST_FAILING, **_homes(scope), most=most)
    return [_problem(*row) for row in rows]


def list_failing_filters(
    tx: Tx, scope: Scope, purposes: Collection[ChannelPurpose], most: int
) -> list[FailingFilter]:
    """Those that are enabled; first what has failed for longest."""
    values = {"purposes": [each.value for each in purposes], "most": most}
    rows = tx.fetch(LIST_FAILING_FILTERS, **_homes(scope), **values)
    return [
        FailingFilter(channel_id, ChannelPurpose(purpose), str(home), *rest)
        for channel_id, purpose, home, *rest in rows
    ]


def list_connectors(tx: Tx, numbers: Collection[int]) -> dict[int, ConnectorProblem]:
    rows = tx.fetch(LIST_BY_NUMBER, numbers=numbers)
    return {row[0]: _problem(*row) for row in rows}


def count_queued(tx: Tx, numbers: Collection[int], most: int) -> int:
    """Messages that wait, counted up to `most`."""
    values = {"numbers": numbers, "most": most}
    return int(tx.fetch(COUNT_QUEUED, **values)[0][0])


def count_dead_letters(tx: Tx, numbers: Collection[int], most: int) -> dict[int, int]:
    """Dead letters by connector, most first, counted up to `most` of all."""
    values = {"numbers": numbers, "most": most}
    return dict(tx.fetch(COUNT_DEAD_LETTERS, **values))


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


def _homes(scope: Scope) -> dict[str, object]:
    homes = [schema.group_number(group_id) for group_id in scope.group_ids]
    return {"homes": homes}
