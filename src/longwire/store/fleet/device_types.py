"""The catalogue of device types: those of all, and those of groups."""

import unicodedata
from collections.abc import Sequence

from longwire.model import DeviceType, Page, PageRequest
from longwire.store import schema
from longwire.store.cache.cache_epochs import PLATFORM
from longwire.store.database import Tx
from longwire.store.fleet import configurations, measurements
from longwire.store.rows import Rows
from longwire.store.statement import Sql, Statement

TYPES = Rows(
    DeviceType,
    schema.device_type,
    "name",
    derived={"name_key": lambda device_type: spell_name(device_type.name)},
)

FIND_SPELLED = Statement(
    """
select name
from device_type
where name_key = :key
limit 1
""",
    into=str,
)

# Waits for those who give the type to a device: their reference locks the row as well.
LOCK = Statement(
    """
select name
from device_type
where name = :name
{lock}
""",
    into=str,
)

_LIST = """
select {columns}
from device_type t
where t.name > :after
    and (t.group_id is null or {is_listed})
order by t.name
limit :most
"""
_COLUMNS = TYPES.sql("t")

LIST_USABLE = Statement(_LIST, columns=_COLUMNS, is_listed="t.group_id {in:groups}")

_IS_AROUND = Sql("""t.group_id in (
        select ancestor_id
        from group_path
        where group_id = :home
    ) or t.group_id in (
        select group_id
        from group_path
        where ancestor_id = :home
    )""")

LIST_AROUND = Statement(_LIST, columns=_COLUMNS, is_listed=_IS_AROUND)

LIST_NAMES_AROUND = Statement(
    """
select t.name
from device_type t
where t.group_id is null
    or {is_around}
""",
    into=str,
    is_around=_IS_AROUND,
)

_HAS_MEMBER_BELOW = """exists (
        select 1
        from member m
        join group_path p
            on p.group_id = m.group_id
            and p.ancestor_id = {home}
        where m.user_id = :user_id
    )"""

LIST_OF_USER = Statement(
    _LIST,
    columns=_COLUMNS,
    is_listed=Sql(
        """exists (
        select 1
        from group_path p
        join member m
            on m.group_id = p.ancestor_id
            and m.user_id = :user_id
        where p.group_id = t.group_id
    ) or {has_member_below}""",
        has_member_below=Sql(_HAS_MEMBER_BELOW, home="t.group_id"),
    ),
)

HAS_MEMBER_BELOW = Statement(
    """
select 1
where {has_member_below}
""",
    has_member_below=Sql(_HAS_MEMBER_BELOW, home=":home"),
)

LIST_USABLE_NAMES = Statement(
    """
select name
from device_type
where group_id is null
    or group_id {in:groups}
order by name
""",
    into=str,
)

LIST_OF_GROUPS = Statement(
    """
select name
from device_type
where group_id {in:groups}
order by name
""",
    into=str,
)

SUM_TEXTS = Statement(
    """
select cast(coalesce(sum(
    length(default_configuration)
    + coalesce(length(decoder_source), 0)
    + coalesce(length(encoder_source), 0)
), 0) as bigint)
from device_type
where group_id = :home
""",
    into=int,
)

LIST_ORPHANED = Statement(
    """
select t.name
from device_type t
where t.group_id is not null
    and not exists (
        select 1
        from device_group g
        where g.id = t.group_id
    )
    and not exists (
        select 1
        from device d
        where d.type = t.name
    )
""",
    into=str,
)


def get(tx: Tx, name: str) -> DeviceType | None:
    return TYPES.get(tx, name)


def is_name_taken(tx: Tx, name: str) -> bool:
    """Whether a type has this name, or one that people would take for it."""
    return bool(tx.fetch(FIND_SPELLED, key=spell_name(name)))


def spell_name(name: str) -> str:
    """The same of names that people would take for one another."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def lock(tx: Tx, name: str) -> None:
    """Until the end of the transaction no device gets the type, and all that got it are seen."""
    tx.fetch(LOCK, name=name)


def list_cache_groups(tx: Tx, name: str) -> Sequence[str]:
    """On which groups depends what is cached of a type."""
    found = TYPES.get(tx, name)
    return [PLATFORM] if found is None or found.group_id is None else [PLATFORM, found.group_id]


# --- lists ---


def list_all(tx: Tx) -> list[DeviceType]:
    return TYPES.list_all(tx, order="name")


def list_page(tx: Tx, request: PageRequest) -> Page[DeviceType]:
    return TYPES.page(tx, request, order="name")


def list_usable(tx: Tx, group_path: Sequence[str], request: PageRequest) -> Page[DeviceType]:
    """Those of all, and of the groups of a path."""
    groups = [schema.group_number(each) for each in group_path]
    return _page(request, tx.fetch(LIST_USABLE, groups=groups, **_range(request)))


def list_around(tx: Tx, group_id: str, request: PageRequest) -> Page[DeviceType]:
    """Those of all, of a group, and of the groups above and below it."""
    home = schema.group_number(group_id)
    return _page(request, tx.fetch(LIST_AROUND, home=home, **_range(request)))


def list_of_user(tx: Tx, user_id: str, request: PageRequest) -> Page[DeviceType]:
    """The same for all groups that a user is a member of."""
    return _page(request, tx.fetch(LIST_OF_USER, user_id=user_id, **_range(request)))


def _range(request: PageRequest) -> dict[str, int | str]:
    return {"after": request.after[0] if request.after else "", "most": request.limit + 1}


def _page(request: PageRequest, rows: Sequence[tuple[object, ...]]) -> Page[DeviceType]:
    found = [TYPES.parse(row) for row in rows[: request.limit]]
    return Page(found, (found[-1].name,) if len(rows) > request.limit else None)


def list_names_around(tx: Tx, group_id: str) -> set[str]:
    """Those of all, of a group, and of the groups above and below it."""
    return set(tx.fetch(LIST_NAMES_AROUND, home=schema.group_number(group_id)))


def has_member_below(tx: Tx, group_id: str, user_id: str) -> bool:
    """Whether a user is a member of a group or of one below it."""
    home = schema.group_number(group_id)
    return bool(tx.fetch(HAS_MEMBER_BELOW, home=home, user_id=user_id))


def list_usable_names(tx: Tx, group_path: Sequence[str]) -> list[str]:
    groups = [schema.group_number(each) for each in group_path]
    return tx.fetch(LIST_USABLE_NAMES, groups=groups)


def list_names_of_groups(tx: Tx, group_ids: Sequence[str]) -> list[str]:
    """The types that belong to some groups."""
    return tx.fetch(LIST_OF_GROUPS, groups=[schema.group_number(each) for each in group_ids])


def sum_texts(tx: Tx, group_id: str) -> int:
    """How large the codecs and configurations of all types of a group are."""
    return tx.fetch(SUM_TEXTS, home=schema.group_number(group_id))[0]


# --- change ---


def insert(tx: Tx, device_type: DeviceType) -> None:
    TYPES.insert(tx, device_type, created_at=tx.now)


def delete_orphaned(tx: Tx) -> None:
    """Delete the types of groups that are gone, unless devices that are to be deleted have them."""
    for name in tx.fetch(LIST_ORPHANED):
        delete(tx, name)


def delete(tx: Tx, name: str) -> bool:
    configurations.delete_of_type(tx, name)
    measurements.delete_of_type(tx, name)
    return TYPES.delete(tx, name)
