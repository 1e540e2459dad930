"""Groups, and the tree they form."""

from collections.abc import Iterable, Sequence
from typing import Any

from longwire.clock import Moment
from longwire.model import Actor, Group, Page, PageRequest, Scope
from longwire.store import schema
from longwire.store.cache.cache_epochs import bump_config_epoch
from longwire.store.database import Tx
from longwire.store.identity.scopes import ROOTS, Reach, fetch_within, for_scopes, reaches
from longwire.store.notifications import alarms
from longwire.store.rows import GroupRows
from longwire.store.search_text import search_text
from longwire.store.statement import Sql, Statement

GROUPS = GroupRows(
    Group, schema.group, derived={"name_key": lambda group: search_text(group.name or "")}
)

LOCK = Statement("""
select id
from device_group
where id = :group_id
{postgres:for no key update}
""")
GET_GROUP = Statement(
    """
select {columns}
from device_group
where id = :group_id
""",
    columns=GROUPS.sql(),
)
# By who belongs, in a group or above it; and whether only those at or below a group are listed.
_HOMES = {
    "user": "select member.group_id from member where member.user_id = :user_id",
    "client": "select own.id from device_group own where own.id = :home",
}
LIST_BELONGING = {
    (kind, is_below): for_scopes(
        """
select {columns}
from device_group g
where g.id in (
        select path.group_id
        from group_path path
        where path.ancestor_id in ({homes})
    )
    and {within}
    {below}
    and g.id > :after
order by g.id
limit :most
""",
        within={"within": "g.id"},
        columns=GROUPS.sql("g"),
        homes=homes,
        below="and g.id in (select b.group_id from group_path b where b.ancestor_id = :below)"
        if is_below
        else "",
    )
    for kind, homes in _HOMES.items()
    for is_below in (False, True)
}
_LIST_TREE = """
select {columns}
from device_group g
where g.deleted_at is null
    and {condition}
    and {within}
    {below}
    and (g.name_key, g.id) > (:after_name, :after_id)
order by g.name_key, g.id
limit :most
"""


def _make_tree_list(condition: Sql | str) -> Statement[tuple[Any, ...]]:
    columns = GROUPS.sql("g")
    return Statement(_LIST_TREE, columns=columns, condition=condition, within="1 = 1", below="")


LIST_CHILDREN = _make_tree_list("g.parent_id = :parent")
# Those where the holder's own role has the permission, but none above them.
_IN_ROOTS = """g.id in ({roots})
    and not exists (
        select 1
        from group_path above
        where above.group_id = g.id
            and above.depth > 0
            and above.ancestor_id in ({roots})
    )"""
LIST_TOPMOST = {
    reach: _make_tree_list(condition)
    for reach, condition in (
        (Reach.ALL, Sql("g.parent_id is null")),
        *((reach, Sql(_IN_ROOTS, roots=roots)) for reach, roots in ROOTS.items()),
    )
}
LIST_NAMED = {
    is_below: for_scopes(
        _LIST_TREE,
        within={"within": "g.id"},
        condition="({sqlite:instr}{postgres:strpos}(g.name_key, :text) > 0 or g.id = :id)",
        columns=GROUPS.sql("g"),
        below="""and g.id in (
        select b.group_id
        from group_path b
        where b.ancestor_id = :parent
            and b.depth > 0
    )"""
        if is_below
        else "",
    )
    for is_below in (False, True)
}
COUNT_CHILDREN = Statement("""
select parent_id, count(*)
from device_group
where parent_id {in:group_ids}
group by parent_id
""")
LIST_REACHED = for_scopes(
    """
select id
from device_group
where {within}
limit :most
""",
    within={"within": "id"},
    into=str,
)
LIST_SUBTREE = Statement(
    """
select group_id
from group_path
where ancestor_id = :ancestor
""",
    into=str,
)
COUNT_BELOW = Statement(
    """
select count(*)
from group_path
where ancestor_id = :ancestor
    and depth > 0
""",
    into=int,
)
GET_HEIGHT = Statement(
    """
select coalesce(max(depth), 0)
from group_path
where ancestor_id = :ancestor
""",
    into=int,
)
LIST_AT_OR_BELOW = Statement(
    """
select group_id
from group_path
where ancestor_id = :ancestor
    and group_id {in:group_ids}
""",
    into=str,
)
# The path of a new group: itself, and everything above it.
INSERT_PATH = Statement("""
insert into group_path (ancestor_id, group_id, depth)
select cast(:group_id as bigint), cast(:group_id as bigint), 0
union all
select ancestor_id, cast(:group_id as bigint), depth + 1
from group_path
where group_id = :parent
""")
DELETE_PATHS_ABOVE = Statement("""
delete from group_path
where group_id in (
        select below.group_id
        from group_path below
        where below.ancestor_id = :group_id
    )
    and ancestor_id in (
        select above.ancestor_id
        from group_path above
        where above.group_id = :group_id
            and above.depth > 0
    )
""")
INSERT_PATHS_BELOW = Statement("""
insert into group_path (ancestor_id, group_id, depth)
select up.ancestor_id, down.group_id, up.depth + down.depth + 1
from group_path up
cross join group_path down
where up.group_id = :parent
    and down.ancestor_id = :group_id
""")
SET_PARENT = Statement("""
update device_group
set parent_id = :parent,
    moved_at = :now
where id = :group_id
""")
SET_TOKEN = Statement("""
update device_group
set token_digest = :digest,
    sealed_token = :sealed
where id = :group_id
""")
OWNS_ANY = Statement("""
select 1
from device_group
where owner_id = :user_id
limit 1
""")
LIST_SUBTREE_FROM = Statement("""
select group_id
from group_path
where ancestor_id = :ancestor
    and group_id >= :first
order by group_id
limit :most
""")

