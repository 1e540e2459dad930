"""People and their push tokens on the wire."""

from typing import Annotated

from msgspec import Meta, field

from longwire.api.roles import Role, role_wire
from longwire.dates import date_text, optional_date_text
from longwire.identity import users
from longwire.model import Role as RoleValue
from longwire.model import User as UserValue
from longwire.web.routing import OWN, Call, Route
from longwire.web.validation import Body, DateText, Email, Id, Name, Query, Reply

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


class User(Reply):
    """A person as they see themselves; `devices` is the push token registered last."""

    id: str | None = None
    email: str | None = None
    name: str | None = None
    seen_at: DateText | None = None
    first_name: str | None = None
    last_name: str | None = None
    created_at: DateText | None = None
    updated_at: DateText | None = None
    gender: str | None = None
    devices: VendorToken | None = None


class PublicUser(Reply):
    """A person as those see them who share a group."""

    id: str | None = None
    email: str | None = None
    name: str | None = None
    seen_at: DateText | None = None
    first_name: str | None = None
    last_name: str | None = None
    created_at: DateText | None = None
    updated_at: DateText | None = None
    role: Role | None = None


class UserConnection(Reply):
    """A page of people."""

    items: list[PublicUser]
    next_token: str | None = None


class GenericReturn(Reply):
    """What was done, in words."""

    message: str | None = None


class GenericReturnBoolean(Reply):
    """What was done, in words and as a truth value."""

    message: str | None = None
    value: bool | None = None


class UserQuery(Query):
    """Which user."""

    user_id: Id


class UserChange(Body):
    """What is to be different about oneself."""

    gender: Annotated[str, Meta(max_length=64)] | None = None
    name: Name | None = None
    first_name: Name | None = None
    last_name: Name | None = None


class UserInput(Body):
    """A user to create."""

    email: Email
    last_name: Name
    # Spelled with a small n on the way in; answers spell it firstName.
    first_name: Name | None = field(default=None, name="firstname")


class VendorTokenInput(Body):
    """A push token to link to oneself."""

    token: Token
    device_name: Name | None = None


class VendorTokenQuery(Query):
    """Which push token."""

    token: Token


def user_wire(user: UserValue, push: users.Registered | None) -> User:
    return User(
        id=user.id,
        email=user.email,
        name=user.name,
        seen_at=optional_date_text(user.seen_at),
        first_name=user.first_name,
        last_name=user.last_name,
        created_at=date_text(user.created_at),
        updated_at=date_text(user.updated_at),
        gender=user.gender,
        devices=vendor_token_wire(push) if push else None,
    )


def public_user_wire(user: UserValue, role: RoleValue | None = None) -> PublicUser:
    return PublicUser(
        id=user.id,
        email=user.email,
        name=user.name,
        seen_at=optional_date_text(user.seen_at),
        first_name=user.first_name,
        last_name=user.last_name,
        created_at=date_text(user.created_at),
        updated_at=date_text(user.updated_at),
        role=role_wire(role) if role else None,
    )


def vendor_token_wire(registered: users.Registered) -> VendorToken:
    push = registered.push
    return VendorToken(
        token=registered.token,
        type=push.type,
        created_at=date_text(push.created_at),
        created_by=push.created_by,
        device_name=push.device_name,
        enabled=push.is_enabled,
    )


def show_me(call: Call) -> User:
    """Show yourself.

    An app client has no user behind it and gets 403.
    """
    user = users.me(call.tx, call.actor)
    return user_wire(user, users.latest_push_token(call.tx, user))


def show_user(call: Call, query: UserQuery) -> User | PublicUser:
    """Show a user.

    Yourself in full, and in public form those who share a group in which you may see members.
    """
    if call.actor.kind == "user" and query.user_id == call.actor.id:
        return show_me(call)
    return public_user_wire(users.seen(call.tx, call.actor, query.user_id))


def change_user(call: Call, body: UserChange) -> User:
    """Change yourself."""
    user = users.change_me(
        call.tx,
        call.actor,
        gender=body.gender,
        name=body.name,
        first_name=body.first_name,
        last_name=body.last_name,
    )
    return user_wire(user, users.latest_push_token(call.tx, user))


def create_user(call: Call, body: UserInput) -> User:
    """Create a user.

    They belong to no group yet and have no credentials; the operator issues those.
    """
    user = users.create(
        call.tx, call.actor, body.email, first_name=body.first_name, last_name=body.last_name
    )
    return user_wire(user, None)


def register_vendor_token(call: Call, body: VendorTokenInput) -> VendorToken:
    """Link a push token to yourself.

    A token that somebody else registered before moves to you.
    """
    return vendor_token_wire(
        users.register_push_token(call.tx, call.actor, body.token, body.device_name)
    )


def remove_vendor_token(call: Call, query: VendorTokenQuery) -> GenericReturnBoolean:
    """Remove one of your push tokens."""
    users.remove_push_token(call.tx, call.actor, query.token)
    return GenericReturnBoolean(message="The push token was removed.", value=True)


ROUTES = [
    Route(
        method="GET",
        path="/user/me",
        handler=show_me,
        needs=OWN,
        rule="the user behind the token",
        tag="Users",
    ),
    Route(
        method="GET",
        path="/user",
        handler=show_user,
        needs="member.read",
        rule="in some group of the user, or oneself",
        tag="Users",
    ),
    Route(
        method="PUT",
        path="/user",
        handler=change_user,
        needs=OWN,
        rule="the user behind the token",
        tag="Users",
    ),
    Route(
        method="POST",
        path="/user",
        handler=create_user,
        needs="user.create",
        rule="operators only",
        tag="Users",
        conflicts="The e-mail address belongs to a user.",
    ),
    Route(
        method="PUT",
        path="/user/vendorToken",
        handler=register_vendor_token,
        needs=OWN,
        rule="the user behind the token",
        tag="Users",
    ),
    Route(
        method="DELETE",
        path="/user/vendorToken",
        handler=remove_vendor_token,
        needs=OWN,
        rule="a push token of the user behind the token",
        tag="Users",
    ),
]
