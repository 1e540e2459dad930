"""The audit log, as members of a group may read it."""

from collections.abc import Iterable
from dataclasses import replace

from longwire.identity import access
from longwire.model import Actor, AuditEntry, Page, PageRequest
from longwire.store.database import Tx
from longwire.store.identity import audit as store
from longwire.store.identity import clients as store_clients
from longwire.store.identity import users as store_users
from longwire.store.identity.audit import AuditFilter


def list_page(tx: Tx, actor: Actor, wanted: AuditFilter, request: PageRequest) -> Page[AuditEntry]:
    """Entries of a group, newest first; only operators see the addresses of callers."""
    scope = access.authorize(tx, actor, "audit.read", wanted.group_id)
    page = store.list_page(tx, scope, wanted, request)
    names = _list_names(tx, actor, page.items)
    return Page([_show(actor, each, names) for each in page.items], page.last_key)


def find_key(tx: Tx, actor: Actor, wanted: AuditFilter, entry_id: int) -> tuple[int, int] | None:
    """Where an entry is in the list; None if it is not among the entries of the group."""
    scope = access.authorize_tree(
        tx, actor, "audit.read", wanted.group_id, subgroups=wanted.subgroups
    )
    return store.find_key(tx, scope, entry_id)


def _list_names(tx: Tx, actor: Actor, entries: Iterable[AuditEntry]) -> dict[str, str]:
    """The names of users and app clients that the actor may see, by id."""
    ids = {each.actor_id for each in entries}
    ids |= {each.issued_by for each in entries if each.issued_by is not None}
    ids |= {each.object_id for each in entries if each.object_name is None}
    return {
        **store_users.list_names(tx, access.scope_all_groups(actor, "member.read"), ids),
        **store_clients.list_names(tx, access.scope_all_groups(actor, "audit.read"), ids),
    }


def _show(actor: Actor, entry: AuditEntry, names: dict[str, str]) -> AuditEntry:
    return replace(
        entry,
        actor_name=names.get(entry.actor_id),
        issuer_name=names.get(entry.issued_by or ""),
        object_name=entry.object_name or names.get(entry.object_id),
        address=entry.address if actor.is_operator else "",
    )
