"""The audit log, as members of a group may read it."""

from dataclasses import replace

from longwire.identity import access
from longwire.model import Actor, AuditEntry, Page, PageRequest
from longwire.store import audit as store
from longwire.store.database import Tx


def list_page(tx: Tx, actor: Actor, group_id: str, request: PageRequest) -> Page[AuditEntry]:
    """The entries of a group, newest first; only operators see the addresses of callers."""
    scope = access.authorize(tx, actor, "audit.read", group_id)
    page = store.list_page(tx, scope, group_id, request)
    if actor.is_operator:
        return page
    return Page([replace(each, address="") for each in page.items], page.last_key)
