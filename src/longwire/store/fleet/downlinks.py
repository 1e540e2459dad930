"""Downlinks, their states, and the network links that take them.

A downlink is locked before it is changed: a network may report its outcome at the moment at which
it expires or somebody cancels it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

import msgspec

from longwire.clock import Moment
from longwire.model import Downlink, DownlinkState, Page, PageRequest
from longwire.records import DataRecord, parse_data_record
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.delivery.delivery_states import DeliveryState
from longwire.store.rows import Rows
from longwire.store.statement import ByEngine, Statement, build_limited_delete

DOWNLINKS = Rows(Downlink, schema.downlink)

_SELECT_OF_DEVICE = f"""
select {DOWNLINKS.sql()}
from downlink
where device_number = :number"""

LOCK = Statement(f"""{_SELECT_OF_DEVICE}
    and id = :id
{{lock}}
""")

LOCK_BY_REFERENCE = Statement(f"""{_SELECT_OF_DEVICE}
    and (id = :name or reference = :name)
{{lock}}
""")

LOCK_QUEUED_OR_ANSWERED = Statement(f"""{_SELECT_OF_DEVICE}
    and (state = 'queued' or reference = :reference)
order by created_at, id
{{lock}}
""")

LOCK_ANSWERED = Statement(f"""{_SELECT_OF_DEVICE}
    and reference is not null
order by created_at desc, id desc
limit :most
{{lock}}
""")

LOCK_UNACKNOWLEDGED = Statement(f"""{_SELECT_OF_DEVICE}
    and state = 'sent'
    and is_confirmed
    and created_at <= :at
    and expires_at > :at
order by created_at, id
limit 2
{{lock}}
""")

LOCK_OPEN = Statement(f"""{_SELECT_OF_DEVICE}
    and (state = 'queued' or state = 'sent' and is_confirmed and expires_at > :now)
order by created_at, id
limit :most
{{lock}}
""")

LIST_EXPIRIES = Statement("""
select expires_at
from downlink
where device_number = :number
    and expires_at >= :begin
    and expires_at < :end_at
""")

HAS_EXPIRED = Statement("""
select 1
from downlink
where state = 'queued'
    and expires_at <= :now
limit 1
""")

HAS_QUEUED_OR_ANSWERED = Statement("""
select 1
from downlink w
join device d on d.number = w.device_number
where d.id = :device
    and (w.state = 'queued' or w.reference = :reference)
limit 1
""")

HAS_REFERENCE = Statement("""
select 1
from downlink
where device_number = :number
    and (id = :reference or reference = :reference)
limit 1
""")

HAS_ANSWERED = Statement("""
select 1
from downlink
where device_number = :number
    and reference is not null
limit 1
""")

HAS_UNACKNOWLEDGED = Statement("""
select 1
from downlink
where device_number = :number
    and state = 'sent'
    and is_confirmed
    and created_at <= :at
    and expires_at > :at
limit 1
""")

LIST_DATA_BETWEEN = Statement("""
select body
from record_data
where device_number = :number
    and stay = :stay
    and ts > :after
    and ts <= :until
order by ts desc
limit :most
""")

IS_IN_FLIGHT = Statement(f"""
select 1
from downlink w
join delivery d
    on d.seq = w.seq
    and d.channel_number = :channel
    and d.state = {DeliveryState.LEASED:d}
where w.device_number = :number
    and w.state = 'queued'
limit 1
""")

_LOCK = ByEngine(postgres="\norder by id\nfor update")

LOCK_MANY = Statement(
    f"""
select {DOWNLINKS.sql()}
from downlink
where id {{in:ids}}{{lock}}
""",
    lock=_LOCK,
)

LOCK_BY_DELIVERIES = Statement(
    f"""
select {DOWNLINKS.sql()}
from downlink
where device_number {{in:numbers}}
    and seq {{in:seqs}}{{lock}}
""",
    lock=_LOCK,
)

UPDATE_STATES = Statement("""
update downlink
set state = :state,
    detail = :detail,
    reference = :reference,
    updated_at = :now
where id {in:ids}
""")

GET_PENDING = Statement(f"""
select {DOWNLINKS.sql("w")}, d.original_id, d.group_id = w.group_id, l.url, l.sealed_key
from downlink w
join device d
    on d.number = w.device_number
left join network_link l
    on l.device_number = w.device_number
where w.id = :id
    and d.id = :device
""")

GET_LINK = Statement("""
select l.url, l.sealed_key, l.updated_at
from network_link l
join device d on d.number = l.device_number
where d.id = :device
""")

SAVE_LINK = Statement("""
insert into network_link (device_number, url, sealed_key, updated_at)
values (:number, :url, :key, :now)
on conflict (device_number) do update
set url = excluded.url,
    sealed_key = excluded.sealed_key,
    updated_at = excluded.updated_at
