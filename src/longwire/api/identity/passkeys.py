"""Passkeys: registered by whoever has just signed in, and then a way to sign in by themselves."""

import asyncio
import importlib
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, field

from longwire.api.identity.session_cookies import session_cookie
from longwire.api.identity.session_shapes import SessionInfo
from longwire.api.identity.sessions import (
    BY_PROOF,
    SIGN_IN_FAILED,
    create_session,
    describe_session,
    require_confidential,
)
from longwire.api.replies import Shown
from longwire.api.services import AsyncContext, Context
from longwire.api.types import GenericReturnBoolean
from longwire.errors import Conflict, NotAuthenticated, not_found
from longwire.identity import sessions, users
from longwire.identity.passkeys import RelyingParty
from longwire.identity.sessions import NewSession
from longwire.identity.sign_in_methods import SignInChange
from longwire.model import Passkey, SignInMethod
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity.passkeys import PASSKEYS
from longwire.web.fields import Body, DateText, Id, Query, Reply
from longwire.web.routing import NO_TOKEN, OWN, WithCookies, serves

BODY_BYTES_MAX = 16 * 1024
# Imported on demand: its library is large, and not every service has passkeys.
_CEREMONIES = "longwire.identity.passkey_ceremonies"

_CREDENTIAL = {"id": "AAECAw", "rawId": "AAECAw", "type": "public-key", "response": {}}

PasskeyId = Annotated[str, Meta(examples=["psk_vzpeqxr5mxjrq2uy6ct3mlgw"])]
PasskeyName = Annotated[
    str,
    Meta(min_length=1, max_length=64, description="What its owner calls it.", examples=["Phone"]),
]
Options = Annotated[
    dict[str, Any],
    Meta(
        description="As `PublicKeyCredential.parseCreationOptionsFromJSON` and"
        " `parseRequestOptionsFromJSON` take them. Valid for five minutes, and once.",
        examples=[{"challenge": "dGhlIGNoYWxsZW5nZQ", "rpId": "longwire.example.com"}],
    ),
]
Credential = Annotated[
    dict[str, Any],
    Meta(
        description="What the browser returned, as its method `toJSON` writes it.",
        examples=[_CREDENTIAL],
    ),
]


class PasskeyOptions(Reply):
    """What a browser needs to create a passkey, or to use one."""

    public_key: Options


class PasskeyInput(Body):
    """A passkey that a browser has created."""

    name: PasskeyName
    credential: Credential


class PasskeyUpdate(Body):
    """Another name for a passkey."""

    passkey_id: Annotated[Id, Meta(examples=["psk_vzpeqxr5mxjrq2uy6ct3mlgw"])]
    name: PasskeyName


class PasskeyQuery(Query):
    """Which passkey."""

    passkey_id: Annotated[Id, Meta(examples=["psk_vzpeqxr5mxjrq2uy6ct3mlgw"])]


class PasskeySignIn(Body):
    """The response of an authenticator."""

    credential: Credential


class PasskeyItem(Shown[Passkey]):
    """A passkey of the caller."""

    id: PasskeyId = field(name="passkeyId")
    name: PasskeyName
    is_synced: Annotated[
        bool, Meta(description="Whether its owner's other devices have it too.", examples=[True])
    ]
    created_at: DateText
    seen_at: Annotated[DateText, Meta(description="Its last use.")] | None = None


class PasskeyConnection(Reply):
    """All passkeys of the caller, the first one first."""

    items: list[PasskeyItem]


_serves = partial(
    serves,
    object_rule="a user's own passkeys",
    tag="Sessions",
    is_addition=True,
    body_bytes_max=BODY_BYTES_MAX,
)
_serves_browsers = partial(_serves, own_site=True, takes_cors=False, has_secrets=True)


# --- one's own passkeys ---


@_serves("GET", "/user/passkeys", OWN)
def list_own(context: Context) -> PasskeyConnection:
    """List the caller's passkeys."""
    tx = context.tx
    user = users.get_current(tx, context.actor)
    found = PASSKEYS.list_all(tx, user_id=user.id, order="created_at")
    return PasskeyConnection(items=[PasskeyItem.show(each) for each in found])


@_serves("PUT", "/user/passkey", OWN)
def rename(context: Context, body: PasskeyUpdate) -> PasskeyItem:
    """Rename a passkey.

    Needs a session that is younger than ten minutes (403, `session_not_fresh`).
    """
    sessions.require_fresh(context.session, context.tx.now)
    passkey = _get_own(context, body.passkey_id)
    renamed = replace(passkey, name=body.name)
    PASSKEYS.save(context.tx, passkey, renamed)
    _log(context, SignInChange.PASSKEY_RENAMED, renamed)
    return PasskeyItem.show(renamed)


@_serves("DELETE", "/user/passkey", OWN)
def delete(context: Context, query: PasskeyQuery) -> GenericReturnBoolean:
    """Delete a passkey.

    The sessions that were created with it end. Needs a session that is younger than ten minutes
    (403, `session_not_fresh`).
    """
    sessions.require_fresh(context.session, context.tx.now)
    tx, passkey = context.tx, _get_own(context, query.passkey_id)
    PASSKEYS.delete(tx, passkey.id)
    sessions.end_where(tx, passkey.user_id, lambda session: session.client_id == passkey.id)
    _log(context, SignInChange.PASSKEY_DELETED, passkey)
    mailer = context.services.sign_in.mailer
    mailer.notify_on_commit(tx, context.actor, SignInChange.PASSKEY_DELETED)
    return GenericReturnBoolean(message="The passkey is deleted.", value=True)


