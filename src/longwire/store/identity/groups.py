"""Groups, the tree they form, and their members."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import Actor, Group, Membership, Page, PageRequest, Scope, User
from longwire.store import schema
from longwire.store.cache.cache_epochs import bump_config_epoch
from longwire.store.database import Tx
from longwire.store.identity.scopes import belongs, reaches, topmost, within
from longwire.store.identity.users import USERS
from longwire.store.notifications import alarms
from longwire.store.paging import page
from longwire.store.rows import GroupRows
from longwire.store.search_text import search_text
from longwire.store.statement import Statement

_table = schema.group
_path = schema.group_path
_member = schema.member

GROUPS = GroupRows(Group, _table, derived={"name_key": lambda group: search_text(group.name or "")})
MEMBERS = GroupRows(Membership, _member, "group_id", "user_id")

# Built once, because building it takes longer than running it.
_LOCK = (
    sa.select(_table.c.id)
    .where(_table.c.id == sa.bindparam("group_id"))
    .with_for_update(key_share=True)
)
GET_GROUP = Statement(
    """
select {columns}
from device_group
where id = :group_id
""",
    columns=GROUPS.sql(),
)
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
LIST_MEMBERSHIPS = Statement("""
select group_id, role_id
from member
where user_id = :user_id
limit :most
""")
LIST_MEMBERSHIPS_IN = Statement(
    """
select group_id, role_id
from member
where user_id = :user_id
    and group_id {in:group_ids}
""",
    is_planned_by_values=True,
)
LIST_ROLE_IDS = Statement("""
select distinct role_id
from member
where user_id = :user_id
""")
# SQLite takes tables in the order of a cross join. Otherwise it reads all groups of somebody for
# each of their groups.
LIST_ROLE_PAIRS = Statement(
    """
select distinct below.role_id, above.role_id
from member below
cross join group_path path
cross join member above
where below.user_id = :user_id
    and path.group_id = below.group_id
    and path.depth > 0
    and above.group_id = path.ancestor_id
    and above.user_id = :user_id
    and above.role_id <> below.role_id
""",
    is_planned_by_values=True,
)
FIND_WITH_PERMISSIONS = Statement(
    """
select below.group_id
from member below
where below.user_id = :user_id
    and below.role_id {in:role_ids}
    and (
        select count(distinct held.permission_id)
        from group_path path
        cross join member above
        cross join role_permission held
        where path.group_id = below.group_id
            and above.group_id = path.ancestor_id
            and above.user_id = :user_id
            and held.role_id = above.role_id
            and held.permission_id {in:permissions}
    ) = :permission_count
