"""Operations on users and their push tokens."""

from functools import partial
from typing import Annotated, Any

from msgspec import Meta, field

from longwire.api.identity.roles import Role
from longwire.api.services import Context
from longwire.api.types import Email, GenericReturnBoolean
from longwire.clock import Moment
from longwire.dates import format_date, format_optional_date
from longwire.identity import users
from longwire.model import Role as RoleValue
from longwire.model import User as UserValue
from longwire.web.fields import Body, DateText, Id, Name, Paged, Query, Reply
from longwire.web.routing import OWN, Route

Token = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=4_096,
        description="A push token, or the subscription object of a browser as JSON.",
    ),
]


class VendorToken(Reply):
    """A push token linked to a user."""

    token: str | None = None
    type: str | None = None
    created_at: DateText | None = None
    created_by: str | None = None
    device_name: str | None = None
    enabled: bool | None = None


class UserFields(Reply):
    """What both forms of a user have."""

    id: str | None = None
    email: str | None = None
    name: str | None = None
    seen_at: DateText | None = None
    first_name: str | None = None
    last_name: str | None = None
    created_at: DateText | None = None
    updated_at: DateText | None = None


class User(UserFields):
    """A user, as seen by themselves; `devices` is the push token registered last."""

    gender: str | None = None
    devices: VendorToken | None = None


class PublicUser(UserFields):
    """A user, as seen by members of a common group."""

    role: Role | None = None
    membership_updated_at: (
        Annotated[
            DateText, Meta(description="Among the members of a group: when they got their role.")
        ]
        | None
    ) = None


class UserConnection(Reply):
    """A page of users."""

    items: list[PublicUser]
    next_token: str | None = None


class UserQuery(Query):
    """Which user."""

    user_id: Id


class UserChange(Body):
    """Changes to the caller's own user."""

    gender: Annotated[str, Meta(max_length=64)] | None = None
    name: Name | None = None
    first_name: Name | None = None
    last_name: Name | None = None


class UserInput(Body):
    """A user to create."""

    email: Email
    last_name: Name
    # `firstname` in requests, `firstName` in responses.
    first_name: Name | None = field(default=None, name="firstname")


class VendorTokenInput(Body):
    """A push token to register for the caller."""

    token: Token
    device_name: Name | None = None


class VendorTokenQuery(Query):
    """Which push token."""

    token: Token


def user_wire(user: UserValue, push: users.RegisteredPushToken | None) -> User:
    devices = vendor_token_wire(push) if push else None
    return User(**_user_fields(user), gender=user.gender, devices=devices)


def public_user_wire(
    user: UserValue, role: RoleValue | None = None, membership_updated_at: Moment | None = None
) -> PublicUser:
    return PublicUser(
        **_user_fields(user),
        role=Role.show(role) if role else None,
        membership_updated_at=format_optional_date(membership_updated_at),
    )


def _user_fields(user: UserValue) -> dict[str, Any]:
    return {
        "id": user.id,
        "email": user.email,
        "name": user.name,
        "seen_at": format_optional_date(user.seen_at),
        "first_name": user.first_name,
        "last_name": user.last_name,
        "created_at": format_date(user.created_at),
        "updated_at": format_date(user.updated_at),
    }


def vendor_token_wire(registered: users.RegisteredPushToken) -> VendorToken:
    push = registered.push
    return VendorToken(
        token=registered.token,
        type=push.type,
        created_at=format_date(push.created_at),
        created_by=push.created_by,
        device_name=push.device_name,
        enabled=push.is_enabled,
    )


def get_me(context: Context) -> User:
    """Get the caller's own user.

    403 for an app client.
    """
    user = users.get_current(context.tx, context.actor)
    if context.tx.origin.issued_by is not None:  # the push token is for the user alone
        return user_wire(user, None)
    return user_wire(user, users.get_latest_push_token(context.tx, user))


def get_user(context: Context, query: UserQuery) -> User | PublicUser:
    """Get a user.

    The full form for the caller, and the public form for members of groups in which the caller has
    `member.read`.
    """
    if context.actor.kind == "user" and query.user_id == context.actor.id:
        return get_me(context)
    return public_user_wire(users.get_visible(context.tx, context.actor, query.user_id))


def list_users(context: Context, query: Paged) -> UserConnection:
    """List users.

    The members of all groups in which the caller has `member.read`, each once and without a role;
    for operators all users.
    """
    page = users.list_page(context.tx, context.actor, context.page_tokens.page_request(query))
    return UserConnection(
        items=[public_user_wire(user) for user in page.items],
        next_token=context.page_tokens.next_token(query, page),
    )


def update_user(context: Context, body: UserChange) -> User:
    """Update the caller's own user."""
    user = users.update_current(
        context.tx,
        context.actor,
        gender=body.gender,
        name=body.name,
        first_name=body.first_name,
        last_name=body.last_name,
    )
    return user_wire(user, users.get_latest_push_token(context.tx, user))


def create_user(context: Context, body: UserInput) -> User:
    """Create a user.

    The user belongs to no group and has no credentials; the operator issues those.
    """
    user = users.create(
        context.tx, context.actor, body.email, first_name=body.first_name, last_name=body.last_name
    )
    return user_wire(user, None)


def register_vendor_token(context: Context, body: VendorTokenInput) -> VendorToken:
    """Register a push token.

    A token registered by another user is moved to the caller.
    """
    return vendor_token_wire(
        users.register_push_token(
            context.tx, context.actor, body.token, body.device_name, context.services.quotas
        )
    )


def delete_vendor_token(context: Context, query: VendorTokenQuery) -> GenericReturnBoolean:
    """Delete one of the caller's push tokens."""
    users.remove_push_token(context.tx, context.actor, query.token)
    return GenericReturnBoolean(message="The push token was deleted.", value=True)


_route = partial(Route, tag="Users", object_rule="the user behind the token")

ROUTES = [
    _route(
        "GET",
        "/user/me",
        get_me,
        OWN,
        has_secrets=True,
    ),
    _route(
        "GET",
        "/user",
        get_user,
        "member.read",
        object_rule="in some group of the user, or oneself",
        has_secrets=True,
    ),
    _route(
        "GET",
        "/users",
        list_users,
        "member.read",
        object_rule="in some group of each user; operators see all",
        is_addition=True,
    ),
    _route("PUT", "/user", update_user, OWN),
    _route(
        "POST",
        "/user",
        create_user,
        "user.create",
        object_rule="operators only",
        conflicts="The e-mail address belongs to a user.",
    ),
    _route(
        "PUT",
        "/user/vendorToken",
        register_vendor_token,
        OWN,
        conflicts="The user has as many push tokens as a user may have.",
    ),
    _route(
        "DELETE",
        "/user/vendorToken",
        delete_vendor_token,
        OWN,
        object_rule="a push token of the user behind the token",
    ),
]
