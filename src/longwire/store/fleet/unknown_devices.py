"""Unknown devices: ids in messages that no device has which the sender may report for.

There is a row for each id, with its last message, sealed. Each group has so many at most, and so
have all groups of one user together, whatever is sent.
"""

import enum
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.model import Page, PageRequest, Scope
from longwire.seal import UnsealError
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import OnConflict, insert_many
from longwire.store.identity.scopes import fetch_within, for_scopes, get_reach, get_reach_values
from longwire.store.rows import GroupRows
from longwire.store.statement import Statement, build_limited_delete

_table = schema.unknown_device
_COLUMNS = (
    *("group_id", "network", "original_key", "original_id", "quota_user_id"),
    *("reason", "detail", "first_at", "last_at", "messages", "sealed"),
)

# What several processes have counted adds up.
_ADD = OnConflict("""
    original_id = excluded.original_id,
    reason = excluded.reason,
    detail = excluded.detail,
    last_at = excluded.last_at,
    messages = unknown_device.messages + excluded.messages,
    sealed = excluded.sealed
""")

LIST_QUOTA_USERS = Statement("""
select id, quota_user_id
from device_group
where id {in:homes}
    and deleted_at is null
""")

# Of each reason, half of the rows are those that were seen last, and half those that were seen most
# often: a flood of random ids replaces neither itself nor what reports again and again.
DELETE_EXCESS_OF_GROUP = Statement("""
delete from unknown_device
where group_id = :home
    and (network, original_key) in (
        select network, original_key
        from (
            select
                network,
                original_key,
                row_number() over (partition by reason order by last_at desc) as by_time,
                row_number() over (
                    partition by reason order by messages desc, last_at desc
                ) as by_messages
            from unknown_device
            where group_id = :home
        ) ranked
        where by_time > :half
            and by_messages > :half
    )
""")

DELETE_EXCESS_OF_USER = Statement("""
delete from unknown_device
where (group_id, network, original_key) in (
    select group_id, network, original_key
    from unknown_device
    where quota_user_id = :user
    order by last_at desc
    limit :most offset :kept
)
""")

DELETE_OF_DEVICES = Statement("""
delete from unknown_device
where (network, original_key) in (
    select network, original_key
    from device
    where number {in:numbers}
)
""")

# Written at the same moment as the device was created.
DELETE_CREATED = Statement("""
delete from unknown_device
where last_at > :since
    and reason = 'unknown'
    and exists (
        select 1
        from device d
        where d.network = unknown_device.network
            and d.original_key = unknown_device.original_key
    )
""")

DELETE_OLD = build_limited_delete(
    "unknown_device", "group_id, network, original_key", where="last_at < :before", order="last_at"
)

COUNT_BY_REASON = Statement("""
select reason, count(*)
from (
    select reason
    from unknown_device
    limit :most
) u
group by reason
""")


class UnknownReason(enum.StrEnum):
    """Why a message with the token of a group became no record, or one without values."""

    UNKNOWN = "unknown"  # there is no such device
    MALFORMED = "malformed"  # no device can have such an id
    OTHER_GROUP = "other_group"  # the token does not reach the group of the device
    REJECTED = "rejected"  # the device is known, and the message invalid


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """The last message about an unknown device."""

    received_at: Moment
    payload: str  # for people: truncated
    content: bytes | None  # what becomes its records once there is the device; None if too large


@dataclass(frozen=True, slots=True)
class UnknownDevice:
    """An id in messages with the token of a group, which is none of its devices.

    Or that of one of its devices, with messages that are invalid.
    """

    group_id: str
    network: str  # empty for records that an app client has posted
    original_key: str
    original_id: str  # as it was sent last
    reason: UnknownReason
    detail: str | None
    first_at: Moment
    last_at: Moment
    messages: int
    kept: KeptMessage | None


UNKNOWN_DEVICES = GroupRows(UnknownDevice, _table, "group_id", "network", "original_key")

DELETE = for_scopes(
    """
delete from unknown_device
where {within}
    and (cast(:network as text) is null or network = :network)
    and (cast(:original_key as text) is null or original_key = :original_key)
""",
    within={"within": "group_id"},
)

_LIST = """
select {columns}, sealed
from unknown_device
where {within}
    {after}
order by first_at desc, group_id desc, network desc, original_key desc
limit :most
"""
_LISTED = UNKNOWN_DEVICES.sql()
LIST = for_scopes(_LIST, within={"within": "group_id"}, after="", columns=_LISTED)
LIST_AFTER = for_scopes(
    _LIST,
    within={"within": "group_id"},
    after="""and (first_at, group_id, network, original_key)
        < (:after_at, :after_group, :after_network, :after_key)""",
    columns=_LISTED,
)

FIND_LATEST = Statement(
    """
select {columns}, sealed
from unknown_device
where group_id {in:homes}
    and network = :network
    and original_key = :original_key
order by last_at desc
limit 1
""",
    columns=UNKNOWN_DEVICES.sql(),
)


class _Content(msgspec.Struct, frozen=True, array_like=True):
    """What is sealed."""

    received_at: Moment
    payload: str
    content: bytes | None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Content).decode