limit 1
""",
    is_planned_by_values=True,
)


def get(tx: Tx, scope: Scope, group_id: str) -> Group | None:
    if not reaches(scope, group_id):
        return None
    rows = tx.fetch(GET_GROUP, group_id=schema.group_number(group_id))
    return GROUPS.parse(rows[0]) if rows else None


def list_page(
    tx: Tx, belonging: Actor, scope: Scope | None, below: str | None, request: PageRequest
) -> Page[Group]:
    """The groups somebody belongs to; within a scope when another one asks; at or below a group."""
    statement = GROUPS.select.where(belongs(_table.c.id, belonging))
    if scope is not None:
        statement = statement.where(within(_table.c.id, scope))
    if below is not None:
        subtree = sa.select(_path.c.group_id).where(_path.c.ancestor_id == below)
        statement = statement.where(_table.c.id.in_(subtree))
    return page(tx, statement, [_table.c.id], request, GROUPS.parse)


def list_tree(
    tx: Tx, scope: Scope, parent_id: str | None, q: str | None, request: PageRequest
) -> Page[Group]:
    """The groups below a parent, else the topmost ones of the scope, by name.

    With a text, all groups of the scope, or below the parent, that have it in their name.
    """
    statement = sa.select(*GROUPS.columns, _table.c.name_key).where(_table.c.deleted_at.is_(None))
    if q is not None:
        find = sa.func.strpos if tx.is_postgres else sa.func.instr
        matches = find(_table.c.name_key, search_text(q)) > 0
        statement = statement.where(sa.or_(matches, _table.c.id == q), within(_table.c.id, scope))
        if parent_id is not None:
            below = sa.select(_path.c.group_id).where(
                _path.c.ancestor_id == parent_id, _path.c.depth > 0
            )
            statement = statement.where(_table.c.id.in_(below))
    elif parent_id is not None:
        statement = statement.where(_table.c.parent_id == parent_id)
    else:
        statement = statement.where(topmost(_table.c.id, _table.c.parent_id, scope))
    return page(tx, statement, [_table.c.name_key, _table.c.id], request, GROUPS.parse)


def count_children(tx: Tx, group_ids: Sequence[str]) -> dict[str, int]:
    """How many groups are directly below each of some groups."""
    statement = (
        sa.select(_table.c.parent_id, sa.func.count().label("children"))
        .where(_table.c.parent_id.in_(group_ids))
        .group_by(_table.c.parent_id)
    )
    return {row.parent_id: row.children for row in tx.rows(statement)}


def insert(tx: Tx, group: Group, token_digest: bytes) -> None:
    """Insert a group, which counts for the quota of its owner."""
    GROUPS.insert(tx, group, quota_user_id=group.owner_id, token_digest=token_digest)
    _attach(tx, group.id, group.parent_id)


def lock(tx: Tx, group_id: str) -> None:
    """Keep others from changing the row until the commit, so that what is read now stays true."""
    tx.rows(_LOCK, {"group_id": group_id})


def move(tx: Tx, group_id: str, parent_id: str | None) -> None:
    """Move a subtree below another parent, or make it a root."""
    bump_config_epoch(tx, group_id)  # it inherits the connectors of other groups now
    subtree = sa.select(_path.c.group_id).where(_path.c.ancestor_id == group_id)
    above = sa.select(_path.c.ancestor_id).where(
        _path.c.group_id == group_id, _path.c.ancestor_id != group_id
    )
    tx.execute(
        sa.delete(_path).where(
            _path.c.group_id.in_(subtree.scalar_subquery()),
            _path.c.ancestor_id.in_(above.scalar_subquery()),
        )
    )
    moved = {"parent_id": parent_id, "moved_at": tx.now}
    tx.execute(sa.update(_table).where(_table.c.id == group_id).values(moved))
    if parent_id is not None:
        up, down = _path.alias("up"), _path.alias("down")
        pairs = (
            sa.select(up.c.ancestor_id, down.c.group_id, up.c.depth + down.c.depth + 1)
            .select_from(up.join(down, sa.true()))
            .where(up.c.group_id == parent_id, down.c.ancestor_id == group_id)
        )
        tx.execute(sa.insert(_path).from_select(["ancestor_id", "group_id", "depth"], pairs))
    alarms.close_out_of_reach(tx, schema.group_number(group_id))


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
    changed = {"token_digest": digest, "sealed_token": sealed}
    tx.execute(sa.update(_table).where(_table.c.id == group_id).values(changed))


def get_id_by_token(tx: Tx, digest: bytes) -> str | None:
    """The group whose network token has this digest."""
    rows = tx.fetch(GET_ID_BY_TOKEN, digest=digest)
    return str(rows[0][0]) if rows else None


def list_reached(tx: Tx, scope: Scope, limit: int) -> list[str]:
    """The groups that a scope reaches."""
    statement = sa.select(_table.c.id).where(within(_table.c.id, scope)).limit(limit)
    return list(tx.connection.scalars(statement))


def list_subtree(tx: Tx, group_id: str) -> list[str]:
    """The group and all below it."""
    statement = sa.select(_path.c.group_id).where(_path.c.ancestor_id == group_id)
    return list(tx.connection.scalars(statement))


def list_subtree_from(tx: Tx, group_id: str, first: int, most: int) -> list[int]:
    """The numbers of the group and those below it, some of them in order from one on."""
    values = {"ancestor": schema.group_number(group_id), "first": first, "most": most}
    return [row[0] for row in tx.fetch(LIST_SUBTREE_FROM, **values)]


def count_below(tx: Tx, group_id: str) -> int:
    return tx.count(_path.c.ancestor_id == group_id, _path.c.group_id != group_id)


def get_height(tx: Tx, group_id: str) -> int:
    """How many levels lie below the group."""
    row = tx.row(sa.select(sa.func.max(_path.c.depth)).where(_path.c.ancestor_id == group_id))
    return int(row[0]) if row and row[0] is not None else 0


def are_within(tx: Tx, group_ids: Iterable[str], ancestor_id: str) -> bool:
    """Whether all the groups lie at or below one."""
    wanted = set(group_ids)
    statement = sa.select(_path.c.group_id).where(
        _path.c.ancestor_id == ancestor_id, _path.c.group_id.in_(wanted)
    )
    return {row[0] for row in tx.rows(statement)} == wanted


# --- members ---


def list_memberships(tx: Tx, user_id: str, most: int) -> dict[str, str]:
    """Where a person belongs: some or all groups, with the role in each."""
    rows = tx.fetch(LIST_MEMBERSHIPS, user_id=user_id, most=most)
    return {str(number): role_id for number, role_id in rows}


def list_memberships_in(tx: Tx, user_id: str, group_ids: Iterable[str]) -> dict[str, str]:
    """Those of these groups that a person belongs to, with the role in each."""
    numbers = [schema.group_number(each) for each in group_ids]
    values = {"user_id": user_id, "group_ids": numbers}
    rows = tx.fetch(LIST_MEMBERSHIPS_IN, **values)
    return {str(number): role_id for number, role_id in rows}


def list_role_ids(tx: Tx, user_id: str) -> list[str]:
    """The roles that a person has, in whatever group."""
    return [row[0] for row in tx.fetch(LIST_ROLE_IDS, user_id=user_id)]


def list_role_pairs(tx: Tx, user_id: str) -> list[tuple[Any, ...]]:
    """The different roles that a person has in a group and in one above it."""
    return tx.fetch(LIST_ROLE_PAIRS, user_id=user_id)


def find_with_permissions(
    tx: Tx, user_id: str, role_ids: Collection[str], permissions: Collection[str]
) -> str | None:
    """A group where a person has one of these roles, and all of these permissions on its path."""
    values = {
        "user_id": user_id,
        "role_ids": role_ids,
        "permissions": permissions,
        "permission_count": len(permissions),
    }
    rows = tx.fetch(FIND_WITH_PERMISSIONS, **values)
    return str(rows[0][0]) if rows else None


def owns_any(tx: Tx, user_id: str) -> bool:
    """Whether a user owns some group."""
    statement = sa.select(_table.c.id).where(_table.c.owner_id == user_id).limit(1)
    return tx.row(statement) is not None


def get_default_role_id(tx: Tx, group_id: str) -> str | None:
    rows = tx.fetch(GET_DEFAULT_ROLE_ID, group_id=schema.group_number(group_id))
    return rows[0][0] if rows else None


def get_shared_membership(tx: Tx, scope: Scope, user_id: str) -> Membership | None:
    """A membership of a user in a group within the scope: one that they accepted, if there is."""
    statement = (
        MEMBERS.select.where(_member.c.user_id == user_id, within(_member.c.group_id, scope))
        .order_by(_member.c.accepted_at.is_(None), _member.c.created_at)
        .limit(1)
    )
    row = tx.row(statement)
    return MEMBERS.parse(row) if row else None


def list_invitations(tx: Tx, user_id: str, group_ids: Iterable[str]) -> list[Membership]:
    """The memberships in these groups that a user has not accepted."""
    statement = MEMBERS.select.where(
        _member.c.user_id == user_id,
        _member.c.accepted_at.is_(None),
        _member.c.group_id.in_(list(group_ids)),
    )
    return [MEMBERS.parse(row) for row in tx.rows(statement)]


def is_accepted_member(tx: Tx, user_id: str, group_ids: Iterable[str]) -> bool:
    """Whether a user is a member of one of these groups and has accepted that."""
    statement = sa.select(_member.c.user_id).where(
        _member.c.user_id == user_id,
        _member.c.accepted_at.is_not(None),
        _member.c.group_id.in_(list(group_ids)),
    )
    return tx.row(statement.limit(1)) is not None


def list_members(
    tx: Tx, scope: Scope, group_id: str, request: PageRequest
) -> Page[tuple[User, Membership]]:
    user = schema.user
    statement = (
        sa.select(*USERS.columns, *MEMBERS.columns)
        .join(_member, _member.c.user_id == user.c.id)
        .where(_member.c.group_id == group_id, within(_member.c.group_id, scope))
    )

    def parse(row: sa.Row[Any]) -> tuple[User, Membership]:
        return USERS.parse(row), MEMBERS.parse(row[len(USERS.columns) :])

    return page(tx, statement, [_member.c.created_at, _member.c.user_id], request, parse)


def list_holders(tx: Tx, scope: Scope, group_id: str, permission: str, most: int) -> list[User]:
    """Members who have accepted and whose role in the group has a permission; the oldest first."""
    user, held = schema.user, schema.role_permission
    statement = (
        USERS.select.join(_member, _member.c.user_id == user.c.id)
        .join(held, held.c.role_id == _member.c.role_id)
        .where(
            _member.c.group_id == group_id,
            within(_member.c.group_id, scope),
            _member.c.accepted_at.is_not(None),
            held.c.permission_id == permission,
        )
        .order_by(_member.c.created_at, _member.c.user_id)
        .limit(most)
    )
    return [USERS.parse(row) for row in tx.rows(statement)]


def _attach(tx: Tx, group_id: str, parent_id: str | None) -> None:
    """Write the path of a new group: itself, and everything above its parent."""
    rows = [{"ancestor_id": group_id, "group_id": group_id, "depth": 0}]
    if parent_id is not None:
        rows += [
            {"ancestor_id": ancestor, "group_id": group_id, "depth": depth}
            for depth, ancestor in enumerate(get_path(tx, parent_id), start=1)
        ]
    tx.execute(sa.insert(_path), rows)
