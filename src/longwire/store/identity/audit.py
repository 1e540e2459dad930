"""The audit log: one row for every change, in the transaction of the change."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.model import Actor, AuditEntry, Page, PageRequest, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import insert_many
from longwire.store.identity.scopes import fetch_within, for_scopes, reaches
from longwire.store.rows import GroupRows
from longwire.store.statement import Sql, Statement

# What a row keeps of the fields before and after, in bytes of JSON.
CHANGES_BYTES_MAX = 16 * 1024
# A page reads no more rows than this, however few of them match.
SCAN_BATCH = 500
SCAN_MAX = 2_000
CHUNK_MIN = 2
_AT_MAX = 2**62

_COLUMNS = (
    "at",
    "actor_kind",
    "actor_id",
    "action",
    "object_id",
    "object_name",
    "group_id",
    "address",
    "request_id",
    "detail",
    "changes",
    "issued_by",
)
ENTRIES = GroupRows(AuditEntry, schema.audit)
_SELECTED = ENTRIES.sql("a")

GET_MOMENT = for_scopes(
    """
select at
from audit
where id = :id
    and {within}
""",
    within={"within": "audit.group_id"},
    into=int,
)

LIST_OF_ACTIONS = Statement(
    """
select {columns}
from audit a
where a.object_id = :object
    and a.at >= :since
    and a.action {in:actions}
    and not (a.detail {in:excluded})
order by a.at desc, a.id desc
limit :most
""",
    columns=_SELECTED,
)

_SHOWN = (
    *("id", "at", "actor_kind", "actor_id", "action", "object_id", "group_id", "address"),
    *("request_id", "detail", "issued_by"),
)
LIST_LATEST = Statement(
    """
select {columns}
from audit
order by id desc
limit :most
""",
    columns=", ".join(_SHOWN),
)
LIST_LATEST_OF_GROUP = Statement(
    """
select {columns}
from audit
where group_id = :home
order by at desc, id desc
limit :most
""",
    columns=", ".join(_SHOWN),
)

# By id, which is their order, so that no index by time is needed.
PRUNE = Statement("""
delete from audit
where id in (
    select id
    from (
        select id, at
        from audit
        order by id
        limit :most
    ) oldest
    where at < :before
)
""")

_NEWEST_OF_GROUP = """where a.group_id = {group}
        and a.at >= :begin
        and (a.at, a.id) < (:at, :id)
    order by a.at desc, a.id desc
    limit {most}"""

LIST_OF_GROUP = Statement(
    """
select {columns}
from audit a
{newest}
""",
    columns=_SELECTED,
    newest=Sql(_NEWEST_OF_GROUP, group=":home", most=":most"),
)

# An object may have been in several groups: the last column says whether this one is meant.
LIST_OF_OBJECT = Statement(f"""
select {_SELECTED}, p.depth
from audit a
left join group_path p
    on p.ancestor_id = :home
    and p.group_id = a.group_id
where a.object_id = :object
    and a.at >= :begin
    and (a.at, a.id) < (:at, :id)
order by a.at desc, a.id desc
limit :most
""")

# The newest row of each group of a tree, the newest of them first. Beyond `most` groups no other
# group has one of the next `most` rows.
LIST_NEWEST_OF_GROUPS = Statement(
    """
select {columns}
from (
    select (
        select a.id
        from audit a
        {newest_one}
    ) as id
    from group_path p
    where p.ancestor_id = :home
) newest
join audit a on a.id = newest.id
order by a.at desc, a.id desc
limit :most
""",
    columns=_SELECTED,
    newest_one=Sql(_NEWEST_OF_GROUP, group="p.group_id", most="1"),
)

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text with secrets: compared as it is, logged as it is shown."""

    text: str
    shown: str


