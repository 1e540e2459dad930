"""Roles and the permissions they hold."""

from collections.abc import Iterable, Sequence

from longwire.model import Actor, Page, PageRequest, Role, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.identity.scopes import fetch_within, for_scopes
from longwire.store.rows import Rows
from longwire.store.statement import Statement

ROLES = Rows(Role, schema.role)

# These run for every role on the path of a group whenever permissions have changed.
GET_ROLE = Statement(
    """
select {columns}
from role
where id = :role_id
""",
    columns=ROLES.sql(),
)
LIST_PERMISSIONS = Statement("""
select permission_id
from role_permission
where role_id = :role_id
order by permission_id
""")

_IS_VISIBLE = """(
    not role.is_removable
    or role.created_by = :actor
    or role.id in (
        select member.role_id
        from member
        where {within_member}
        union
        select device_group.default_role_id
        from device_group
        where {within_group}
        union
        select app_client.role_id
        from app_client
        where app_client.role_id is not null
            and {within_client}
    )
)"""
_WITHIN = {
    "within_member": "member.group_id",
    "within_group": "device_group.id",
    "within_client": "app_client.group_id",
}
FIND_VISIBLE = for_scopes(
    f"""
select role.id
from role
where role.id = :role_id
    and {_IS_VISIBLE}
""",
    within=_WITHIN,
)
_LIST_VISIBLE = f"""
select {{columns}}, role.created_at
from role
where {_IS_VISIBLE}
    {{also}}
order by role.created_at, role.id
limit :most
"""
LIST_VISIBLE = for_scopes(_LIST_VISIBLE, within=_WITHIN, columns=ROLES.sql("role"), also="")
LIST_VISIBLE_AFTER = for_scopes(
    _LIST_VISIBLE,
    within=_WITHIN,
    columns=ROLES.sql("role"),
    also="and (role.created_at, role.id) > (:after_at, :after_id)",
)
LIST_HOLDING = for_scopes(
    _LIST_VISIBLE,
    within=_WITHIN,
    columns=ROLES.sql("role"),
    also="""and role.id in (
        select role_id
        from role_permission
        where permission_id = :held
    )""",
)

LIST_GROUPS_USING = Statement(
    """
select group_id
from member
where role_id = :role_id
union
select id
from device_group
where default_role_id = :role_id
    or administrator_role_id = :role_id
union
select group_id
from app_client
where role_id = :role_id
""",
    into=str,
)

FIND_DEFAULT = Statement("""
select id
from device_group
where default_role_id = :role_id
limit 1
""")

LIST_HELD = Statement("""
select role_id, permission_id
from role_permission
where role_id {in:ids}
order by permission_id
""")

INSERT_PERMISSION = Statement("""
insert into role_permission (role_id, permission_id)
values (:role_id, :permission_id)
""")

DELETE_PERMISSIONS = Statement("""
delete from role_permission
where role_id {in:ids}
""")

DELETE_ROLES = Statement("""
delete from role
where id {in:ids}
""")

LIST_UNUSED = Statement("""
select id
from role
where id {in:ids}
    and id not in (
        select role_id
        from member
        where role_id {in:ids}
        union
        select default_role_id
        from device_group
        where default_role_id {in:ids}
        union
        select administrator_role_id
        from device_group
        where administrator_role_id {in:ids}
        union
        select role_id
        from app_client
        where role_id {in:ids}
    )
""")


def get(tx: Tx, role_id: str) -> Role | None:
    """A role by id, without a scope: a role shows nothing of any group."""
    rows = tx.fetch(GET_ROLE, role_id=role_id)
    return ROLES.parse(rows[0], permissions=list_permissions(tx, role_id)) if rows else None


def list_permissions(tx: Tx, role_id: str) -> tuple[str, ...]:
    return tuple(row[0] for row in tx.fetch(LIST_PERMISSIONS, role_id=role_id))


def is_visible(tx: Tx, scope: Scope, actor: Actor, role_id: str) -> bool:
    return bool(fetch_within(tx, scope, FIND_VISIBLE, actor=actor.id, role_id=role_id))


def list_page(tx: Tx, scope: Scope, actor: Actor, request: PageRequest) -> Page[Role]:
    """Built-in roles, those the actor made, and those in use within the scope."""
    most = request.limit + 1
    if request.after is None:
        rows = fetch_within(tx, scope, LIST_VISIBLE, actor=actor.id, most=most)
    else:
        at, last = request.after
        rows = fetch_within(
            tx, scope, LIST_VISIBLE_AFTER, actor=actor.id, most=most, after_at=at, after_id=last
        )
    shown = rows[: request.limit]
    held = _permissions_by_role(tx, [row[0] for row in shown])
    items = [ROLES.parse(row, permissions=held.get(row[0], ())) for row in shown]
    return Page(items, (shown[-1][-1], shown[-1][0]) if len(rows) > len(shown) else None)


def list_holding(tx: Tx, scope: Scope, actor: Actor, permission: str, most: int) -> list[Role]:
    """Those of the same roles that have a permission."""
    rows = fetch_within(tx, scope, LIST_HOLDING, actor=actor.id, held=permission, most=most)
    return [ROLES.parse(row, permissions=()) for row in rows]


def list_groups_using(tx: Tx, role_id: str) -> frozenset[str]:
    """Every group in which somebody or an app client has the role, or that falls back to it."""
    return frozenset(tx.fetch(LIST_GROUPS_USING, role_id=role_id))


def is_default_somewhere(tx: Tx, role_id: str) -> bool:
    return tx.first(FIND_DEFAULT, role_id=role_id) is not None


def insert(tx: Tx, role: Role) -> None:
    ROLES.insert(tx, role, created_at=role.updated_at)
    insert_permissions(tx, role.id, role.permissions)


def save(tx: Tx, before: Role, after: Role) -> None:
    ROLES.save(tx, before, after)
    tx.run(DELETE_PERMISSIONS, ids=[after.id])
    insert_permissions(tx, after.id, after.permissions)


def insert_permissions(tx: Tx, role_id: str, permission_ids: Iterable[str]) -> None:
    for each in permission_ids:
        tx.run(INSERT_PERMISSION, role_id=role_id, permission_id=each)


def delete(tx: Tx, role_ids: Sequence[str]) -> None:
    tx.run(DELETE_PERMISSIONS, ids=role_ids)
    tx.run(DELETE_ROLES, ids=role_ids)


def delete_unused(tx: Tx, role_ids: Sequence[str]) -> None:
    """Delete those that nobody has in any group, and no group falls back to."""
    unused = tx.fetch(LIST_UNUSED, ids=role_ids) if role_ids else ()
    if unused:
        delete(tx, [role_id for (role_id,) in unused])


def _permissions_by_role(tx: Tx, role_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    held: dict[str, tuple[str, ...]] = {}
    for role_id, permission in tx.fetch(LIST_HELD, ids=role_ids):
        held[role_id] = (*held.get(role_id, ()), permission)
    return held
