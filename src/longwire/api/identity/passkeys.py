"""Passkeys: registered by whoever has just signed in, and then a way to sign in by themselves."""

import asyncio
import importlib
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from longwire.api.identity.session_shapes import OWN_HEADER, SessionInfo
from longwire.api.identity.sessions import SIGN_IN_FAILED, describe_session
from longwire.api.services import Context
from longwire.api.types import GenericReturnBoolean
from longwire.dates import format_date
from longwire.delivery.mail.sign_in_mail import SignInMailer
from longwire.errors import BadInput, Conflict, NotAuthenticated
from longwire.identity import passkeys, sessions
from longwire.identity.passkeys import RelyingParty
from longwire.identity.rate_limiter import AddressLimiter
from longwire.identity.sessions import NewSession, SessionRules
from longwire.identity.sign_in_methods import SignInChange
from longwire.model import Origin, Passkey, SignInMethod
from longwire.quotas import Quotas
from longwire.store.database import Database, Tx
from longwire.web.authentication import Authenticator
from longwire.web.fields import Body, DateText, Id, InputLimits, Query, Reply
from longwire.web.openapi import Json, json_response, problem_responses, schema_ref
from longwire.web.routing import NO_TOKEN, OWN, PlainRoute, Request, Response, Route, require_json
from longwire.web.session_cookies import get_user_agent, require_own_site, with_session
from longwire.web.validation import decode_body

BODY_BYTES_MAX = 16 * 1024

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


class PasskeyItem(Reply):
    """A passkey of the caller."""

    passkey_id: PasskeyId
    name: PasskeyName
    is_synced: Annotated[
        bool, Meta(description="Whether its owner's other devices have it too.", examples=[True])
    ]
    created_at: DateText
    seen_at: Annotated[DateText, Meta(description="Its last use.")] | None = None


class PasskeyConnection(Reply):
    """All passkeys of the caller, the first one first."""

    items: list[PasskeyItem]


# --- one's own passkeys ---


def list_own(context: Context) -> PasskeyConnection:
    """List the caller's passkeys."""
    found = passkeys.list_own(context.tx, context.actor)
    return PasskeyConnection(items=[_item(each) for each in found])


def rename(context: Context, body: PasskeyUpdate) -> PasskeyItem:
    """Rename a passkey.

    Needs a session that is younger than ten minutes (403, `session_not_fresh`).
    """
    sessions.require_fresh(context.session, context.tx.now)
    return _item(passkeys.rename(context.tx, context.actor, body.passkey_id, body.name))


_OWN_PASSKEYS = "a user's own passkeys"
ROUTES = [
    Route(
        "GET",
        "/user/passkeys",
        list_own,
        OWN,
        object_rule=_OWN_PASSKEYS,
        tag="Sessions",
        is_addition=True,
    ),
    Route(
        "PUT",
        "/user/passkey",
        rename,
        OWN,
        object_rule=_OWN_PASSKEYS,
        tag="Sessions",
        is_addition=True,
    ),
]


# --- with a browser: registering and signing in ---


