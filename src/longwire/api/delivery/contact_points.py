"""Operations on contact points."""

from functools import partial
from typing import Annotated

from msgspec import UNSET, Meta, field

from longwire.api.delivery.channels import (
    ChannelError,
    describe_params,
    params_parser,
    show_error,
)
from longwire.api.delivery.notifications import TESTS_PER_MINUTE_MAX, NotificationTest
from longwire.api.replies import Page, Shown
from longwire.api.services import Context
from longwire.api.types import (
    CHANGED_MEANWHILE,
    ChannelParams,
    ChannelTypeName,
    GroupId,
    GroupTreePage,
    IfUpdatedAt,
    parse_version,
)
from longwire.delivery.channel_owners import ChannelDraft
from longwire.errors import BadInput, FieldError
from longwire.notifications import contact_points
from longwire.notifications.recipients import CONTACT_KIND
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import ContactPointId, SendingConfig
from longwire.store.notifications.contact_points import ContactPoint as ContactPointValue
from longwire.web.fields import (
    Body,
    Clearable,
    DateText,
    Name,
    Paged,
    Query,
    Reply,
    Text,
    parse_removable,
)
from longwire.web.page_tokens import paginate_names
from longwire.web.routing import ANY_TOKEN, Route

ContactPointParams = Annotated[
    ChannelParams, Meta(examples=['{"url":"https://example.com/alarm","subgroups":true}'])
]
ContactPointTypeName = Annotated[
    ChannelTypeName,
    Meta(
        description="The contact point type: `email`, `webhook`, `push`, `chat` or `rota`.",
        examples=["webhook"],
    ),
]


class ContactPointError(ChannelError):
    """The last failure."""


class ContactPoint(Shown[ContactPointValue], kw_only=True):
    """Recipients with a name; of one of a group above only what is needed to choose it."""

    group_id: Annotated[GroupId, Meta(description="The group that it belongs to.")]
    id: ContactPointId
    name: Annotated[str, Meta(examples=["Technicians"])] | None = None
    description: str | None = None
    type: ContactPointTypeName
    params: (
        Annotated[
            ContactPointParams,
            Meta(
                description="A JSON object in a string, as the type's `expectedParameters`"
                " describes it; secrets are masked for callers who may not change it. Absent if it"
                " is shared by a group above in which the caller has no `notification.read`."
            ),
        ]
        | None
    ) = None
    on_call: (
        Annotated[
            list[ContactPointId],
            Meta(description="Of a rota: who would be notified now, the fallback if nobody is on."),
        ]
        | None
    ) = None
    created_at: DateText | None = None
    updated_at: DateText | None = None
    created_by: str | None = None
    updated_by: str | None = None
    sent_at: Annotated[DateText, Meta(description="When a message was delivered last.")] | None = (
        field(default=None, name="lastSentAt")
    )
    error: ContactPointError | None = None


class ContactPointConnection(Page[ContactPoint]):
    """A page of contact points."""


class ContactPointType(Reply):
    """A type of contact point and its parameters."""

    expected_parameters: Annotated[str, Meta(description="A JSON Schema, as text.")]
    type: ContactPointTypeName
    name: Annotated[str, Meta(description="Its name for people.", examples=["HTTP webhook"])]
    unavailable: (
        Annotated[
            str,
            Meta(
                description="Why it cannot be used on this service, and what the operator sets for"
                " it. Absent if it can.",
                examples=["no mail server is configured; the operator sets smtp_host"],
            ),
        ]
        | None
    ) = None


class ContactPointTypeConnection(Page[ContactPointType]):
    """A page of contact point types."""


class ContactPointInput(Body, kw_only=True):
    """A contact point to create."""

    group_id: GroupId
    name: Annotated[Name, Meta(examples=["Technicians"])]
    type: ContactPointTypeName
    params: ContactPointParams
    description: Text | None = None


class UpdateContactPointInput(Body, kw_only=True):
    """Changes to a contact point."""

    group_id: GroupId
    contact_point_id: ContactPointId
    name: Clearable[Name] = UNSET
    type: ContactPointTypeName | None = None
    params: ContactPointParams | None = None
    description: Clearable[Text] = UNSET
    if_updated_at: IfUpdatedAt | None = None


class ContactPointQuery(Query, kw_only=True):
    """Which contact point; the group is optional."""

    contact_point_id: ContactPointId
    group_id: GroupId | None = None


class ContactPointsQuery(GroupTreePage, kw_only=True):
    """Of which group."""

    usable: Annotated[
        bool,
        Meta(description="Also those of groups above that notifications of this group may use."),
    ] = False


class DeleteContactPointQuery(Query):
    """Which contact point to delete."""

    group_id: GroupId
    contact_point_id: ContactPointId


class ContactPointRef(Body):
    """Which contact point, of which group."""

    group_id: GroupId
    contact_point_id: ContactPointId


def _show(view: contact_points.ContactPointView) -> ContactPoint:
    contact = view.owner
    if view.params is None:
        return ContactPoint(
            group_id=contact.group_id, id=contact.id, name=contact.name, type=contact.type
        )
    return ContactPoint.show(
        contact,
        params=view.params,
        on_call=None if view.on_call is None else list(view.on_call),
        error=show_error(contact.channel, ContactPointError),
    )