# These run for every caller and group whenever permissions have changed.
GET_PATH = Statement("""
select ancestor_id
from group_path
where group_id = :group_id
order by depth
""")
LIST_PATHS = Statement("""
select group_id, ancestor_id
from group_path
where group_id {in:group_ids}
order by group_id, depth
""")
WAS_MOVED_BELOW = Statement("""
select 1
from group_path top
join group_path p
    on p.group_id = top.group_id
    and p.depth < top.depth
join device_group g
    on g.id = p.ancestor_id
where top.ancestor_id = :ancestor
    and top.group_id = :group_id
    and g.moved_at > :since
limit 1
""")
GET_ID_BY_TOKEN = Statement("""
select id
from device_group
where token_digest = :digest
""")
GET_DEFAULT_ROLE_ID = Statement("""
select default_role_id
from device_group
where id = :group_id
""")


def get(tx: Tx, scope: Scope, group_id: str) -> Group | None:
    if not reaches(scope, group_id):
        return None
    rows = tx.fetch(GET_GROUP, group_id=schema.group_number(group_id))
    return GROUPS.parse(rows[0]) if rows else None


def list_page(
    tx: Tx, belonging: Actor, scope: Scope | None, below: str | None, request: PageRequest
) -> Page[Group]:
    """The groups somebody belongs to; within a scope when another one asks; at or below a group."""
    statements = LIST_BELONGING[belonging.kind, below is not None]
    values: dict[str, Any] = {
        "after": 0 if request.after is None else schema.group_number(str(request.after[0])),
        "most": request.limit + 1,
    }
    if belonging.kind == "client":
        values["home"] = schema.group_number(belonging.group_id or "")
    else:
        values["user_id"] = belonging.id
    if below is not None:
        values["below"] = schema.group_number(below)
    if scope is None:
        rows = tx.fetch(statements[Reach.ALL], **values)
    else:
        rows = fetch_within(tx, scope, statements, **values)
    items = [GROUPS.parse(row) for row in rows[: request.limit]]
    return Page(items, (items[-1].id,) if len(rows) > request.limit else None)


def list_tree(
    tx: Tx, scope: Scope, parent_id: str | None, q: str | None, request: PageRequest
) -> Page[Group]:
    """The groups below a parent, else the topmost ones of the scope, by name.

    With a text, all groups of the scope, or below the parent, that have it in their name.
    """
    name, group_id = request.after or ("", "")
    values: dict[str, Any] = {
        "after_name": name,
        "after_id": schema.group_number(str(group_id)) if group_id else 0,
        "most": request.limit + 1,
    }
    if parent_id is not None:
        values["parent"] = schema.group_number(parent_id)
    if q is not None:
        found = {"text": search_text(q), "id": schema.group_number(q)}
        rows = fetch_within(tx, scope, LIST_NAMED[parent_id is not None], **values, **found)
    elif parent_id is not None:
        rows = tx.fetch(LIST_CHILDREN, **values)
    else:
        rows = fetch_within(tx, scope, LIST_TOPMOST, **values)
    items = [GROUPS.parse(row) for row in rows[: request.limit]]
    is_more = len(rows) > request.limit
    return Page(items, (search_text(items[-1].name or ""), items[-1].id) if is_more else None)


def count_children(tx: Tx, group_ids: Sequence[str]) -> dict[str, int]:
    """How many groups are directly below each of some groups."""
    numbers = [schema.group_number(each) for each in group_ids]
    return {str(parent): count for parent, count in tx.fetch(COUNT_CHILDREN, group_ids=numbers)}


