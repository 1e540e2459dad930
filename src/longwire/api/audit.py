"""The operation that reads the audit log."""

from longwire.api.types import GroupId, GroupPage
from longwire.dates import format_date
from longwire.identity import audit
from longwire.model import AuditEntry as AuditEntryValue
from longwire.web.fields import DateText, Reply
from longwire.web.routing import RequestContext, Route


class AuditEntry(Reply):
    """Who did what to which object, and in which request."""

    timestamp: DateText
    actor_kind: str
    actor_id: str
    action: str
    object_id: str
    group_id: GroupId
    request_id: str
    detail: str | None = None
    address: str | None = None


class AuditEntryConnection(Reply):
    """A page of the audit log."""

    items: list[AuditEntry]
    next_token: str | None = None


def entry_wire(entry: AuditEntryValue) -> AuditEntry:
    return AuditEntry(
        timestamp=format_date(entry.at),
        actor_kind=entry.actor_kind,
        actor_id=entry.actor_id,
        action=entry.action,
        object_id=entry.object_id,
        group_id=entry.group_id or "",
        request_id=entry.request_id,
        detail=entry.detail or None,
        address=entry.address or None,
    )


def list_audit_entries(context: RequestContext, query: GroupPage) -> AuditEntryConnection:
    """List the audit log of a group.

    Every change in the group itself, newest first: who made it, and in which request. Operators
    also see the address of the caller.
    """
    page = audit.list_page(
        context.tx, context.actor, query.group_id, context.page_tokens.page_request(query)
    )
    return AuditEntryConnection(
        items=[entry_wire(each) for each in page.items],
        next_token=context.page_tokens.next_token(query, page),
    )


ROUTES = [
    Route(
        "GET",
        "/audit",
        list_audit_entries,
        "audit.read",
        tag="Audit log",
        object_rule="in the group",
        is_addition=True,
    )
]