def _get_own(context: Context, passkey_id: str) -> Passkey:
    user = users.get_current(context.tx, context.actor)
    passkey = PASSKEYS.find(context.tx, id=passkey_id, user_id=user.id)
    if passkey is None:
        raise not_found("passkey_id", "passkey of yours")
    return passkey


def _log(context: Context, change: SignInChange, passkey: Passkey) -> None:
    tx, actor, user_id = context.tx, context.actor, passkey.user_id
    audit.log(tx, actor, change, user_id, name=passkey.name, detail=passkey.id)


# --- with a browser: registering and signing in ---


@_serves_browsers(
    "POST",
    "/user/passkey/options",
    OWN,
    result="The options.",
    statuses=(400, 401, 403, 408, 409, 413, 429, 431, 503),
)
async def get_registration_options(context: AsyncContext) -> PasskeyOptions:
    """Begin to register a passkey.

    For `navigator.credentials.create`. Needs a session that is younger than ten minutes (403); an
    access token does not do. 409 if the service has no host name, or no HTTPS: browsers have no
    passkeys there.
    """
    party = _require_party(context)
    ceremonies = await _load_ceremonies()

    def work(tx: Tx) -> dict[str, Any]:
        sessions.require_fresh(context.caller.session, tx.now)
        options: dict[str, Any] = ceremonies.build_registration_options(tx, context.actor, party)
        return options

    return PasskeyOptions(public_key=await context.read(work))


@_serves_browsers(
    "POST",
    "/user/passkey",
    OWN,
    result="The passkey.",
    example={"name": "Phone", "credential": _CREDENTIAL},
    statuses=(400, 401, 403, 408, 409, 413, 415, 429, 431, 503),
)
async def register(context: AsyncContext, body: PasskeyInput) -> PasskeyItem:
    """Register a passkey.

    Its authenticator must have verified the user, by a fingerprint, a PIN or the like, and keep the
    passkey itself. Needs a session that is younger than ten minutes (403). 409 if the passkey is
    registered already, or the user has too many.
    """
    party, mailer = _require_party(context), context.services.sign_in.mailer
    ceremonies = await _load_ceremonies()

    def work(tx: Tx) -> Passkey:
        sessions.require_fresh(context.caller.session, tx.now)
        mailer.notify_on_commit(tx, context.actor, SignInChange.PASSKEY_CREATED)
        quotas = context.services.quotas
        passkey: Passkey = ceremonies.register(
            tx, context.actor, party, body.credential, body.name, quotas
        )
        return passkey

    return PasskeyItem.show(await context.write(work))


@_serves_browsers(
    "POST",
    "/session/passkey/options",
    NO_TOKEN,
    object_rule=BY_PROOF,
    result="The options.",
    statuses=(400, 403, 408, 409, 413, 431, 503),
)
async def get_sign_in_options(context: AsyncContext) -> PasskeyOptions:
    """Begin to sign in with a passkey.

    For `navigator.credentials.get`. The authenticator knows which passkeys it has for this site, so
    nobody has to say who they are.
    """
    party = _require_party(context)
    ceremonies = await _load_ceremonies()
    options = await context.read(lambda tx: ceremonies.build_sign_in_options(tx, party))
    return PasskeyOptions(public_key=options)


@_serves_browsers(
    "POST",
    "/session/passkey",
    NO_TOKEN,
    object_rule=BY_PROOF,
    result="Signed in.",
    example={"credential": _CREDENTIAL},
    statuses=(400, 401, 403, 408, 409, 413, 415, 429, 431, 503),
)
async def sign_in(context: AsyncContext, body: PasskeySignIn) -> WithCookies[SessionInfo]:
    """Sign in with a passkey.

    Sets the cookie of a session. The same 401 for everything that is not a passkey of somebody,
    used for the first time for a challenge that is not older than five minutes.
    """
    require_confidential(context.request)
    party = _require_party(context)
    ceremonies = await _load_ceremonies()

    def work(tx: Tx) -> tuple[NewSession, SessionInfo]:
        used: Passkey = ceremonies.authenticate(tx, party, body.credential)
        method = SignInMethod.PASSKEY
        new = create_session(context, tx, used.user_id, method, client_id=used.id)
        return new, describe_session(tx, new.session)

    failures = context.services.sign_in.guards.passkeys
    try:
        async with failures.attempt(context.request.address):
            new, info = await context.write(work)
    except NotAuthenticated:
        raise NotAuthenticated(SIGN_IN_FAILED) from None
    return WithCookies(info, (session_cookie(new),))


async def _load_ceremonies() -> Any:
    # In a thread, so that other requests do not wait for it.
    return await asyncio.to_thread(importlib.import_module, _CEREMONIES)


def _require_party(context: AsyncContext) -> RelyingParty:
    party = context.services.sign_in.passkey_party
    if party is None:
        raise Conflict("Passkeys need a public_url with https and a host name.")
    return party