""")

DELETE_LINK = Statement("""
delete from network_link
where url = :url
    and device_number = (select number from device where id = :device)
""")

DELETE_LINKS = Statement("""
delete from network_link
where device_number = :number
""")

ENDED = ("sent", "acknowledged", "failed", "expired", "cancelled")
PRUNE = build_limited_delete(
    "downlink", "id", where="state {in:ended} and expires_at < :before and updated_at < :before"
)


def list_page(tx: Tx, number: int, group_id: str, request: PageRequest) -> Page[Downlink]:
    """The downlinks of a device that a group requested, newest first."""
    of_group = {"device_number": number, "group_id": group_id}
    return DOWNLINKS.page(tx, request, order="-created_at id", **of_group)


def count_queued(tx: Tx, number: int, group_id: str) -> int:
    """How many downlinks that a group requested are queued for a device."""
    return DOWNLINKS.count(tx, device_number=number, group_id=group_id, state="queued")


def list_expiries(tx: Tx, number: int, begin: Moment, end: Moment) -> set[Moment]:
    """The expiries of downlinks of a device in a period."""
    values = {"number": number, "begin": begin, "end_at": end}
    return {row[0] for row in tx.fetch(LIST_EXPIRIES, **values)}


# --- locked for a change ---


def get(tx: Tx, number: int, downlink_id: str) -> Downlink | None:
    row = tx.first(LOCK, number=number, id=downlink_id)
    return DOWNLINKS.parse(row) if row else None


def lock_many(tx: Tx, downlink_ids: Collection[str]) -> dict[str, Downlink]:
    """Downlinks of any device, by their ids."""
    rows = tx.fetch(LOCK_MANY, ids=downlink_ids)
    return {each.id: each for each in map(DOWNLINKS.parse, rows)}


def lock_by_deliveries(
    tx: Tx, deliveries: Collection[tuple[int, int]]
) -> dict[tuple[int, int], Downlink]:
    """The downlinks that deliveries send, by device number and sequence number."""
    if not deliveries:
        return {}
    values = {
        "numbers": {number for number, _ in deliveries},
        "seqs": {seq for _, seq in deliveries},
    }
    found = map(DOWNLINKS.parse, tx.fetch(LOCK_BY_DELIVERIES, **values))
    return {(each.device_number, each.seq): each for each in found if each.seq is not None}


def get_by_reference(tx: Tx, number: int, name: str) -> Downlink | None:
    """The downlink of an id of ours or of the network's."""
    row = tx.first(LOCK_BY_REFERENCE, number=number, name=name)
    return DOWNLINKS.parse(row) if row else None


def lock_queued_or_answered(tx: Tx, number: int, reference: str) -> list[Downlink]:
    """What is queued for a device, and what was sent in response to this uplink; oldest first.

    A concurrent request for the same uplink waits here, and finds it answered.
    """
    rows = tx.fetch(LOCK_QUEUED_OR_ANSWERED, number=number, reference=reference)
    return [DOWNLINKS.parse(row) for row in rows]


def lock_answered(tx: Tx, number: int, most: int) -> list[Downlink]:
    """What a device was last sent in response to its uplinks, newest first."""
    return [DOWNLINKS.parse(row) for row in tx.fetch(LOCK_ANSWERED, number=number, most=most)]


def lock_unacknowledged(tx: Tx, number: int, at: Moment) -> list[Downlink]:
    """Up to two of the confirmed downlinks that a device may acknowledge at a moment."""
    return [DOWNLINKS.parse(row) for row in tx.fetch(LOCK_UNACKNOWLEDGED, number=number, at=at)]


def lock_open(tx: Tx, number: int, most: int) -> list[Downlink]:
    """Downlinks of a device that are queued, or that it has yet to acknowledge; oldest first."""
    rows = tx.fetch(LOCK_OPEN, number=number, now=tx.now, most=most)
    return [DOWNLINKS.parse(row) for row in rows]


class ExpiredDownlink(msgspec.Struct, frozen=True):
    """A downlink that expired before it was sent."""

    downlink_id: str
    device_id: str
    network: str


LIST_EXPIRED = Statement(
    """
select w.id, d.id, d.network
from downlink w
join device d
    on d.number = w.device_number
where w.state = 'queued'
    and w.expires_at <= :now
order by w.expires_at, w.id
limit :most
""",
    into=ExpiredDownlink,
)


class TakenDownlink(msgspec.Struct, frozen=True):
    """A downlink that a network has taken, and its device."""

    id: str
    expires_at: Moment
    detail: str | None
    reference: str | None
    updated_at: Moment
    device_id: str
    network: str
    original_id: str
    is_at_home: bool  # its device is in the group that has asked for it


