"""Operations on groups and their members."""

from functools import partial
from typing import Annotated

from msgspec import UNSET, Meta, field
from msgspec.structs import asdict

from longwire.api.identity.roles import Role
from longwire.api.identity.users import PublicUser, UserConnection, show_public_user
from longwire.api.replies import Page, Shown
from longwire.api.services import Context
from longwire.api.types import (
    CHANGED_MEANWHILE,
    Email,
    GroupId,
    GroupPage,
    IfUpdatedAt,
    LanguageName,
    Tags,
    parse_version,
)
from longwire.dates import format_date
from longwire.delivery.mail import invitations
from longwire.delivery.mail.invitations import InvitationMailStatus
from longwire.identity import group_deletions, groups
from longwire.identity.groups import GroupView, MembershipView, MemberView
from longwire.model import Group as GroupValue
from longwire.web.fields import (
    Body,
    Clearable,
    Count,
    DateText,
    Id,
    Name,
    Paged,
    Query,
    Text,
    parse_clearable,
    parse_removable,
    words,
)
from longwire.web.routing import OWN, Route


class Group(Shown[GroupValue]):
    """A group as the caller can see it; `role` and `userId` are those of one user."""

    id: GroupId
    user_id: str
    name: str | None = None
    description: str | None = None
    token: str | None = None
    administrator_role_id: str | None = field(default=None, name="administratorRole")
    default_role_id: str | None = field(default=None, name="defaultRole")
    created_at: DateText | None = None
    updated_at: DateText | None = None
    created_by: str | None = None
    updated_by: str | None = None
    parent_id: str | None = field(default=None, name="parent")
    role: Role | None = None
    owner_id: str | None = None
    device_count: Count | None = field(default=None, name="numberOfDevices")
    notification_count: Count | None = field(default=None, name="numberOfNotifications")
    connector_count: Count | None = field(default=None, name="numberOfConnectors")
    tags: list[str] | None = None
    deletion_at: (
        Annotated[
            DateText,
            Meta(description="When it will be deleted with everything in it."),
        ]
        | None
    ) = None
    is_invited: (
        Annotated[
            bool,
            Meta(description="Only if it is true: this user has not accepted the membership yet."),
        ]
        | None
    ) = None


class GroupConnection(Page[Group]):
    """A page of groups."""


class TreeGroup(Group, kw_only=True):
    """A group in a tree, without its token."""

    number_of_groups: Annotated[
        Count, Meta(description="How many groups are directly below it.", examples=[3])
    ]


class GroupTree(Page[TreeGroup]):
    """A page of groups in a tree."""


class GroupUserRelation(Shown[GroupValue], kw_only=True):
    """A membership; `id` is the group's."""

    id: GroupId
    user_id: str
    role: Role | None = None
    token: str | None = None
    description: str | None = None
    name: str | None = None
    updated_at: Annotated[DateText, Meta(description="When they got the role.")]
    mail: (
        Annotated[
            str,
            words("InvitationMailStatus", [each.value for each in InvitationMailStatus]),
            Meta(
                description="Of an invitation. `queued`: a mail with a link is sent."
                " `not_configured`: the service sends no mail. `address_not_allowed`: the operator"
                " allows no mail to this address. `accepted`: they have accepted before.",
                examples=["queued"],
            ),
        ]
        | None
    ) = None
    invitation_url: (
        Annotated[
            str,
            Meta(
                description="Of an invitation, if no mail is sent, and for users: the link, to hand"
                " it over. It is valid for 24 hours, and signs in who has never signed in; others"
                " sign in by their own means, and open the group.",
                examples=["https://longwire.example.com/console/sign-in#token=15D938-5YhA1SiFIWY1"],
            ),
        ]
        | None
    ) = None


class GroupQuery(Query):
    """Which group."""

    group_id: GroupId


class GroupDeletionQuery(Query):
    """Which group to delete."""

    group_id: GroupId
    recursive: Annotated[
        bool, Meta(description="Delete it with everything in it, after a grace period.")
    ] = False


