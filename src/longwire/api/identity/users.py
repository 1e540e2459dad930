"""Operations on users and their push tokens."""

from dataclasses import replace
from functools import partial
from typing import Annotated

from msgspec import UNSET, Meta, field
from msgspec.structs import asdict

from longwire.api.identity.roles import Role
from longwire.api.replies import Page, Shown
from longwire.api.services import Context
from longwire.api.types import Email, GenericReturnBoolean, LanguageName
from longwire.clock import Moment
from longwire.dates import format_optional_date
from longwire.errors import conflicting_field, not_found
from longwire.identity import access, users
from longwire.model import PushToken
from longwire.model import Role as RoleValue
from longwire.model import User as UserValue
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import users as store
from longwire.store.identity.users import PUSH_TOKENS
from longwire.web.fields import Body, Clearable, DateText, Id, Name, Paged, Query
from longwire.web.routing import OWN, Route

Token = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=4_096,
        description="A push token, or the subscription object of a browser as JSON.",
    ),
]


class VendorToken(Shown[PushToken]):
    """A push token linked to a user."""

    token: str | None = None
    type: str | None = None
    created_at: DateText | None = None
    user_id: str | None = field(default=None, name="createdBy")
    device_name: str | None = None
    is_enabled: bool | None = field(default=None, name="enabled")


class UserFields(Shown[UserValue]):
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
    language: LanguageName | None = None
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


class UserConnection(Page[PublicUser]):
    """A page of users."""


class UserQuery(Query):
    """Which user."""

    user_id: Id


class UserChange(Body):
    """Changes to the caller's own user."""

    gender: Annotated[str, Meta(max_length=64)] | None = None
    name: Name | None = None
    first_name: Name | None = None
    last_name: Name | None = None
    language: Clearable[LanguageName] = UNSET


class UserInput(Body):
    """A user to create."""

    email: Email
    last_name: Name
    # `firstname` in requests, `firstName` in responses.
    first_name: Name | None = field(default=None, name="firstname")
    language: LanguageName | None = None


class VendorTokenInput(Body):
    """A push token to register for the caller."""

    token: Token
    device_name: Name | None = None


class VendorTokenQuery(Query):
    """Which push token."""

    token: Token


def show_user(tx: Tx, user: UserValue, *, is_own: bool = True) -> User:
    """Its push token is for the user alone, not for somebody who was handed a session over."""
    push = store.get_latest_push_token(tx, user.id) if is_own else None
    return User.show(user, devices=push and _show_push_token(tx, push))


def show_public_user(
    user: UserValue, role: RoleValue | None = None, role_since: Moment | None = None
) -> PublicUser:
    return PublicUser.show(
        user,
        role=role and Role.show(role),
        membership_updated_at=format_optional_date(role_since),
    )


def _show_push_token(tx: Tx, push: PushToken) -> VendorToken:
    return VendorToken.show(push, token=users.reveal_push_token(tx, push))


def get_me(context: Context) -> User:
    """Get the caller's own user.

    403 for an app client.
    """
    tx = context.tx
    user = users.get_current(tx, context.actor)
    return show_user(tx, user, is_own=tx.origin.issued_by is None)


def get_user(context: Context, query: UserQuery) -> User | PublicUser:
    """Get a user.

    The full form for the caller, and the public form for members of groups in which the caller has
    `member.read`.
    """
    if context.actor.kind == "user" and query.user_id == context.actor.id:
        return get_me(context)
    return show_public_user(users.get_visible(context.tx, context.actor, query.user_id))


def list_users(context: Context, query: Paged) -> UserConnection:
    """List users.

    The members of all groups in which the caller has `member.read`, each once and without a role;
    for operators all users.
    """
    tx, actor = context.tx, context.actor
    scope = access.scope_all_groups(actor, "member.read")
    page = store.list_page(tx, scope, context.page_tokens.page_request(query))

    def show(item: tuple[UserValue, bool]) -> PublicUser:
        user, is_accepted = item
        return show_public_user(user if is_accepted else users.get_visible(tx, actor, user.id))

    return UserConnection.show(context, query, page, show)


def update_user(context: Context, body: UserChange) -> User:
    """Update the caller's own user."""
    tx = context.tx
    user = users.get_current(tx, context.actor)
    given = asdict(body)
    language = given.pop("language")
    changes = {name: value for name, value in given.items() if value is not None}
    if language is not UNSET:
        changes["language"] = language
    changed = replace(user, **changes, updated_at=tx.now)
    store.USERS.save(tx, user, changed)
    audit.log(tx, context.actor, "user.update", user.id)
    return show_user(tx, changed)


def create_user(context: Context, body: UserInput) -> User:
    """Create a user.

    The user belongs to no group and has no credentials; the operator issues those.
    """
    tx, actor = context.tx, context.actor
    access.require_operator(actor, "user.create")
    if store.get_by_email(tx, body.email):
        raise conflicting_field("email", "is already in use")
    user = users.register(
        tx,
        actor,
        body.email,
        first_name=body.first_name,
        last_name=body.last_name,
        language=body.language,
    )
    return show_user(tx, user)


def register_vendor_token(context: Context, body: VendorTokenInput) -> VendorToken:
    """Register a push token.

    A token registered by another user is moved to the caller.
    """
    tx, token = context.tx, body.token
    user = users.get_current(tx, context.actor)
    push = PushToken(
        sealed_token=tx.keyring.seal(token, users.seal_purpose(user.id)),
        digest=tx.keyring.digest(token),
        type="webpush" if token.lstrip().startswith("{") else "fcm",
        created_at=tx.now,
        user_id=user.id,
        device_name=body.device_name,
    )
    locks.acquire_lock(tx, "push tokens of user", user.id)
    before = PUSH_TOKENS.get(tx, push.digest)
    if before is None or before.user_id != user.id:
        count = PUSH_TOKENS.count(tx, user_id=user.id)
        context.services.quotas.require_room("push_tokens_per_user_max", count)
    if before is None:
        PUSH_TOKENS.insert(tx, push)
    else:
        PUSH_TOKENS.save(tx, before, push)
    audit.log(tx, context.actor, "pushToken.register", user.id)
    return VendorToken.show(push, token=token)


def delete_vendor_token(context: Context, query: VendorTokenQuery) -> GenericReturnBoolean:
    """Delete one of the caller's push tokens."""
    tx = context.tx
    user = users.get_current(tx, context.actor)
    if not PUSH_TOKENS.delete_all(tx, user_id=user.id, digest=tx.keyring.digest(query.token)):
        raise not_found("token", "push token of yours")
    audit.log(tx, context.actor, "pushToken.remove", user.id)
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