def _type_wire(name: str, config: SendingConfig) -> ContactPointType:
    sender = catalogue.CONTACT_POINT_TYPES[name]
    return ContactPointType(
        expected_parameters=describe_params(CONTACT_KIND, name),
        type=name,
        name=sender.title,
        unavailable=None if sender.is_available(config) else sender.setup_hint,
    )


def _draft(body: ContactPointInput | UpdateContactPointInput) -> ChannelDraft:
    return ChannelDraft(
        params=body.params,
        type=body.type,
        name=parse_removable(body.name),
        description=parse_removable(body.description),
        if_updated_at=parse_version(body.if_updated_at)
        if isinstance(body, UpdateContactPointInput)
        else None,
    )


def get_contact_point(context: Context, query: ContactPointQuery) -> ContactPoint:
    """Get a contact point.

    Secrets in `params` are masked unless the caller may update it.
    """
    return _show(
        contact_points.get_contact_point(
            context.tx, context.actor, query.contact_point_id, query.group_id
        )
    )


def list_contact_points(context: Context, query: ContactPointsQuery) -> ContactPointConnection:
    """List the contact points of a group.

    With `usable` also those that groups above share with it, of which only the name and the type
    are shown to callers who may not read notifications there. With `subgroups` also those of the
    groups below; not both.
    """
    if query.usable and query.subgroups:
        raise BadInput(field_errors=[FieldError("subgroups", "cannot be combined with usable")])
    page = contact_points.list_contact_points(
        context.tx,
        context.actor,
        query.group_id,
        context.page_tokens.page_request(query),
        usable=query.usable,
        subgroups=query.subgroups,
    )
    return ContactPointConnection.show(context, query, page, _show)


def list_contact_point_types(context: Context, query: Paged) -> ContactPointTypeConnection:
    """List the contact point types."""
    page = paginate_names(catalogue.CONTACT_POINT_TYPES, context.page_tokens.page_request(query))
    show = partial(_type_wire, config=context.services.sending_config)
    return ContactPointTypeConnection.show(context, query, page, show)


def create_contact_point(context: Context, body: ContactPointInput) -> ContactPoint:
    """Create a contact point.

    Notifications of the group name it by its id in `contactPoints` or `escalateTo` of their
    `params`; with `subgroups` in its own, those of the groups below as well.
    """
    return _show(
        contact_points.create_contact_point(
            context.tx,
            context.actor,
            body.group_id,
            _draft(body),
            params_parser(context),
            context.services.egress,
            context.services.sending_config,
            quotas=context.services.quotas,
        )
    )


def update_contact_point(context: Context, body: UpdateContactPointInput) -> ContactPoint:
    """Update a contact point.

    Members left out are unchanged; null removes `name` and `description`. A mask in `params` keeps
    the secret. Messages that wait go to the new recipients only if these were meant before.
    """
    return _show(
        contact_points.update_contact_point(
            context.tx,
            context.actor,
            body.group_id,
            body.contact_point_id,
            _draft(body),
            params_parser(context),
            context.services.egress,
            context.services.sending_config,
        )
    )


def delete_contact_point(context: Context, query: DeleteContactPointQuery) -> ContactPoint:
    """Delete a contact point.

    Its queued messages are deleted as well.
    """
    return _show(
        contact_points.delete_contact_point(
            context.tx, context.actor, query.group_id, query.contact_point_id
        )
    )


def send_test_to_contact_point(context: Context, body: ContactPointRef) -> NotificationTest:
    """Send a test to a contact point.

    To all who would be notified now. The outcome is visible in `lastSentAt` and `error`. Limited to
    a few requests per minute and caller.
    """
    queued = contact_points.test_contact_point(
        context.tx,
        context.actor,
        body.group_id,
        body.contact_point_id,
        context.services.dispatch,
    )
    return NotificationTest(
        message="Queued." if queued else "There are no recipients.",
        queued=queued,
    )


_IN_USE = "Notifications or rotas use it; they are named."
_IN_GROUP = "in the group of the contact point"
_route = partial(Route, tag="Notifications", object_rule=_IN_GROUP, is_addition=True)

ROUTES = [
    _route("GET", "/contactPoint", get_contact_point, "notification.read", has_secrets=True),
    _route(
        "GET",
        "/group/contactPoints",
        list_contact_points,
        "notification.read",
        object_rule="in the group; of those that groups above share, id, name and type",
        has_secrets=True,
    ),
    _route(
        "GET",
        "/contactPoint/contactPointTypes",
        list_contact_point_types,
        ANY_TOKEN,
        object_rule="the catalogue is the same for everyone",
    ),
    _route(
        "POST",
        "/contactPoint",
        create_contact_point,
        "notification.write",
        object_rule="in groupId",
        conflicts="The group has the maximum number of contact points.",
    ),
    _route(
        "PUT",
        "/contactPoint",
        update_contact_point,
        "notification.write",
        conflicts=f"{CHANGED_MEANWHILE} Or others use what it would not be any more.",
    ),
    _route(
        "DELETE", "/contactPoint", delete_contact_point, "notification.write", conflicts=_IN_USE
    ),
    _route(
        "POST",
        "/contactPoint/test",
        send_test_to_contact_point,
        "notification.write",
        per_minute_max=TESTS_PER_MINUTE_MAX,
    ),
]