class GroupRestoration(Body):
    """Which group to keep."""

    group_id: GroupId


class UserGroupsQuery(Paged):
    """Whose groups, optionally within a subtree."""

    user_id: Annotated[Id, Meta(description="Whose groups; the caller's when left out.")] | None = (
        None
    )
    group_id: Annotated[GroupId, Meta(description="Only this group and those below it.")] | None = (
        None
    )


class TreeQuery(Paged):
    """Where in the tree, or which text to search for."""

    parent_id: (
        Annotated[GroupId, Meta(description="The groups below this one; else the topmost groups.")]
        | None
    ) = None
    q: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=256,
                description="A part of the name, or the id, of groups at any depth; "
                "case-insensitive.",
                examples=["quay"],
            ),
        ]
        | None
    ) = None


class ParentQuery(Query):
    """The parent of the new group."""

    parent_id: (
        Annotated[
            GroupId, Meta(description="The parent group; without it a root group is created.")
        ]
        | None
    ) = None


class GroupInput(Body):
    """A group to create."""

    name: Name | None = None
    description: Text | None = None
    tags: Tags | None = None


class GroupChange(Body):
    """Changes to a group."""

    group_id: GroupId
    owner_id: (
        Annotated[Id, Meta(description="A member; only the owner can transfer ownership.")] | None
    ) = None
    name: Clearable[Name] = UNSET
    role_id: Annotated[Id, Meta(description="The new default role.")] | None = None
    description: Clearable[Text] = UNSET
    parent_id: Clearable[
        Annotated[
            str,
            Meta(max_length=128, description='The new parent; "" or null makes it a root group.'),
        ]
    ] = field(default=UNSET, name="parent")
    tags: Tags | None = None
    if_updated_at: IfUpdatedAt | None = None


class Invitation(Body):
    """Whom to invite, to which group, with which role."""

    email: Email
    group_id: GroupId
    role_id: Id
    language: (
        Annotated[
            LanguageName,
            Meta(
                description="Of the mail, and of the user if there is none with this address yet;"
                " by default the caller's. A user who has chosen one is written to in that."
            ),
        ]
        | None
    ) = None


class MemberChange(Body):
    """The new role of a member."""

    user_id: Id
    group_id: GroupId
    role_id: Id
    if_updated_at: IfUpdatedAt | None = None


class MemberQuery(Query):
    """Which member of which group."""

    group_id: GroupId
    user_id: Annotated[Id, Meta(description="Without it, the caller leaves the group.")] | None = (
        None
    )


def show_group(view: GroupView) -> Group:
    return Group.show(
        view.group,
        user_id=view.user_id,
        role=view.role and Role.show(view.role),
        token=view.token,
        is_invited=view.is_invited or None,
    )


def _show_membership(
    view: MembershipView,
    mail: InvitationMailStatus | None = None,
    invitation_url: str | None = None,
) -> GroupUserRelation:
    return GroupUserRelation.show(
        view.group,
        user_id=view.user_id,
        role=Role.show(view.role),
        token=view.token,
        updated_at=format_date(view.updated_at),
        mail=mail,
        invitation_url=invitation_url,
    )


def list_user_groups(context: Context, query: UserGroupsQuery) -> GroupConnection:
    """List the groups of a user.

    Direct memberships and inherited ones, as far as the caller can see them; the caller's own
    without `userId`. `groupId` restricts the list to that group and those below it.
    """
    page = groups.list_for_user(
        context.tx,
        context.actor,
        query.user_id,
        query.group_id,
        context.page_tokens.page_request(query),
    )
    return GroupConnection.show(context, query, page, show_group)


