"""Groups and their members on the wire."""

from typing import Annotated

from msgspec import Meta, field

from longwire.api.roles import Role, role_wire
from longwire.api.users import UserConnection, public_user_wire
from longwire.dates import date_text
from longwire.identity import groups
from longwire.identity.groups import GroupView, Relation
from longwire.notifications import mails
from longwire.web.routing import OWN, Call, Route
from longwire.web.validation import (
    Body,
    Count,
    DateText,
    Email,
    GroupId,
    Id,
    Name,
    Paged,
    Query,
    Reply,
    Tags,
    Text,
)


class Group(Reply):
    """A group as the caller may see it; `role` and `userId` are about one user."""

    id: GroupId
    user_id: str
    name: str | None = None
    description: str | None = None
    token: str | None = None
    administrator_role: str | None = None
    default_role: str | None = None
    created_at: DateText | None = None
    updated_at: DateText | None = None
    created_by: str | None = None
    updated_by: str | None = None
    parent: str | None = None
    role: Role | None = None
    owner_id: str | None = None
    number_of_devices: Count | None = None
    number_of_notifications: Count | None = None
    number_of_connectors: Count | None = None
    tags: list[str] | None = None


class GroupConnection(Reply):
    """A page of groups."""

    items: list[Group]
    next_token: str | None = None


class GroupUserRelation(Reply):
    """Somebody's place in a group; `id` is the group's."""

    id: GroupId
    user_id: str
    role: Role | None = None
    token: str | None = None
    description: str | None = None
    name: str | None = None


class GroupQuery(Query):
    """Which group."""

    group_id: GroupId


class GroupPage(Paged, kw_only=True):
    """Which group, and which page of what belongs to it."""

    group_id: GroupId


class UserGroupsQuery(Paged):
    """Whose groups, and below which."""

    user_id: Annotated[Id, Meta(description="Whose groups; the caller's when left out.")] | None = (
        None
    )
    group_id: Annotated[GroupId, Meta(description="Only this group and those below it.")] | None = (
        None
    )


class ParentQuery(Query):
    """Where the new group hangs."""

    parent_id: (
        Annotated[GroupId, Meta(description="The group above; without it a root is made.")] | None
    ) = None


class GroupInput(Body):
    """A group to create."""

    name: Name | None = None
    description: Text | None = None
    tags: Tags | None = None


class GroupChange(Body):
    """What is to be different about a group."""

    group_id: GroupId
    owner_id: Annotated[Id, Meta(description="A member; only the owner hands over.")] | None = None
    name: Name | None = None
    role_id: Annotated[Id, Meta(description="The new default role.")] | None = None
    description: Text | None = None
    parent_id: (
        Annotated[str, Meta(max_length=128, description='The new parent; "" makes a root.')] | None
    ) = field(default=None, name="parent")
    tags: Tags | None = None


class Invitation(Body):
    """Whom to invite, where and as what."""

    email: Email
    group_id: GroupId
    role_id: Id


class MemberChange(Body):
    """Which member gets which role."""

    user_id: Id
    group_id: GroupId
    role_id: Id


class MemberQuery(Query):
    """Which member of which group."""

    group_id: GroupId
    user_id: Annotated[Id, Meta(description="Left out: the caller leaves.")] | None = None


def group_wire(view: GroupView) -> Group:
    group = view.group
    return Group(
        id=group.id,
        user_id=view.about,
        name=group.name,
        description=group.description,
        token=view.token,
        administrator_role=group.administrator_role_id,
        default_role=group.default_role_id,
        created_at=date_text(group.created_at),
        updated_at=date_text(group.updated_at),
        created_by=group.created_by,
        updated_by=group.updated_by,
        parent=group.parent_id,
        role=role_wire(view.role) if view.role else None,
        owner_id=group.owner_id,
        number_of_devices=group.device_count,
        number_of_notifications=group.notification_count,
        number_of_connectors=group.connector_count,
        tags=list(group.tags),
    )


def relation_wire(relation: Relation) -> GroupUserRelation:
    return GroupUserRelation(
        id=relation.group.id,
        user_id=relation.user_id,
        role=role_wire(relation.role),
        token=relation.token,
        description=relation.group.description,
        name=relation.group.name,
    )


def list_user_groups(call: Call, query: UserGroupsQuery) -> GroupConnection:
    """List the groups somebody belongs to.

    Directly or through a group above, as far as you may see them; your own when `userId` is left
    out. `groupId` narrows the list to that group and what lies below it.
    """
    page = groups.of_user(
        call.tx, call.actor, query.user_id, query.group_id, call.pages.open(query)
    )
    return GroupConnection(
        items=[group_wire(view) for view in page.items], next_token=call.pages.close(query, page)
    )