class PasskeyEndpoints:
    """What needs a cookie or sets one; without a relying party browsers have no passkeys here."""

    def __init__(
        self,
        database: Database,
        authenticator: Authenticator,
        party: RelyingParty | None,
        rules: SessionRules,
        limits: InputLimits,
        *,
        quotas: Quotas,
        failures: AddressLimiter,
        mailer: SignInMailer,
    ) -> None:
        self._database = database
        self._authenticator = authenticator
        self._quotas = quotas
        self._party = party
        self._rules = rules
        self._limits = limits
        self._failures = failures
        self._mailer = mailer
        self._ceremonies: Any = None

    async def _load_ceremonies(self) -> Any:
        # Imported on demand: its library is large, and not every service has passkeys. In a thread,
        # so that requests do not wait for it.
        if self._ceremonies is None:
            name = "longwire.identity.passkey_ceremonies"
            self._ceremonies = await asyncio.to_thread(importlib.import_module, name)
        return self._ceremonies

    async def get_registration_options(self, request: Request, body: bytes) -> Response:
        caller = await self._authenticator.authenticate(request)
        party = _require_party(self._party)
        ceremonies = await self._load_ceremonies()

        def work(tx: Tx) -> dict[str, Any]:
            sessions.require_fresh(caller.session, tx.now)
            options: dict[str, Any] = ceremonies.build_registration_options(tx, caller.actor, party)
            return options

        options = await self._database.read(work)
        return Response(200, msgspec.json.encode(PasskeyOptions(public_key=options)))

    async def register(self, request: Request, body: bytes) -> Response:
        caller = await self._authenticator.authenticate(request)
        party = _require_party(self._party)
        require_json(request)
        given = decode_body(body, PasskeyInput, self._limits)
        ceremonies = await self._load_ceremonies()

        def work(tx: Tx) -> Passkey:
            tx.origin = caller.build_origin(request)
            sessions.require_fresh(caller.session, tx.now)
            self._mailer.notify_on_commit(tx, caller.actor, SignInChange.PASSKEY_CREATED)
            passkey: Passkey = ceremonies.register(
                tx, caller.actor, party, given.credential, given.name, self._quotas
            )
            return passkey

        return Response(200, msgspec.json.encode(_item(await self._database.write(work))))

    def delete(self, context: Context, query: PasskeyQuery) -> GenericReturnBoolean:
        """Delete a passkey.

        The sessions that were created with it end. Needs a session that is younger than ten minutes
        (403, `session_not_fresh`).
        """
        sessions.require_fresh(context.session, context.tx.now)
        passkeys.delete(context.tx, context.actor, query.passkey_id)
        self._mailer.notify_on_commit(context.tx, context.actor, SignInChange.PASSKEY_DELETED)
        return GenericReturnBoolean(message="The passkey is deleted.", value=True)

    async def get_sign_in_options(self, request: Request, body: bytes) -> Response:
        require_own_site(request, self._authenticator.public_origin)
        party = _require_party(self._party)
        ceremonies = await self._load_ceremonies()
        options = await self._database.read(lambda tx: ceremonies.build_sign_in_options(tx, party))
        return Response(200, msgspec.json.encode(PasskeyOptions(public_key=options)))

    async def sign_in(self, request: Request, body: bytes) -> Response:
        require_own_site(request, self._authenticator.public_origin)
        if not request.is_confidential:
            raise BadInput("Sign in over HTTPS, or on this machine.")
        require_json(request)
        given = decode_body(body, PasskeySignIn, self._limits)
        party = _require_party(self._party)
        ceremonies = await self._load_ceremonies()

        def work(tx: Tx) -> tuple[NewSession, SessionInfo]:
            tx.origin = Origin(request.address, request.request_id)
            used: Passkey = ceremonies.authenticate(tx, party, given.credential)
            new = sessions.create(
                tx,
                used.user_id,
                SignInMethod.PASSKEY,
                address=request.address,
                user_agent=get_user_agent(request),
                rules=self._rules,
                client_id=used.id,
            )
            return new, describe_session(tx, new.session)

        try:
            async with self._failures.attempt(request.address):
                new, info = await self._database.write(work)
        except NotAuthenticated:
            raise NotAuthenticated(SIGN_IN_FAILED) from None
        return with_session(Response(200, msgspec.json.encode(info)), request, new)

    def routes(self) -> list[Route | PlainRoute]:
        by_session, by_proof = (OWN, _OWN_PASSKEYS), (NO_TOKEN, "whoever can prove who they are")
        delete = Route(
            "DELETE",
            "/user/passkey",
            self.delete,
            OWN,
            object_rule=_OWN_PASSKEYS,
            tag="Sessions",
            is_addition=True,
        )
        ceremonies = [
            PlainRoute(
                method="POST",
                path=path,
                handler=handler,
                body_bytes_max=BODY_BYTES_MAX,
                permission=access[0],
                object_rule=access[1],
                tag="Sessions",
                openapi=openapi,
                schemas=(PasskeyOptions, PasskeyInput, PasskeyItem, PasskeySignIn, SessionInfo),
            )
            for path, handler, access, openapi in (
                ("/user/passkey/options", self.get_registration_options, by_session, _NEW_OPENAPI),
                ("/user/passkey", self.register, by_session, _REGISTER_OPENAPI),
                ("/session/passkey/options", self.get_sign_in_options, by_proof, _OPTIONS_OPENAPI),
                ("/session/passkey", self.sign_in, by_proof, _SIGN_IN_OPENAPI),
            )
        ]
        return [delete, *ceremonies]


def _require_party(party: RelyingParty | None) -> RelyingParty:
    if party is None:
        raise Conflict("Passkeys need a public_url with https and a host name.")
    return party


def _item(passkey: Passkey) -> PasskeyItem:
    return PasskeyItem(
        passkey_id=passkey.id,
        name=passkey.name,
        is_synced=passkey.is_synced,
        created_at=format_date(passkey.created_at),
        seen_at=None if passkey.seen_at is None else format_date(passkey.seen_at),
    )


_NEW_OPENAPI: Json = {
    "summary": "Begin to register a passkey",
    "description": "For `navigator.credentials.create`. Needs a session that is younger than ten"
    " minutes (403); an access token does not do. 409 if the service has no host name, or no HTTPS:"
    " browsers have no passkeys there.",
    "parameters": [OWN_HEADER],
    "responses": {
        "200": json_response("The options.", schema_ref(PasskeyOptions)),
        **problem_responses(400, 401, 403, 408, 409, 413, 429, 431, 503),
    },
}
_REGISTER_OPENAPI: Json = {
    "summary": "Register a passkey",
    "description": "Its authenticator must have verified the user, by a fingerprint, a PIN or the"
    " like, and keep the passkey itself. Needs a session that is younger than ten minutes (403)."
    " 409 if the passkey is registered already, or the user has too many.",
    "parameters": [OWN_HEADER],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": schema_ref(PasskeyInput),
                "example": {"name": "Phone", "credential": _CREDENTIAL},
            }
        },
    },
    "responses": {
        "200": json_response("The passkey.", schema_ref(PasskeyItem)),
        **problem_responses(400, 401, 403, 408, 409, 413, 415, 429, 431, 503),
    },
}
_OPTIONS_OPENAPI: Json = {
    "summary": "Begin to sign in with a passkey",
    "description": "For `navigator.credentials.get`. The authenticator knows which passkeys it has"
    " for this site, so nobody has to say who they are.",
    "security": [],
    "parameters": [OWN_HEADER],
    "responses": {
        "200": json_response("The options.", schema_ref(PasskeyOptions)),
        **problem_responses(400, 403, 408, 409, 413, 431, 503),
    },
}
_SIGN_IN_OPENAPI: Json = {
    "summary": "Sign in with a passkey",
    "description": "Sets the cookie of a session. The same 401 for everything that is not a passkey"
    " of somebody, used for the first time for a challenge that is not older than five minutes.",
    "security": [],
    "parameters": [OWN_HEADER],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": schema_ref(PasskeySignIn),
                "example": {"credential": _CREDENTIAL},
            }
        },
    },
    "responses": {
        "200": json_response("Signed in.", schema_ref(SessionInfo)),
        **problem_responses(400, 401, 403, 408, 409, 413, 415, 429, 431, 503),
    },
}
