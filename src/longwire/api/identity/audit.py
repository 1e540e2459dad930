"""The operation that reads the audit log."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from longwire.api.replies import Page, Shown
from longwire.api.services import Context
from longwire.api.types import GroupId, GroupPage, parse_period
from longwire.delivery.destinations.parameters import mask_url_member
from longwire.identity import audit
from longwire.model import AuditEntry as AuditEntryValue
from longwire.store.identity.audit import AuditFilter
from longwire.web.fields import DateQuery, DateText, Id, words
from longwire.web.routing import Route

ChangedFields = Annotated[
    dict[str, Any],
    Meta(
        description="The fields that changed, as they were before or after; secrets are masked.",
        examples=[{"name": "Harbour"}],
    ),
]


class AuditEntry(Shown[AuditEntryValue], kw_only=True):
    """Who did what to which object, and in which request."""

    id: Annotated[str, Meta(description="Identifies the entry.", examples=["4711"])]
    at: DateText = field(name="timestamp")
    actor_kind: Annotated[
        str,
        words("ActorKind", ("user", "client", "network", "system")),
        Meta(description="`user`, `client`, `network` or `system`.", examples=["user"]),
    ]
    actor_id: str
    actor_name: (
        Annotated[str, Meta(description="If you may see the user or app client.")] | None
    ) = None
    issued_by: (
        Annotated[
            str,
            Meta(
                description="Who was shown the sign-in link of the actor's session, and may be who"
                " did it; left out if the actor signed in by themselves.",
                examples=["usr_vzpeqxr5mxjrq2uy6ct3mlgw"],
            ),
        ]
        | None
    ) = None
    issuer_name: (
        Annotated[str, Meta(description="If you may see this user.", examples=["Ada Lovelace"])]
        | None
    ) = None
    action: Annotated[str, Meta(examples=["device.update"])]
    object_id: str
    object_name: Annotated[str, Meta(description="Its name at that time.")] | None = None
    group_id: GroupId
    request_id: str
    detail: str | None = None
    before: ChangedFields | None = None
    after: ChangedFields | None = None
    omitted_fields: (
        Annotated[
            list[str],
            Meta(description="Fields that changed, too, and are too large for the audit log."),
        ]
        | None
    ) = None
    address: Annotated[str, Meta(description="Of the caller; for operators.")] | None = None


class AuditEntryConnection(Page[AuditEntry]):
    """A page of the audit log."""


class AuditQuery(GroupPage, kw_only=True):
    """Which entries of the audit log."""

    subgroups: Annotated[bool, Meta(description="Include the groups below.")] | None = None
    object_id: Annotated[Id, Meta(description="Only changes of this object.")] | None = None
    actor_id: Annotated[Id, Meta(description="Only changes by this user or app client.")] | None = (
        None
    )
    action: Annotated[Id, Meta(description="Only this action, like `device.update`.")] | None = None
    request_id: Annotated[Id, Meta(description="Only changes by this request.")] | None = None
    begin_date: DateQuery | None = None
    end_date: DateQuery | None = None


class _Changes(msgspec.Struct):
    """The stored form of a change."""

    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    omitted: list[str] | None = None


_OF_CHANNELS = ("connector.", "notification.")
_POLICY_MEMBERS = {
    "storing_duration": "data_failure_policy",
    "retry_delay": "retry_policy",
    "max_retry": "retry_policy",
    "delays": "retry_policy",
}

_changes = msgspec.json.Decoder(_Changes)


def show_entry(entry: AuditEntryValue) -> AuditEntry:
    changes = _changes.decode(entry.changes) if entry.changes else _Changes()
    return AuditEntry.show(
        entry,
        id=str(entry.id),
        group_id=entry.group_id or "",
        detail=entry.detail or None,
        before=_wire_fields(entry.action, changes.before),
        after=_wire_fields(entry.action, changes.after),
        omitted_fields=[_wire_name(each) for each in changes.omitted] if changes.omitted else None,
        address=entry.address or None,
    )


def _wire_fields(action: str, fields: dict[str, Any] | None) -> dict[str, Any] | None:
    if fields and action.startswith(_OF_CHANNELS):
        fields = _channel_fields(fields)
    return {_wire_name(name): value for name, value in fields.items()} if fields else None


def _channel_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Those of a connector or notification, as requests have them.

    Releases before 0.3 have logged the members of policies on their own, and URLs as they are.
    """
    shown = {name: value for name, value in fields.items() if name not in _POLICY_MEMBERS}
    shown.pop("subgroups", None)  # which is in the parameters, too
    if isinstance(shown.get("params"), str):
        shown["params"] = mask_url_member(shown["params"])
    for member in _POLICY_MEMBERS.keys() & fields.keys():
        policy = shown.setdefault(_POLICY_MEMBERS[member], {})
        policy[member] = fields[member]
    for name in set(_POLICY_MEMBERS.values()) & shown.keys():
        policy = {_wire_name(member): value for member, value in (shown[name] or {}).items()}
        shown[name] = policy if any(value is not None for value in policy.values()) else None
    return shown


def _wire_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def list_audit_entries(context: Context, query: AuditQuery) -> AuditEntryConnection:
    """List the audit log of a group.

    Every change in the group, newest first: who made it, in which request, and what the changed
    fields were before and after. Operators also see the address of the caller. A page with filters
    reads 2,000 entries at most, so it can be short, or empty, and still have a `nextToken`.
    """
    begin, end = parse_period(query.begin_date, query.end_date)
    wanted = AuditFilter(
        group_id=query.group_id,
        subgroups=query.subgroups is True,
        object_id=query.object_id,
        actor_id=query.actor_id,
        action=query.action,
        begin=begin,
        end=end,
        request_id=query.request_id,
    )
    request = context.page_tokens.page_request(query)
    page = audit.list_page(context.tx, context.actor, wanted, request)
    return AuditEntryConnection.show(context, query, page, show_entry)


ROUTES = [
    Route(
        "GET",
        "/group/audit",
        list_audit_entries,
        "audit.read",
        tag="Audit log",
        may_lag=True,
        object_rule="in the group",
        is_addition=True,
    )
]