# --- write ---


def list_quota_users(tx: Tx, group_ids: Collection[str]) -> dict[str, str]:
    """Whose quota groups count for, by their ids; without those that are deleted."""
    homes = [schema.group_number(each) for each in group_ids]
    rows = tx.fetch(LIST_QUOTA_USERS, homes=homes)
    return {str(number): user_id for number, user_id in rows}


def add(tx: Tx, found: Sequence[UnknownDevice], quota_users: Mapping[str, str]) -> None:
    """Add what was seen to the rows of the same ids."""
    rows = [_row(tx, each, quota_users[each.group_id]) for each in found]
    insert_many(tx, _table, _COLUMNS, sorted(rows, key=lambda row: row[:3]), _ADD)


def _row(tx: Tx, found: UnknownDevice, quota_user_id: str) -> tuple[Any, ...]:
    home = schema.group_number(found.group_id)
    sealed = None
    if found.kept is not None:
        content = _Content(found.kept.received_at, found.kept.payload, found.kept.content)
        purpose = get_purpose(home, found.network, found.original_key)
        sealed = tx.keyring.seal_bytes(_encode(content), purpose)
    return (
        *(home, found.network, found.original_key, found.original_id, quota_user_id),
        *(found.reason.value, found.detail, found.first_at, found.last_at, found.messages, sealed),
    )


def get_purpose(group_number: int, network: str, original_key: str) -> str:
    """What the message in a row is sealed for."""
    return f"unknown_device|{group_number}|{network}|{original_key}"


def delete_excess(
    tx: Tx, quota_users: Mapping[str, str], *, per_reason_max: int, per_user_max: int
) -> None:
    """Delete what groups, and the users whose quotas they count for, have too many of."""
    for group_id in sorted(quota_users):
        values = {"home": schema.group_number(group_id), "half": per_reason_max // 2}
        tx.run(DELETE_EXCESS_OF_GROUP, **values)
    for user_id in sorted(set(quota_users.values())):
        tx.run(DELETE_EXCESS_OF_USER, user=user_id, kept=per_user_max, most=per_user_max)


def delete_of_devices(tx: Tx, numbers: Collection[int]) -> None:
    """Delete the rows of ids that devices have: these were created, moved or are to be deleted."""
    tx.run(DELETE_OF_DEVICES, numbers=numbers)


def delete_created(tx: Tx, since: Moment) -> int:
    """Delete those changed since a moment that have a device by now; how many."""
    return tx.run(DELETE_CREATED, since=since)


def prune(tx: Tx, before: Moment, limit: int) -> int:
    """Delete some that were last seen before a moment; how many."""
    return tx.run(DELETE_OLD, before=before, most=limit)


def delete(
    tx: Tx, scope: Scope, *, network: str | None = None, original_key: str | None = None
) -> int:
    """Delete those of the groups in a scope, perhaps of one network or id only; how many."""
    wanted = {"network": network, "original_key": original_key}
    return tx.run(DELETE[get_reach(scope)], **wanted, **get_reach_values(scope))


# --- read ---


def list_page(tx: Tx, scope: Scope, request: PageRequest) -> Page[UnknownDevice]:
    """The newest ids first; what changes with each message does not move them."""
    most = request.limit + 1
    if request.after is None:
        rows = fetch_within(tx, scope, LIST, most=most)
    else:
        at, group_id, network, key = request.after
        place = {"after_at": at, "after_network": network, "after_key": key}
        home = schema.group_number(str(group_id))
        rows = fetch_within(tx, scope, LIST_AFTER, most=most, **place, after_group=home)
    items = [_device(tx, row) for row in rows[: request.limit]]
    if len(rows) == len(items):
        return Page(items)
    last = items[-1]
    return Page(items, (last.first_at, last.group_id, last.network, last.original_key))


def find_kept(
    tx: Tx, group_ids: Collection[str], network: str, original_key: str
) -> UnknownDevice | None:
    """That of an id whose message came last, in some groups."""
    homes = [schema.group_number(each) for each in group_ids]
    row = tx.first(FIND_LATEST, homes=homes, network=network, original_key=original_key)
    return None if row is None else _device(tx, row)


def count_by_reason(tx: Tx, most: int) -> Counter[UnknownReason]:
    """All of the service, counted up to `most`."""
    rows = tx.fetch(COUNT_BY_REASON, most=most)
    return Counter({UnknownReason(reason): count for reason, count in rows})


def _device(tx: Tx, row: Sequence[Any]) -> UnknownDevice:
    found = UNKNOWN_DEVICES.parse(row, kept=None)
    sealed = row[-1]
    return found if sealed is None else replace(found, kept=_unseal(tx, found, sealed))


def _unseal(tx: Tx, found: UnknownDevice, sealed: bytes) -> KeptMessage | None:
    home = schema.group_number(found.group_id)
    purpose = get_purpose(home, found.network, found.original_key)
    try:
        content = _decode(tx.keyring.unseal_bytes(bytes(sealed), purpose))
    except UnsealError:
        return None
    return KeptMessage(content.received_at, content.payload, content.content)