@dataclass(frozen=True, slots=True)
class AuditedObject:
    """What was changed: its id, its name, and its fields before and after.

    Without fields before it was created, without fields after it was deleted.
    """

    id: str
    name: str | None = None
    before: Fields | None = None
    after: Fields | None = None


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries of the audit log."""

    group_id: str
    subgroups: bool = False
    object_id: str | None = None
    actor_id: str | None = None
    action: str | None = None
    begin: Moment | None = None
    end: Moment | None = None
    request_id: str | None = None

    @property
    def is_selective(self) -> bool:
        """Whether rows may be read that are not wanted."""
        wanted = (self.object_id, self.actor_id, self.action, self.request_id)
        return any(each is not None for each in wanted)


def log(
    tx: Tx,
    actor: Actor,
    action: str,
    object_id: str,
    *,
    group_id: str | None = None,
    detail: str = "",
    name: str | None = None,
    before: Fields | None = None,
    after: Fields | None = None,
) -> None:
    """Log that `actor` did `action` to `object_id`. Never pass a secret unless it is masked."""
    changed = AuditedObject(object_id, name, before, after)
    log_many(tx, actor, action, [changed], group_id=group_id, detail=detail)


def log_many(
    tx: Tx,
    actor: Actor,
    action: str,
    objects: Iterable[AuditedObject],
    *,
    group_id: str | None = None,
    detail: str = "",
) -> None:
    """The same for many objects of a group."""
    group = None if group_id is None else schema.group_number(group_id)
    insert_many(
        tx,
        schema.audit,
        _COLUMNS,
        [
            (
                tx.now,
                actor.kind,
                actor.id,
                action,
                each.id,
                each.name,
                group,
                tx.origin.address,
                tx.origin.request_id,
                detail,
                encode_changes(each.before, each.after),
                tx.origin.issued_by,
            )
            for each in objects
        ],
    )


def encode_changes(before: Fields | None, after: Fields | None) -> str | None:
    """The fields that differ, as JSON; those that are too large are only named."""
    names = list((before if after is None else after) or ())
    if before is not None and after is not None:
        names = [name for name in names if before.get(name) != after[name]]
    sides = {side: fields for side, fields in (("before", before), ("after", after)) if fields}
    shown = {
        name: {side: _encode_value(fields.get(name)) for side, fields in sides.items()}
        for name in names
    }
    sizes = {name: sum(map(len, values.values())) + 2 * len(name) for name, values in shown.items()}
    omitted: list[str] = []
    while sum(sizes.values()) > CHANGES_BYTES_MAX:
        largest = max(sizes, key=lambda name: sizes[name])
        del sizes[largest], shown[largest]
        omitted.append(largest)
    if not shown and not omitted:
        return None
    changes: dict[str, Any] = {
        side: {name: msgspec.Raw(values[side]) for name, values in shown.items()} for side in sides
    }
    return _encode(changes | ({"omitted": sorted(omitted)} if omitted else {})).decode()


_encode = msgspec.json.Encoder().encode


def _encode_value(value: Any) -> bytes:
    return _encode(value.shown if isinstance(value, MaskedText) else value)


# --- read ---


def list_page(tx: Tx, scope: Scope, wanted: AuditFilter, request: PageRequest) -> Page[AuditEntry]:
    """The entries of a group, perhaps with those of the groups below; newest first.

    There may be more behind a page that is short, or empty: it ends where it has read enough.
    """
    if not reaches(scope, wanted.group_id):
        return Page([])
    end = _AT_MAX if wanted.end is None else wanted.end
    after: tuple[int | str, ...] = request.after or (end, 0)
    most = SCAN_BATCH if wanted.is_selective else min(request.limit + 1, SCAN_BATCH)
    found: list[AuditEntry] = []
    for _ in range(0, SCAN_MAX, most):
        rows = _read_batch(tx, wanted, after, most)
        for entry in rows:
            if len(found) == request.limit:
                return Page(found, after)
            after = (entry.at, entry.id)
            if _matches(entry, wanted):
                found.append(entry)
        if len(rows) < most:
            return Page(found)
    return Page(found, after)


def find_key(tx: Tx, scope: Scope, entry_id: int) -> tuple[Moment, int] | None:
    """The key of an entry in the order of the list."""
    found = fetch_within(tx, scope, GET_MOMENT, id=entry_id)
    return (found[0], entry_id) if found else None


def _read_batch(
    tx: Tx, wanted: AuditFilter, after: tuple[int | str, ...], most: int
) -> list[AuditEntry]:
    """The next rows, whoever made them; of an object also those of other groups, without id."""
    at, last = after
    values = {
        "home": schema.group_number(wanted.group_id),
        "begin": 0 if wanted.begin is None else wanted.begin,
        "at": at,
        "id": last,
        "most": most,
    }
    if wanted.object_id is not None:
        rows = tx.fetch(LIST_OF_OBJECT, **values, object=wanted.object_id)
        return [ENTRIES.parse(row, depth=row[-1]) for row in rows]
    if not wanted.subgroups:
        return [ENTRIES.parse(row) for row in tx.fetch(LIST_OF_GROUP, **values)]
    newest = [ENTRIES.parse(row) for row in tx.fetch(LIST_NEWEST_OF_GROUPS, **values)]
    groups = [_walk_group(tx, each, values) for each in newest]
    return list(islice(merge(*groups, key=_key, reverse=True), most))


def _walk_group(tx: Tx, newest: AuditEntry, values: Mapping[str, Any]) -> Iterator[AuditEntry]:
    """The entries of a group from its newest on, read as they are needed: at first few."""
    yield newest
    entry, most, found = newest, CHUNK_MIN, CHUNK_MIN
    while found == most:
        most = min(most * 4, SCAN_BATCH)
        place = {"home": schema.group_number(entry.group_id or ""), "at": entry.at, "id": entry.id}
        rows = tx.fetch(LIST_OF_GROUP, **{**values, **place, "most": most})
        for row in rows:
            entry = ENTRIES.parse(row)
            yield entry
        found = len(rows)


def _key(entry: AuditEntry) -> tuple[Moment, int]:
    return entry.at, entry.id


def _matches(entry: AuditEntry, wanted: AuditFilter) -> bool:
    if wanted.object_id is not None and (
        entry.depth is None or (entry.depth > 0 and not wanted.subgroups)
    ):
        return False
    return (
        wanted.actor_id in (None, entry.actor_id)
        and wanted.action in (None, entry.action)
        and wanted.request_id in (None, entry.request_id)
    )


def list_latest_of_object(
    tx: Tx,
    object_id: str,
    actions: Collection[str],
    excluded_details: Collection[str],
    *,
    since: Moment,
    limit: int,
) -> list[AuditEntry]:
    """The newest entries of some actions on an object, in whatever group."""
    rows = tx.fetch(
        LIST_OF_ACTIONS,
        object=object_id,
        since=since,
        actions=list(actions),
        excluded=list(excluded_details),
        most=limit,
    )
    return [ENTRIES.parse(row) for row in rows]


def list_latest(tx: Tx, limit: int, *, group_id: str | None = None) -> list[dict[str, object]]:
    """The newest rows first, for the operator."""
    if group_id is None:
        rows = tx.fetch(LIST_LATEST, most=limit)
    else:
        rows = tx.fetch(LIST_LATEST_OF_GROUP, home=schema.group_number(group_id), most=limit)
    return [_shown(row) for row in rows]


def _shown(row: Sequence[Any]) -> dict[str, object]:
    shown = dict(zip(_SHOWN, row, strict=True))
    group = shown["group_id"]
    return shown | {"group_id": None if group is None else str(group)}


def prune(tx: Tx, before: Moment, most: int) -> int:
    """Delete some of the rows before a moment, the oldest first; how many."""
    return tx.run(PRUNE, before=before, most=most)