def list_groups(context: Context, query: TreeQuery) -> GroupTree:
    """List groups as a tree.

    Those directly below `parentId`; without it, the topmost groups in which the caller has
    `group.read`, for operators all root groups. With `q`, all groups with that text in their name
    that the caller can see, below `parentId` if given. By name.
    """
    page = groups.list_tree(
        context.tx,
        context.actor,
        query.parent_id,
        query.q,
        context.page_tokens.page_request(query),
    )

    def show(item: tuple[GroupView, int]) -> TreeGroup:
        view, count = item
        return TreeGroup(**asdict(show_group(view)), number_of_groups=count)

    return GroupTree.show(context, query, page, show)


def get_group(context: Context, query: GroupQuery) -> list[Group]:
    """Get a group.

    The response is an array with the group as its only element.
    """
    return [show_group(groups.get(context.tx, context.actor, query.group_id))]


def create_group(context: Context, query: ParentQuery, body: GroupInput) -> Group:
    """Create a group.

    The caller becomes its owner and Administrator. An app client can create groups only below its
    own; the owner of the parent then owns them. There are at most 16 levels.
    """
    return show_group(
        groups.create(
            context.tx,
            context.actor,
            query.parent_id,
            name=body.name,
            description=body.description,
            tags=body.tags or (),
            quotas=context.services.quotas,
        )
    )


def update_group(context: Context, body: GroupChange) -> Group:
    """Update a group.

    `parent` moves it with its subtree (an empty string makes it a root group). This requires
    `group.update` in the parent that it leaves, `group.create` in the new one, and all permissions
    of an Administrator in the group; only its owner moves a root group. `ownerId` transfers
    ownership, `roleId` sets the default role.
    """
    update = groups.GroupUpdate(
        name=parse_removable(body.name),
        description=parse_removable(body.description),
        tags=body.tags,
        owner_id=body.owner_id,
        role_id=body.role_id,
        parent_id=parse_clearable(body.parent_id),
        if_updated_at=parse_version(body.if_updated_at),
    )
    return show_group(groups.update(context.tx, context.actor, body.group_id, update))


def delete_group(context: Context, query: GroupDeletionQuery) -> Group:
    """Delete a group.

    An empty group (no subgroups, devices, connectors or notifications) is deleted at once. With
    `recursive=true` any group is: after a grace period, at `deletionAt`, it is deleted with its
    subgroups, devices, records, connectors, notifications, app clients, memberships, and the custom
    roles that are used nowhere else. Messages that wait for delivery are not sent any more. Until
    then everything works, and `POST /group/restore` cancels it. Requires `group.update` in the
    parent, too, and all permissions of an Administrator; only its owner deletes a root group.
    """
    return show_group(
        group_deletions.delete(
            context.tx,
            context.actor,
            query.group_id,
            is_recursive=query.recursive,
            grace_hours=context.services.group_deletion_grace_hours,
        )
    )


def restore_group(context: Context, body: GroupRestoration) -> Group:
    """Cancel the deletion of a group.

    Until `deletionAt`; after that, nothing can be restored. Requires what deleting the group does.
    """
    return show_group(group_deletions.cancel(context.tx, context.actor, body.group_id))


def invite_member(context: Context, body: Invitation) -> GroupUserRelation:
    """Invite a user to a group.

    By e-mail address; the response does not reveal whether the user exists. The role can contain
    only permissions that the caller has. It counts at once; but until the person accepts, by the
    link in the mail or by a request that names the group, others see only this address of them,
    and the group sends them nothing but the invitation. Where no mail can be sent, the response has
    the link, to hand it over. To send another one, invite them again; 429 if the group has sent as
    many mails as it may in an hour, or this address was sent ten invitations.
    """
    sent = invitations.invite_member(
        context.tx,
        context.actor,
        body.email,
        body.group_id,
        body.role_id,
        context.services.dispatch,
        context.services.sending_config.mail,
        context.services.quotas,
        language=body.language,
    )
    return _show_membership(sent.membership, sent.mail, sent.url)