# By the index of those that expire, of which only those that were sent are read.
LIST_TAKEN = Statement(
    """
select w.id, w.expires_at, w.detail, w.reference, w.updated_at, d.id, d.network, d.original_id,
    d.group_id = w.group_id
from downlink w
join device d
    on d.number = w.device_number
where w.state = 'sent'
    and w.expires_at >= :after_at
    and (w.expires_at, w.id) > (:after_at, :after_id)
order by w.expires_at, w.id
limit :most
""",
    into=TakenDownlink,
)


def list_taken(tx: Tx, after: tuple[Moment, str], most: int) -> list[TakenDownlink]:
    """Those that networks have taken and that expire later, a page; also of later stages."""
    return tx.fetch(LIST_TAKEN, after_at=after[0], after_id=after[1], most=most)


def list_expired(tx: Tx, most: int) -> list[ExpiredDownlink]:
    """Expired downlinks, not locked: their devices are locked first."""
    return tx.fetch(LIST_EXPIRED, now=tx.now, most=most)


def has_expired(tx: Tx) -> bool:
    return bool(tx.fetch(HAS_EXPIRED, now=tx.now))


def update_states(tx: Tx, changed: Iterable[Downlink]) -> None:
    """Update the states, with one statement for all that are alike."""
    alike: dict[tuple[DownlinkState, str | None, str | None], list[str]] = defaultdict(list)
    for each in changed:
        alike[each.state, each.detail, each.reference].append(each.id)
    for (state, detail, reference), ids in alike.items():
        values = {"state": state, "detail": detail, "reference": reference, "now": tx.now}
        tx.run(UPDATE_STATES, **values, ids=ids)


# --- checks without a lock ---


def has_queued_or_answered(tx: Tx, device_id: str, reference: str) -> bool:
    """Whether anything is queued for a device, or was sent in response to this uplink."""
    values = {"device": device_id, "reference": reference}
    return bool(tx.fetch(HAS_QUEUED_OR_ANSWERED, **values))


def has_reference(tx: Tx, number: int, names: Sequence[str]) -> bool:
    """Whether any of these is the id or reference of a downlink of a device."""
    return any(tx.fetch(HAS_REFERENCE, number=number, reference=each) for each in names)


def has_answered(tx: Tx, number: int) -> bool:
    """Whether any uplink of a device was answered with a downlink."""
    return bool(tx.fetch(HAS_ANSWERED, number=number))


def has_unacknowledged(tx: Tx, number: int, at: Moment) -> bool:
    """Whether a device may acknowledge a confirmed downlink at a moment."""
    return bool(tx.fetch(HAS_UNACKNOWLEDGED, number=number, at=at))


def list_data_between(
    tx: Tx, number: int, stay: int, after: Moment, until: Moment, most: int
) -> list[DataRecord]:
    """The last data records of a device after one moment and up to another."""
    values = {"number": number, "stay": stay, "after": after, "until": until, "most": most}
    return [parse_data_record(row[0]) for row in tx.fetch(LIST_DATA_BETWEEN, **values)]


def is_in_flight(tx: Tx, number: int, channel_number: int) -> bool:
    """Whether a downlink of this device is being sent to its network."""
    return bool(tx.fetch(IS_IN_FLIGHT, number=number, channel=channel_number))


class PendingDownlink(msgspec.Struct, frozen=True):
    """A downlink with what is needed to send it to its network."""

    downlink: Downlink
    original_id: str
    is_at_home: bool  # whether its device is still in the group that asked for it
    url: str | None
    sealed_key: str | None


def get_pending(tx: Tx, device_id: str, downlink_id: str) -> PendingDownlink | None:
    row = tx.first(GET_PENDING, id=downlink_id, device=device_id)
    if row is None:
        return None
    original_id, is_at_home, url, sealed_key = row[len(DOWNLINKS.columns) :]
    return PendingDownlink(DOWNLINKS.parse(row), original_id, bool(is_at_home), url, sealed_key)


# --- links ---


class NetworkLink(msgspec.Struct, frozen=True):
    """Where a network accepts downlinks to a device."""

    url: str
    sealed_key: str
    updated_at: Moment = 0


def get_link(tx: Tx, device_id: str) -> NetworkLink | None:
    rows = tx.fetch(GET_LINK, device=device_id)
    return NetworkLink(*rows[0]) if rows else None


def save_link(tx: Tx, number: int, link: NetworkLink) -> None:
    values = {"number": number, "url": link.url, "key": link.sealed_key, "now": tx.now}
    tx.run(SAVE_LINK, **values)


def delete_link(tx: Tx, device_id: str, url: str) -> None:
    """Stop sending downlinks of a device there."""
    tx.run(DELETE_LINK, url=url, device=device_id)


def delete_links(tx: Tx, number: int) -> None:
    """Wait for the next link of a network."""
    tx.run(DELETE_LINKS, number=number)


# --- retention ---


def prune(tx: Tx, before: Moment, most: int) -> int:
    """Delete what ended before a moment; how many."""
    return tx.run(PRUNE, ended=ENDED, before=before, most=most)
