"""What has happened lately: changes of objects, and deliveries of connectors. Bounded reads."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from longwire.clock import Moment
from longwire.model import ChannelPurpose
from longwire.store.database import Tx
from longwire.store.delivery.delivery_states import DeliveryState
from longwire.store.statement import Statement

CHANGES_MAX = 1_000
CHANNELS_MAX = 5_000
RECENT_DELIVERIES_MAX = 20_000
WAITING_MAX = 10_000

GET_LAST_CHANGE = Statement("""
select max(id)
from audit
""")

LIST_CHANGES = Statement("""
select id, at, group_id, action, object_id
from audit
where id > :after
order by id
limit :most
""")

LIST_CONNECTORS = Statement(f"""
select number, id, group_id
from channel
where group_id {{in:groups}}
    and purpose = '{ChannelPurpose.CONNECTOR}'
    and deleted_at is null
limit {CHANNELS_MAX}
""")

COUNT_RECENT = Statement(f"""
select channel_number, state, count(*)
from (
    select channel_number, state
    from delivery
    where channel_number {{in:channels}}
        and changed_at >= :begin
        and changed_at < :end
    limit {RECENT_DELIVERIES_MAX}
) recent
group by channel_number, state
""")

COUNT_WAITING = Statement(f"""
select count(*)
from (
    select 1
    from delivery {{index:ix_delivery_open}}
    where channel_number = :channel
        and state < {DeliveryState.SUCCEEDED:d}
    limit {WAITING_MAX}
) waiting
""")


class Change(NamedTuple):
    """An entry of the audit log, in short."""

    id: int
    at: Moment
    group_number: int | None
    action: str
    object_id: str


class WatchedConnector(NamedTuple):
    number: int
    id: str
    group_number: int


def get_last_change_id(tx: Tx) -> int:
    return int(tx.fetch(GET_LAST_CHANGE)[0][0] or 0)


def list_changes(tx: Tx, after: int) -> list[Change]:
    """The changes after one of them, in order, at most `CHANGES_MAX`."""
    rows = tx.fetch(LIST_CHANGES, after=after, most=CHANGES_MAX)
    return [Change(*row) for row in rows]


def list_connectors(tx: Tx, groups: Sequence[int]) -> list[WatchedConnector]:
    rows = tx.fetch(LIST_CONNECTORS, groups=groups)
    return [WatchedConnector(*row) for row in rows]


def count_recent_deliveries(
    tx: Tx, channels: Sequence[int], begin: Moment, end: Moment
) -> Mapping[int, Mapping[int, int]]:
    """How many deliveries came into each state in a period, by channel."""
    values = {"channels": channels, "begin": begin, "end": end}
    counts: dict[int, dict[int, int]] = defaultdict(dict)
    for channel, state, count in tx.fetch(COUNT_RECENT, **values):
        counts[channel][state] = count
    return counts


def count_waiting(tx: Tx, channel: int) -> int:
    """Deliveries that are not done, up to `WAITING_MAX`."""
    return int(tx.fetch(COUNT_WAITING, channel=channel)[0][0])
