"""Members of groups: who belongs where, with which role."""

from collections.abc import Collection, Iterable
from typing import Any

from longwire.model import Membership, Page, PageRequest, Scope, User
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.identity.scopes import fetch_within, for_scopes
from longwire.store.identity.users import USERS
from longwire.store.rows import GroupRows
from longwire.store.statement import Statement

MEMBERS = GroupRows(Membership, schema.member, "group_id", "user_id")
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
GET_SHARED_MEMBERSHIP = for_scopes(
    """
select {columns}
from member m
where m.user_id = :user_id
    and {within}
order by m.accepted_at is null, m.created_at
limit 1
""",
    within={"within": "m.group_id"},
    columns=MEMBERS.sql("m"),
)
LIST_INVITATIONS = Statement(
    """
select {columns}
from member
where user_id = :user_id
    and accepted_at is null
    and group_id {in:group_ids}
""",
    columns=MEMBERS.sql(),
)
IS_ACCEPTED_MEMBER = Statement("""
select 1
from member
where user_id = :user_id
    and accepted_at is not null
    and group_id {in:group_ids}
limit 1
""")
LIST_MEMBERS = for_scopes(
    """
select {users}, {members}
from member m
join user_account u
    on u.id = m.user_id
where m.group_id = :home
    and {within}
    and (m.created_at, m.user_id) > (:after_created_at, :after_user_id)
order by m.created_at, m.user_id
limit :most
""",
    within={"within": "m.group_id"},
    users=USERS.sql("u"),
    members=MEMBERS.sql("m"),
)
LIST_HOLDERS = for_scopes(
    """
select {columns}
from member m
join user_account u
    on u.id = m.user_id
join role_permission held
    on held.role_id = m.role_id
where m.group_id = :home
    and {within}
    and m.accepted_at is not null
    and held.permission_id = :held
order by m.created_at, m.user_id
limit :most
""",
    within={"within": "m.group_id"},
    columns=USERS.sql("u"),
)


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


def get_shared_membership(tx: Tx, scope: Scope, user_id: str) -> Membership | None:
    """A membership of a user in a group within the scope: one that they accepted, if there is."""
    rows = fetch_within(tx, scope, GET_SHARED_MEMBERSHIP, user_id=user_id)
    return MEMBERS.parse(rows[0]) if rows else None


def list_invitations(tx: Tx, user_id: str, group_ids: Iterable[str]) -> list[Membership]:
    """The memberships in these groups that a user has not accepted."""
    numbers = [schema.group_number(each) for each in group_ids]
    rows = tx.fetch(LIST_INVITATIONS, user_id=user_id, group_ids=numbers)
    return [MEMBERS.parse(row) for row in rows]


def is_accepted_member(tx: Tx, user_id: str, group_ids: Iterable[str]) -> bool:
    """Whether a user is a member of one of these groups and has accepted that."""
    numbers = [schema.group_number(each) for each in group_ids]
    return tx.first(IS_ACCEPTED_MEMBER, user_id=user_id, group_ids=numbers) is not None


def list_members(
    tx: Tx, scope: Scope, group_id: str, request: PageRequest
) -> Page[tuple[User, Membership]]:
    created_at, user_id = request.after or (0, "")
    values = {"home": schema.group_number(group_id), "most": request.limit + 1}
    rows = fetch_within(
        *(tx, scope, LIST_MEMBERS), **values, after_created_at=created_at, after_user_id=user_id
    )
    items = [
        (USERS.parse(row), MEMBERS.parse(row[len(USERS.columns) :]))
        for row in rows[: request.limit]
    ]
    if len(rows) <= request.limit:
        return Page(items)
    _, last = items[-1]
    return Page(items, (last.created_at, last.user_id))


def list_holders(tx: Tx, scope: Scope, group_id: str, permission: str, most: int) -> list[User]:
    """Members who have accepted and whose role in the group has a permission; the oldest first."""
    values = {"home": schema.group_number(group_id), "held": permission, "most": most}
    return [USERS.parse(row) for row in fetch_within(tx, scope, LIST_HOLDERS, **values)]