def update_member(context: Context, body: MemberChange) -> GroupUserRelation:
    """Change the role of a member.

    Neither the old nor the new role may have permissions that the caller lacks. `ifUpdatedAt` is
    the `membershipUpdatedAt` of the list of members.
    """
    return _show_membership(
        groups.set_role(
            context.tx,
            context.actor,
            body.user_id,
            body.group_id,
            body.role_id,
            parse_version(body.if_updated_at),
        )
    )


def remove_member(context: Context, query: MemberQuery) -> GroupUserRelation:
    """Remove a member from a group, or leave it.

    Without `userId` the caller leaves. The response is the former membership.
    """
    return _show_membership(
        groups.remove_member(context.tx, context.actor, query.group_id, query.user_id)
    )


def list_members(context: Context, query: GroupPage) -> UserConnection:
    """List the members of a group.

    Direct members only, in the order they joined, each with their role. Of those who have not
    accepted their invitation yet, `email` is the address that was invited, `createdAt` the time of
    the invitation, and there is no name and no `seenAt`.
    """
    page = groups.list_members(
        context.tx, context.actor, query.group_id, context.page_tokens.page_request(query)
    )

    def show(member: MemberView) -> PublicUser:
        return show_public_user(member.user, member.role, member.updated_at)

    return UserConnection.show(context, query, page, show)


_MISPLACED = {
    "parentId": "send it in the query, POST /group?parentId=…",
    "roleId": "PUT /group sets the default role",
}
_MISPLACED_IN_CHANGE = {
    "parentId": "send it as parent",
    "defaultRoleId": "send the default role as roleId",
}
_group_route = partial(Route, tag="Groups")
_member_route = partial(Route, tag="Members")

ROUTES = [
    _group_route(
        "GET",
        "/user/groups",
        list_user_groups,
        OWN,
        object_rule="one's own groups; somebody else's where member.read is held",
        has_secrets=True,
    ),
    _group_route(
        "GET",
        "/groups",
        list_groups,
        "group.read",
        object_rule="in parentId, else in each group that is listed",
        is_addition=True,
        has_secrets=True,
    ),
    _group_route(
        "GET",
        "/group",
        get_group,
        "group.read",
        object_rule="in the group",
        not_found_is_bad_request=True,
        has_secrets=True,
    ),
    _group_route(
        "POST",
        "/group",
        create_group,
        "group.create",
        object_rule="in parentId; any user may create a root group",
        conflicts="The owner has as many groups as a user may have.",
        misplaced=_MISPLACED,
    ),
    _group_route(
        "PUT",
        "/group",
        update_group,
        "group.update",
        object_rule=(
            "in the group and in a parent it leaves; group.create in a new parent; the owner hands"
            " over"
        ),
        conflicts=f"A root group would have no Administrator. {CHANGED_MEANWHILE}",
        misplaced=_MISPLACED_IN_CHANGE,
    ),
    _group_route(
        "DELETE",
        "/group",
        delete_group,
        "group.update",
        object_rule="in the group and in its parent; its owner deletes a root group",
        conflicts="The group is not empty, and recursive is not true.",
        is_addition=True,
    ),
    _group_route(
        "POST",
        "/group/restore",
        restore_group,
        "group.update",
        object_rule="in the group and its parent",
        conflicts="No deletion of the group is scheduled.",
        is_addition=True,
    ),
    _member_route(
        "PUT",
        "/group/invite",
        invite_member,
        "member.write",
        object_rule="in the group, with a role that holds no more than the caller",
        conflicts="The person is a member with another role, or the group has all members it may.",
    ),
    _member_route(
        "PUT",
        "/group/user",
        update_member,
        "member.write",
        object_rule="in the group; neither role holds more than the caller",
        conflicts="The last Administrator of a root group would be gone.",
    ),
    _member_route(
        "DELETE",
        "/group/user",
        remove_member,
        "member.write",
        object_rule="in the group, for a role that holds no more than the caller; oneself always",
        conflicts="The last Administrator of a root group would be gone.",
    ),
    _member_route("GET", "/group/users", list_members, "member.read", object_rule="in the group"),
]