def show_group(call: Call, query: GroupQuery) -> list[Group]:
    """Show a group.

    The answer is an array with the group as its only element.
    """
    return [group_wire(groups.show(call.tx, call.actor, query.group_id))]


def create_group(call: Call, query: ParentQuery, body: GroupInput) -> Group:
    """Create a group.

    Whoever creates it becomes its owner and Administrator. An app client creates groups only below
    its own; the parent's owner then owns them. There are at most 16 levels.
    """
    return group_wire(
        groups.create(
            call.tx,
            call.actor,
            query.parent_id,
            name=body.name,
            description=body.description,
            tags=body.tags or (),
        )
    )


def change_group(call: Call, body: GroupChange) -> Group:
    """Change a group.

    `parent` moves it with everything below (an empty text makes it a root; this needs
    `group.create` at the new parent), `ownerId` hands it over, `roleId` sets the default role.
    """
    wish = groups.GroupChange(
        name=body.name,
        description=body.description,
        tags=body.tags,
        owner_id=body.owner_id,
        role_id=body.role_id,
        parent_id=body.parent_id,
    )
    return group_wire(groups.change(call.tx, call.actor, body.group_id, wish))


def invite_member(call: Call, body: Invitation) -> GroupUserRelation:
    """Invite somebody into a group.

    By e-mail address, known or not; the answer does not tell which. You can give only a role whose
    permissions you hold yourself. Whoever was no member before gets a mail about it, where the
    operator has set up mail.
    """
    return relation_wire(
        mails.invite(
            call.tx,
            call.actor,
            body.email,
            body.group_id,
            body.role_id,
            call.dispatch,
            call.office,
        )
    )


def change_member(call: Call, body: MemberChange) -> GroupUserRelation:
    """Give a member another role.

    Both the old and the new role must hold no more than you do.
    """
    return relation_wire(
        groups.set_role(call.tx, call.actor, body.user_id, body.group_id, body.role_id)
    )


def remove_member(call: Call, query: MemberQuery) -> GroupUserRelation:
    """Remove a member from a group, or leave it.

    Without `userId` you leave. The answer is the place in the group as it was.
    """
    return relation_wire(groups.remove(call.tx, call.actor, query.group_id, query.user_id))


def list_members(call: Call, query: GroupPage) -> UserConnection:
    """List the members of a group.

    Of the group itself, in the order they joined, each with their role there.
    """
    page = groups.members(call.tx, call.actor, query.group_id, call.pages.open(query))
    return UserConnection(
        items=[public_user_wire(user, role) for user, role in page.items],
        next_token=call.pages.close(query, page),
    )


ROUTES = [
    Route(
        method="GET",
        path="/user/groups",
        handler=list_user_groups,
        needs=OWN,
        rule="one's own groups; somebody else's where member.read is held",
        tag="Groups",
    ),
    Route(
        method="GET",
        path="/group",
        handler=show_group,
        needs="group.read",
        rule="in the group",
        tag="Groups",
        missing_is_bad=True,
    ),
    Route(
        method="POST",
        path="/group",
        handler=create_group,
        needs="group.create",
        rule="in parentId; any user may create a root group",
        tag="Groups",
    ),
    Route(
        method="PUT",
        path="/group",
        handler=change_group,
        needs="group.update",
        rule="in the group; group.create in a new parent; the owner hands over",
        tag="Groups",
        conflicts="A root group would have no Administrator.",
    ),
    Route(
        method="PUT",
        path="/group/invite",
        handler=invite_member,
        needs="member.write",
        rule="in the group, with a role that holds no more than the caller",
        tag="Members",
        conflicts="The person is a member with another role.",
    ),
    Route(
        method="PUT",
        path="/group/user",
        handler=change_member,
        needs="member.write",
        rule="in the group; neither role holds more than the caller",
        tag="Members",
        conflicts="The last Administrator of a root group would be gone.",
    ),
    Route(
        method="DELETE",
        path="/group/user",
        handler=remove_member,
        needs="member.write",
        rule="in the group, for a role that holds no more than the caller; oneself always",
        tag="Members",
        conflicts="The last Administrator of a root group would be gone.",
    ),
    Route(
        method="GET",
        path="/group/users",
        handler=list_members,
        needs="member.read",
        rule="in the group",
        tag="Members",
    ),
]
