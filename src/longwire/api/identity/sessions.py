"""Sessions: people sign in, see where they are signed in, and sign out."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

from longwire import __version__
from longwire.api.identity.session_cookies import NO_SESSION, session_cookie
from longwire.api.identity.session_shapes import (
    ConsoleSettings,
    LinkInput,
    LinkReturn,
    SessionConnection,
    SessionInfo,
    SessionItem,
    SessionQuery,
    SignInChangeConnection,
    SignInChangeItem,
    SignInInput,
)
from longwire.api.identity.users import show_user
from longwire.api.services import AsyncContext, Context
from longwire.api.types import GenericReturnBoolean
from longwire.delivery.mail.sign_in_mail import LinkRequest
from longwire.errors import (
    BadInput,
    FieldError,
    NotAllowed,
    NotAuthenticated,
    TotpRequired,
)
from longwire.identity import (
    passwords,
    sessions,
    sign_in_links,
    sign_in_methods,
    tokens,
    totp,
    users,
)
from longwire.identity.sessions import NewSession
from longwire.identity.sign_in_links import LinkPurpose
from longwire.model import Actor, LinkSource, Session, SignInMethod
from longwire.store.database import Tx
from longwire.store.identity.users import email_key
from longwire.web.cookies import get_user_agent
from longwire.web.routing import (
    FORM_BYTES_MAX,
    NO_TOKEN,
    OWN,
    Request,
    WithCookies,
    serves,
)

PATH = "/session"
# The same whatever is wrong: an unknown account, a wrong secret, one that has expired.
SIGN_IN_FAILED = "Signing in failed: it is unknown, wrong or expired."
LINK_REQUESTED = "If there is a user with this address, a mail with a link is on its way."
WAYS = ("link", "email and password", "clientId and clientSecret")
LINK_CHARACTERS = 12  # of a link, by which failed attempts with it are counted
BY_PROOF = "whoever can prove who they are"
_BY_TOKEN = "the user behind the token or cookie"

Signed = tuple[NewSession, SessionInfo]

_serves = partial(serves, tag="Sessions", is_addition=True)
# No page of another origin signs anybody in or out.
serves_here = partial(_serves, takes_cors=False, has_secrets=True)
serves_form = partial(serves_here, body_bytes_max=FORM_BYTES_MAX)


@_serves("GET", "/sessions", OWN, object_rule=_BY_TOKEN)
def list_sessions(context: Context) -> SessionConnection:
    """List the caller's sessions.

    403 for an app client, which has none.
    """
    user = users.get_current(context.tx, context.actor)
    own = context.session.id if context.session is not None else None
    found = sessions.list_of(context.tx, user.id)
    if context.tx.origin.issued_by is not None:  # to whom the others are none of their business
        found = [each for each in found if each.id == own]
    return SessionConnection(items=[_item(each, is_this=each.id == own) for each in found])


@_serves("GET", "/user/signInChanges", OWN, object_rule=_BY_TOKEN)
def list_sign_in_changes(context: Context) -> SignInChangeConnection:
    """List what changed in how the caller signs in.

    The last 20 changes of the last 90 days, as long as the audit log has them: of the password, the
    authenticator app and passkeys, and links that were shown to somebody. 403 for an app client,
    and in a session whose link was shown to somebody else.
    """
    sessions.require_oneself(context.tx)
    user = users.get_current(context.tx, context.actor)
    return SignInChangeConnection(
        items=[
            SignInChangeItem.show(
                each, by_other=each.actor_id != user.id or each.issued_by is not None
            )
            for each in sign_in_methods.list_changes(context.tx, user)
        ]
    )


def _item(session: Session, *, is_this: bool) -> SessionItem:
    return SessionItem.show(session, is_this=is_this, issued_by=sessions.get_other_issuer(session))


@serves_here("GET", PATH, OWN, object_rule="the session of the cookie", result="The session.")
async def get_session(context: AsyncContext) -> SessionInfo:
    """Get the session of the caller.

    401 without the cookie of a session, also with an access token.
    """
    session = context.caller.session
    if session is None:
        raise NotAuthenticated("An access token is not a session; sign in first.")
    return await context.read(lambda tx: describe_session(tx, session))


@serves_form(
    "DELETE",
    PATH,
    OWN,
    object_rule="a session of the user behind the token or cookie",
    result="Ended.",
    takes_handed_over=True,
    statuses=(400, 401, 403, 404, 408, 413, 429, 431, 503),
)
async def end_session(
    context: AsyncContext, query: SessionQuery
) -> WithCookies[GenericReturnBoolean]:
    """Sign out, or end another session of the caller.

    It ends in every process within two seconds. With a cookie, every request but GET needs the
    header `X-Longwire-Console: 1`, and must not come from another site (403, `cross_site`).
    """
    own = context.caller.session.id if context.caller.session is not None else None
    session_id = query.session_id or own
    if session_id is None:
        raise BadInput(field_errors=[FieldError("session_id", "is required without a cookie")])
    if session_id != own:
        context.caller.require_oneself()
    await context.write(lambda tx: sessions.end(tx, context.actor, session_id))
    done = GenericReturnBoolean(message="The session has ended.", value=True)
    return WithCookies(done, (NO_SESSION,) if session_id == own else ())


@serves_form(
    "POST",
    "/session/link",
    NO_TOKEN,
    object_rule="with `show`: a fresh session, member.write in the group, and all that the user"
    " holds",
    result="Requested, or shown.",
    own_site=lambda body: not body.show,
    example={"email": "ada@example.com", "groupId": "880148294221312", "show": True},
    statuses=(400, 401, 403, 404, 408, 413, 415, 429, 431, 503),
)
async def create_link(context: AsyncContext, body: LinkInput) -> LinkReturn:
    """Mail a link to sign in, or show one.

    Mails a link that signs the user with this address in, once, within 15 minutes; the response is
    the same whether there is such a user or not. With `show` the link is in the response, for the
    caller to hand over: the caller, whose session must be younger than ten minutes (403,
    `session_not_fresh`), needs `member.write` in the group, where the user has accepted an
    invitation, and must hold everything that the user holds anywhere. The session that it begins
    changes no ways to sign in, whoever it is for.
    """
    if body.show:
        return await _show_link(context, body.email, body.group_id)
    sign_in = context.services.sign_in
    sign_in.guards.mails.acquire(context.request.address)
    sign_in.mailer.enqueue(LinkRequest(body.email, context.origin))
    return LinkReturn(message=LINK_REQUESTED)


async def _show_link(context: AsyncContext, email: str, group_id: str | None) -> LinkReturn:
    caller = await context.authenticate()
    sessions.require_fresh(caller.session, context.now)
    if group_id is None:
        raise BadInput(field_errors=[FieldError("group_id", "is required with show")])

    def work(tx: Tx) -> str:
        tx.origin = caller.build_origin(context.request)
        return sign_in_links.create_to_show(tx, caller.actor, email, group_id)

    base_url = context.services.sign_in.base_url
    url = sign_in_links.build_url(base_url, await context.write(work), LinkPurpose.CONFIRM)
    return LinkReturn(message="Whoever opens this link is signed in.", url=url)


@serves_here(
    "GET",
    "/console/settings",
    NO_TOKEN,
    object_rule="reveals nothing about any group",
    result="The settings.",
    statuses=(408, 431),
)
async def get_settings(context: AsyncContext) -> ConsoleSettings:
    """Get what a page needs before signing in.

    The version, which ways to sign in there are, and the tiles of the map.
    """
    sign_in = context.services.sign_in
    folder = sign_in.map_folder
    street_map = await asyncio.to_thread(folder.find) if folder is not None else None
    named = street_map.attribution if street_map is not None else sign_in.map_attribution
    return ConsoleSettings(
        version=__version__,
        sign_in=list(sign_in.methods),
        mail=sign_in.mailer.is_configured,
        oidc_name=sign_in.oidc_name,
        map_tiles=sign_in.map_tiles,
        map_file=f"{street_map.fingerprint}.pmtiles" if street_map is not None else None,
        map_attribution=named or None,
    )


# --- signing in ---


@serves_form(
    "POST",
    PATH,
    NO_TOKEN,
    object_rule=BY_PROOF,
    own_site=True,
    result="Signed in.",
    example={"link": "lwl_HPtmTBiOSgSXmXb0OIvRhFJBmq7Cj1b3BPFLiDBhS4g"},
    statuses=(400, 401, 403, 408, 413, 415, 429, 431, 503),
)
async def sign_in(context: AsyncContext, body: SignInInput) -> WithCookies[SessionInfo]:
    """Sign in.

    Sets the cookie of a session: `__Host-longwire` over HTTPS, and `longwire` over plain HTTP,
    which is possible on the loopback interface only. Needs the header `X-Longwire-Console: 1`. The
    same 401 for everything that does not match.
    """
    require_confidential(context.request)
    given = {each for each in body.__struct_fields__ if getattr(body, each) is not None}
    if {"link"} <= given <= {"link", "totp"}:
        new, info = await _sign_in_by_link(context, body.link or "", body.totp)
    elif {"email", "password"} <= given <= {"email", "password", "totp"}:
        email, password = body.email or "", body.password or ""
        new, info = await _sign_in_by_password(context, email, password, body.totp)
    elif given == {"client_id", "client_secret"}:
        client_id, secret = body.client_id or "", body.client_secret or ""
        new, info = await _sign_in_as_client(context, client_id, secret)
    else:
        raise BadInput(f"Send one of these: {'; '.join(WAYS)}.")
    return WithCookies(info, (session_cookie(new),))


def require_confidential(request: Request) -> None:
    if not request.is_confidential:
        raise BadInput("Sign in over HTTPS, or on this machine.")


async def _sign_in_by_link(context: AsyncContext, secret: str, totp_code: str | None) -> Signed:
    def work(tx: Tx) -> Signed:
        code = sign_in_links.get_valid(tx, secret)
        if code.source is not LinkSource.TERMINAL:
            totp.require(tx, code.user_id, totp_code)
        sign_in_links.redeem(tx, code)
        return _create(context, tx, code.user_id, SignInMethod.LINK, issued_by=code.issued_by)

    # By link and by address: nobody else at an address is locked out by somebody's failures.
    async with _limiting_failures(context, secret[:LINK_CHARACTERS]):
        # Anybody may send anything: what is invalid writes nothing.
        code = await context.read(lambda tx: sign_in_links.get_valid(tx, secret))
        async with _limiting_codes(context, code.user_id, code.source, totp_code):
            result = await context.write(work)
    if code.source is not LinkSource.SHOWN:
        # Whoever guesses codes with the password does not keep its owner out by that.
        context.services.sign_in.guards.codes.refill((code.user_id, SignInMethod.PASSWORD))
    return result


async def _sign_in_by_password(
    context: AsyncContext, email: str, password: str, totp_code: str | None
) -> Signed:
    services = context.services.sign_in
    if SignInMethod.PASSWORD not in services.methods:
        raise NotAllowed("The operator has turned passwords off.")
    address, key = context.request.address, email_key(email)
    async with _limiting_failures(context, key):
        account = await context.read(lambda tx: passwords.find_account(tx, email, address))
        is_known = services.guards.failures.has_succeeded(address, key) or (
            account is not None and account.is_known_there
        )
        stored = account.hash if account is not None else None
        matches = await services.hashing.matches(stored, password, address, is_known=is_known)
        if account is None or not matches:
            raise NotAuthenticated
        new_hash = None
        if passwords.needs_rehash(account.hash):
            new_hash = await services.hashing.hash(password, account.user_id)

        def work(tx: Tx) -> Signed:
            passwords.require_unchanged(tx, account)
            totp.require(tx, account.user_id, totp_code)
            if new_hash is not None:
                passwords.save_rehashed(tx, account, new_hash)
            return _create(context, tx, account.user_id, SignInMethod.PASSWORD)

        way = SignInMethod.PASSWORD
        async with _limiting_codes(context, account.user_id, way, totp_code):
            with _limiting_sessions(context, account.user_id):
                return await context.write(work)


async def _sign_in_as_client(context: AsyncContext, client_id: str, secret: str) -> Signed:
    """With the credentials of a user, by the rate limit that the token endpoint has."""

    def work(tx: Tx) -> Signed:
        client = tokens.authenticate_client(tx, client_id, secret)
        if client.user_id is None:  # an app client is nobody
            raise NotAuthenticated
        method, ends_at = SignInMethod.CLIENT, client.expires_at
        return _create(context, tx, client.user_id, method, client_id=client.id, ends_at=ends_at)

    failures = context.services.sign_in.guards.client_failures
    try:
        async with failures.attempt(context.request.address, client_id):
            with _limiting_sessions(context, client_id):
                return await context.write(work)
    except NotAuthenticated:
        raise NotAuthenticated(SIGN_IN_FAILED) from None


@asynccontextmanager
async def _limiting_failures(context: AsyncContext, account: str) -> AsyncIterator[None]:
    """Bound failures, and make them all look alike; a missing code is none."""
    failures = context.services.sign_in.guards.failures
    try:
        async with failures.attempt(context.request.address, account):
            yield
    except TotpRequired:
        raise
    except NotAuthenticated:
        raise NotAuthenticated(SIGN_IN_FAILED) from None


@contextmanager
def _limiting_sessions(context: AsyncContext, key: str) -> Iterator[None]:
    """Bound how often somebody signs in: one session too many ends another, for which every
    process drops what it has cached about everybody."""
    limiter = context.services.sign_in.guards.sessions
    limiter.acquire(key)
    try:
        yield
    except Exception:
        limiter.give_back(key)
        raise


@asynccontextmanager
async def _limiting_codes(
    context: AsyncContext, user_id: str, way: SignInMethod | LinkSource, totp_code: str | None
) -> AsyncIterator[None]:
    """Codes are short: bound how many are tried for a user, from whatever addresses.

    Each way has a limit of its own: whoever knows the password does not know the mailbox, and
    locks nobody out who has it.
    """
    if totp_code is None:
        yield
        return
    async with context.services.sign_in.guards.codes.attempt((user_id, way)):
        yield


def create_session(
    context: AsyncContext, tx: Tx, user_id: str, method: SignInMethod, **more: Any
) -> NewSession:
    """Begin a session of whoever makes a request; `more` says what it began with."""
    return sessions.create(
        tx,
        user_id,
        method,
        address=context.request.address,
        user_agent=get_user_agent(context.request),
        rules=context.services.sign_in.rules,
        **more,
    )


def _create(
    context: AsyncContext, tx: Tx, user_id: str, method: SignInMethod, **more: Any
) -> Signed:
    new = create_session(context, tx, user_id, method, **more)
    return new, describe_session(tx, new.session)


def describe_session(tx: Tx, session: Session) -> SessionInfo:
    user = users.get_current(tx, Actor("user", session.user_id))
    is_own = sessions.get_other_issuer(session) is None
    return SessionInfo.show(
        session,
        user=show_user(tx, user, is_own=is_own),
        is_operator=user.is_operator,
        issued_by=sessions.get_other_issuer(session),
        is_fresh=sessions.is_fresh(session, tx.now),
        has_password=passwords.has_password(tx, user.id),
        has_totp=totp.is_enabled(tx, user.id),
    )