def insert(tx: Tx, group: Group, token_digest: bytes) -> None:
    """Insert a group, which counts for the quota of its owner."""
    GROUPS.insert(tx, group, quota_user_id=group.owner_id, token_digest=token_digest)
    parent = None if group.parent_id is None else schema.group_number(group.parent_id)
    tx.run(INSERT_PATH, group_id=schema.group_number(group.id), parent=parent)


def lock(tx: Tx, group_id: str) -> None:
    """Keep others from changing the row until the commit, so that what is read now stays true."""
    tx.fetch(LOCK, group_id=schema.group_number(group_id))


def move(tx: Tx, group_id: str, parent_id: str | None) -> None:
    """Move a subtree below another parent, or make it a root."""
    bump_config_epoch(tx, group_id)  # it inherits the connectors of other groups now
    moved = schema.group_number(group_id)
    parent = None if parent_id is None else schema.group_number(parent_id)
    tx.run(DELETE_PATHS_ABOVE, group_id=moved)
    tx.run(SET_PARENT, group_id=moved, parent=parent, now=tx.now)
    if parent is not None:
        tx.run(INSERT_PATHS_BELOW, group_id=moved, parent=parent)
    alarms.close_out_of_reach(tx, moved)


def get_path(tx: Tx, group_id: str) -> tuple[str, ...]:
    """The group and all above it, nearest first; empty when there is no such group."""
    rows = tx.fetch(GET_PATH, group_id=schema.group_number(group_id))
    return tuple(str(row[0]) for row in rows)


def was_moved_below(tx: Tx, ancestor_id: str, group_id: str, since: Moment) -> bool:
    """Whether a group came below another one only after a moment."""
    values = {
        "ancestor": schema.group_number(ancestor_id),
        "group_id": schema.group_number(group_id),
        "since": since,
    }
    return bool(tx.fetch(WAS_MOVED_BELOW, **values))


def list_paths(tx: Tx, group_ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The paths of many groups."""
    paths: dict[str, list[str]] = {each: [] for each in group_ids}
    numbers = [schema.group_number(each) for each in paths]
    for number, ancestor in tx.fetch(LIST_PATHS, group_ids=numbers):
        paths[str(number)].append(str(ancestor))
    return {group_id: tuple(path) for group_id, path in paths.items()}


def update_token(tx: Tx, group_id: str, digest: bytes, sealed: str) -> None:
    """Keep another network token instead of the one there was."""
    number = schema.group_number(group_id)
    tx.run(SET_TOKEN, group_id=number, digest=digest, sealed=sealed)


def get_id_by_token(tx: Tx, digest: bytes) -> str | None:
    """The group whose network token has this digest."""
    rows = tx.fetch(GET_ID_BY_TOKEN, digest=digest)
    return str(rows[0][0]) if rows else None


def list_reached(tx: Tx, scope: Scope, limit: int) -> list[str]:
    """The groups that a scope reaches."""
    return fetch_within(tx, scope, LIST_REACHED, most=limit)


def list_subtree(tx: Tx, group_id: str) -> list[str]:
    """The group and all below it."""
    return tx.fetch(LIST_SUBTREE, ancestor=schema.group_number(group_id))


def list_subtree_from(tx: Tx, group_id: str, first: int, most: int) -> list[int]:
    """The numbers of the group and those below it, some of them in order from one on."""
    values = {"ancestor": schema.group_number(group_id), "first": first, "most": most}
    return [row[0] for row in tx.fetch(LIST_SUBTREE_FROM, **values)]


def count_below(tx: Tx, group_id: str) -> int:
    return tx.fetch(COUNT_BELOW, ancestor=schema.group_number(group_id))[0]


def get_height(tx: Tx, group_id: str) -> int:
    """How many levels lie below the group."""
    return tx.fetch(GET_HEIGHT, ancestor=schema.group_number(group_id))[0]


def are_within(tx: Tx, group_ids: Iterable[str], ancestor_id: str) -> bool:
    """Whether all the groups lie at or below one."""
    wanted = set(group_ids)
    values = {
        "ancestor": schema.group_number(ancestor_id),
        "group_ids": [schema.group_number(each) for each in wanted],
    }
    return set(tx.fetch(LIST_AT_OR_BELOW, **values)) == wanted


def owns_any(tx: Tx, user_id: str) -> bool:
    """Whether a user owns some group."""
    return tx.first(OWNS_ANY, user_id=user_id) is not None


def get_default_role_id(tx: Tx, group_id: str) -> str | None:
    rows = tx.fetch(GET_DEFAULT_ROLE_ID, group_id=schema.group_number(group_id))
    return rows[0][0] if rows else None
