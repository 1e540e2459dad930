"""Sessions: people sign in, see where they are signed in, and sign out."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import msgspec

from longwire.api.identity.session_shapes import (
    CREATE_OPENAPI,
    END_OPENAPI,
    GET_OPENAPI,
    LINK_OPENAPI,
    SETTINGS_OPENAPI,
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
from longwire.api.identity.users import user_wire
from longwire.api.services import Context
from longwire.api.types import GenericReturnBoolean
from longwire.clock import Moment
from longwire.dates import format_date
from longwire.delivery.mail.sign_in_mail import LinkRequest, SignInMailer
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
from longwire.identity.passwords import PasswordHashing
from longwire.identity.rate_limiter import (
    AddressLimiter,
    AttemptLimiter,
    FailureThrottle,
    RateLimiter,
)
from longwire.identity.sessions import NewSession, SessionRules
from longwire.identity.sign_in_links import LinkPurpose
from longwire.model import Actor, LinkSource, Origin, Session, SignInMethod
from longwire.store.database import Database, Tx
from longwire.store.identity.users import email_key
from longwire.web.authentication import Authenticator
from longwire.web.fields import InputLimits
from longwire.web.routing import (
    FORM_BYTES_MAX,
    NO_TOKEN,
    OWN,
    PlainRoute,
    Request,
    Response,
    Route,
    build_field_locations,
    require_json,
)
from longwire.web.session_cookies import (
    get_user_agent,
    require_own_site,
    with_session,
    without_session,
)
from longwire.web.validation import decode_body, decode_query

PATH = "/session"
# The same whatever is wrong: an unknown account, a wrong secret, one that has expired.
SIGN_IN_FAILED = "Signing in failed: it is unknown, wrong or expired."
LINK_REQUESTED = "If there is a user with this address, a mail with a link is on its way."
WAYS = ("link", "email and password", "clientId and clientSecret")
LINK_CHARACTERS = 12  # of a link, by which failed attempts with it are counted


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
            SignInChangeItem(
                timestamp=format_date(each.at),
                change=each.action,
                name=each.object_name,
                by_other=each.actor_id != user.id or each.issued_by is not None,
                address=each.address,
            )
            for each in sign_in_methods.list_changes(context.tx, user)
        ]
    )


def _item(session: Session, *, is_this: bool) -> SessionItem:
    return SessionItem(
        session_id=session.id,
        method=session.method.value,
        address=session.address,
        user_agent=session.user_agent,
        created_at=format_date(session.created_at),
        seen_at=format_date(session.seen_at),
        expires_at=format_date(session.expires_at),
        is_this=is_this,
        issued_by=sessions.get_other_issuer(session),
    )


ROUTES = [
    Route(
        "GET",
        "/sessions",
        list_sessions,
        OWN,
        object_rule="the user behind the token or cookie",
        tag="Sessions",
        is_addition=True,
    ),
    Route(
        "GET",
        "/user/signInChanges",
        list_sign_in_changes,
        OWN,
        object_rule="the user behind the token or cookie",
        tag="Sessions",
        is_addition=True,
    ),
]


@dataclass(frozen=True, slots=True)
class SignInGuards:
    """What keeps strangers from guessing, and from sending mail."""

    failures: FailureThrottle
    client_failures: FailureThrottle  # shared with the token endpoint
    codes: AttemptLimiter  # of authenticator apps, by user and what they come with
    mails: AddressLimiter  # links that are requested by mail
    sessions: RateLimiter  # those that are created, by user or client id


class SessionEndpoints:
    """Signs people in and out; these responses set and remove the cookie."""

    def __init__(
        self,
        database: Database,
        authenticator: Authenticator,
        rules: SessionRules,
        limits: InputLimits,
        *,
        base_url: str,
        settings: ConsoleSettings,
        mailer: SignInMailer,
        guards: SignInGuards,
        hashing: PasswordHashing,
    ) -> None:
        self._database = database
        self._authenticator = authenticator
        self._rules = rules
        self._limits = limits
        self._base_url = base_url
        self._settings = settings
        self._mailer = mailer
        self._guards = guards
        self._hashing = hashing

    async def get(self, request: Request, body: bytes) -> Response:
        caller = await self._authenticator.authenticate(request)
        session = caller.session
        if session is None:
            raise NotAuthenticated("An access token is not a session; sign in first.")
        info = await self._database.read(lambda tx: describe_session(tx, session))
        return Response(200, msgspec.json.encode(info))

    async def create(self, request: Request, body: bytes) -> Response:
        require_own_site(request, self._authenticator.public_origin)
        if not request.is_confidential:
            raise BadInput("Sign in over HTTPS, or on this machine.")
        require_json(request)
        given = decode_body(body, SignInInput, self._limits)
        new, info = await self._sign_in(request, given)
        return with_session(Response(200, msgspec.json.encode(info)), request, new)

    async def end(self, request: Request, body: bytes) -> Response:
        caller = await self._authenticator.authenticate(request)
        query = decode_query(request.query_string, SessionQuery, self._limits)
        own = caller.session.id if caller.session is not None else None
        session_id = query.session_id or own
        if session_id is None:
            raise BadInput(field_errors=[FieldError("session_id", "is required without a cookie")])
        if session_id != own:
            caller.require_oneself()

        def work(tx: Tx) -> None:
            tx.origin = caller.build_origin(request)
            sessions.end(tx, caller.actor, session_id)

        await self._database.write(work)
        done = GenericReturnBoolean(message="The session has ended.", value=True)
        response = Response(200, msgspec.json.encode(done))
        return without_session(response, request) if session_id == own else response

    async def create_link(self, request: Request, body: bytes) -> Response:
        """Mail a link, or show one; nobody learns whether there is a user with an address."""
        require_json(request)
        given = decode_body(body, LinkInput, self._limits)
        if given.show:
            return await self._show_link(request, given.email, given.group_id)
        require_own_site(request, self._authenticator.public_origin)
        self._guards.mails.acquire(request.address)
        origin = Origin(request.address, request.request_id)
        self._mailer.enqueue(LinkRequest(given.email, origin))
        return Response(200, msgspec.json.encode(LinkReturn(message=LINK_REQUESTED)))

    async def _show_link(self, request: Request, email: str, group_id: str | None) -> Response:
        caller = await self._authenticator.authenticate(request)
        sessions.require_fresh(caller.session, self._database.context.clock.now())
        if group_id is None:
            raise BadInput(field_errors=[FieldError("group_id", "is required with show")])

        def work(tx: Tx) -> str:
            tx.origin = caller.build_origin(request)
            return sign_in_links.create_to_show(tx, caller.actor, email, group_id)

        secret = await self._database.write(work)
        url = sign_in_links.build_url(self._base_url, secret, LinkPurpose.CONFIRM)
        shown = LinkReturn(message="Whoever opens this link is signed in.", url=url)
        return Response(200, msgspec.json.encode(shown))

    async def get_settings(self, request: Request, body: bytes) -> Response:
        return Response(200, msgspec.json.encode(self._settings))

    async def _sign_in(
        self, request: Request, given: SignInInput
    ) -> tuple[NewSession, SessionInfo]:
        given_names = {each for each in given.__struct_fields__ if getattr(given, each) is not None}
        if {"link"} <= given_names <= {"link", "totp"}:
            return await self._sign_in_by_link(request, given.link or "", given.totp)
        if {"email", "password"} <= given_names <= {"email", "password", "totp"}:
            email, password = given.email or "", given.password or ""
            return await self._sign_in_by_password(request, email, password, given.totp)
        if given_names == {"client_id", "client_secret"}:
            client_id, secret = given.client_id or "", given.client_secret or ""
            return await self._sign_in_as_client(request, client_id, secret)
        raise BadInput(f"Send one of these: {'; '.join(WAYS)}.")

    async def _sign_in_by_link(
        self, request: Request, secret: str, totp_code: str | None
    ) -> tuple[NewSession, SessionInfo]:
        # By link and by address: nobody else at an address is locked out by somebody's failures.
        account = secret[:LINK_CHARACTERS]

        def work(tx: Tx) -> tuple[NewSession, SessionInfo]:
            code = sign_in_links.get_valid(tx, secret)
            if code.source is not LinkSource.TERMINAL:
                totp.require(tx, code.user_id, totp_code)
            sign_in_links.redeem(tx, code)
            return self._create(
                tx, request, code.user_id, SignInMethod.LINK, issued_by=code.issued_by
            )

        async with self._limiting_failures(request, account):
            # Anybody may send anything: what is invalid writes nothing.
            code = await self._database.read(lambda tx: sign_in_links.get_valid(tx, secret))
            async with self._limiting_codes(code.user_id, code.source, totp_code):
                result = await self._database.write(work)
        if code.source is not LinkSource.SHOWN:
            # Whoever guesses codes with the password does not keep its owner out by that.
            self._guards.codes.refill((code.user_id, SignInMethod.PASSWORD))
        return result

    async def _sign_in_by_password(
        self, request: Request, email: str, password: str, totp_code: str | None
    ) -> tuple[NewSession, SessionInfo]:
        if SignInMethod.PASSWORD not in self._settings.sign_in:
            raise NotAllowed("The operator has turned passwords off.")
        address, key = request.address, email_key(email)
        async with self._limiting_failures(request, key):
            account = await self._database.read(
                lambda tx: passwords.find_account(tx, email, address)
            )
            is_known = self._guards.failures.has_succeeded(address, key) or (
                account is not None and account.is_known_there
            )
            stored = account.hash if account is not None else None
            matches = await self._hashing.matches(stored, password, address, is_known=is_known)
            if account is None or not matches:
                raise NotAuthenticated
            new_hash = None
            if passwords.needs_rehash(account.hash):
                new_hash = await self._hashing.hash(password, account.user_id)

            def work(tx: Tx) -> tuple[NewSession, SessionInfo]:
                passwords.require_unchanged(tx, account)
                totp.require(tx, account.user_id, totp_code)
                if new_hash is not None:
                    passwords.save_rehashed(tx, account, new_hash)
                return self._create(tx, request, account.user_id, SignInMethod.PASSWORD)

            async with self._limiting_codes(account.user_id, SignInMethod.PASSWORD, totp_code):
                with self._limiting_sessions(account.user_id):
                    return await self._database.write(work)

    @asynccontextmanager
    async def _limiting_failures(self, request: Request, account: str) -> AsyncIterator[None]:
        """Bound failures, and make them all look alike; a missing code is none."""
        try:
            async with self._guards.failures.attempt(request.address, account):
                yield
        except TotpRequired:
            raise
        except NotAuthenticated:
            raise NotAuthenticated(SIGN_IN_FAILED) from None

    @contextmanager
    def _limiting_sessions(self, key: str) -> Iterator[None]:
        """Bound how often somebody signs in: one session too many ends another, for which every
        process drops what it has cached about everybody."""
        self._guards.sessions.acquire(key)
        try:
            yield
        except Exception:
            self._guards.sessions.give_back(key)
            raise

    @asynccontextmanager
    async def _limiting_codes(
        self, user_id: str, way: SignInMethod | LinkSource, totp_code: str | None
    ) -> AsyncIterator[None]:
        """Codes are short: bound how many are tried for a user, from whatever addresses.

        Each way has a limit of its own: whoever knows the password does not know the mailbox, and
        locks nobody out who has it.
        """
        if totp_code is None:
            yield
            return
        async with self._guards.codes.attempt((user_id, way)):
            yield

    async def _sign_in_as_client(
        self, request: Request, client_id: str, secret: str
    ) -> tuple[NewSession, SessionInfo]:
        """With the credentials of a user, by the rate limit that the token endpoint has."""

        def work(tx: Tx) -> tuple[NewSession, SessionInfo]:
            client = tokens.authenticate_client(tx, client_id, secret)
            if client.user_id is None:  # an app client is nobody
                raise NotAuthenticated
            return self._create(
                tx,
                request,
                client.user_id,
                SignInMethod.CLIENT,
                client_id=client.id,
                ends_at=client.expires_at,
            )

        try:
            async with self._guards.client_failures.attempt(request.address, client_id):
                with self._limiting_sessions(client_id):
                    return await self._database.write(work)
        except NotAuthenticated:
            raise NotAuthenticated(SIGN_IN_FAILED) from None

    def _create(
        self,
        tx: Tx,
        request: Request,
        user_id: str,
        method: SignInMethod,
        *,
        client_id: str | None = None,
        issued_by: str | None = None,
        ends_at: Moment | None = None,
    ) -> tuple[NewSession, SessionInfo]:
        tx.origin = Origin(request.address, request.request_id)
        new = sessions.create(
            tx,
            user_id,
            method,
            address=request.address,
            user_agent=get_user_agent(request),
            rules=self._rules,
            client_id=client_id,
            issued_by=issued_by,
            ends_at=ends_at,
        )
        return new, describe_session(tx, new.session)

    def routes(self) -> list[PlainRoute]:
        return [
            PlainRoute(
                method="GET",
                path=PATH,
                handler=self.get,
                permission=OWN,
                object_rule="the session of the cookie",
                tag="Sessions",
                openapi=GET_OPENAPI,
                schemas=(SessionInfo,),
            ),
            PlainRoute(
                method="POST",
                path=PATH,
                handler=self.create,
                body_bytes_max=FORM_BYTES_MAX,
                permission=NO_TOKEN,
                object_rule="whoever can prove who they are",
                tag="Sessions",
                openapi=CREATE_OPENAPI,
                schemas=(SignInInput, SessionInfo),
                field_locations=build_field_locations(None, SignInInput),
            ),
            PlainRoute(
                method="DELETE",
                path=PATH,
                handler=self.end,
                body_bytes_max=FORM_BYTES_MAX,
                permission=OWN,
                object_rule="a session of the user behind the token or cookie",
                tag="Sessions",
                openapi=END_OPENAPI,
                schemas=(GenericReturnBoolean,),
                field_locations=build_field_locations(SessionQuery, None),
            ),
            PlainRoute(
                method="POST",
                path="/session/link",
                handler=self.create_link,
                body_bytes_max=FORM_BYTES_MAX,
                permission=NO_TOKEN,
                object_rule="with `show`: a fresh session, member.write in the group, and all that"
                " the user holds",
                tag="Sessions",
                openapi=LINK_OPENAPI,
                schemas=(LinkInput, LinkReturn),
                field_locations=build_field_locations(None, LinkInput),
            ),
            PlainRoute(
                method="GET",
                path="/console/settings",
                handler=self.get_settings,
                permission=NO_TOKEN,
                object_rule="reveals nothing about any group",
                tag="Sessions",
                openapi=SETTINGS_OPENAPI,
                schemas=(ConsoleSettings,),
            ),
        ]


def describe_session(tx: Tx, session: Session) -> SessionInfo:
    user = users.get_current(tx, Actor("user", session.user_id))
    is_own = sessions.get_other_issuer(session) is None
    return SessionInfo(
        user=user_wire(user, users.get_latest_push_token(tx, user) if is_own else None),
        is_operator=user.is_operator,
        method=session.method.value,
        created_at=format_date(session.created_at),
        expires_at=format_date(session.expires_at),
        issued_by=sessions.get_other_issuer(session),
        is_fresh=sessions.is_fresh(session, tx.now),
        has_password=passwords.has_password(tx, user.id),
        has_totp=totp.is_enabled(tx, user.id),
    )
