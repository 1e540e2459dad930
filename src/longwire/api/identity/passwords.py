"""Passwords and authenticator apps: people change how they sign in.

Each of these needs proof that it is the person themselves: a session that has just begun, the
present password, or a code.
"""

from contextlib import AbstractAsyncContextManager
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from longwire.api.identity.session_shapes import OWN_HEADER, OWN_SITE
from longwire.api.identity.sessions import SignInGuards
from longwire.api.types import Email, GenericReturn, GenericReturnBoolean
from longwire.delivery.mail.sign_in_mail import LinkRequest, SignInMailer
from longwire.errors import BadInput, NotAllowed, NotAuthenticated, invalid_field
from longwire.identity import passwords, sessions, totp, users
from longwire.identity.passwords import CHARACTERS_MAX, CHARACTERS_MIN, PasswordHashing
from longwire.identity.sign_in_methods import SignInChange
from longwire.model import Origin
from longwire.store.database import Database, Tx
from longwire.web.authentication import Authenticator
from longwire.web.fields import Body, InputLimits, Reply
from longwire.web.openapi import Json, json_response, problem_responses, schema_ref
from longwire.web.routing import (
    FORM_BYTES_MAX,
    NO_TOKEN,
    OWN,
    Caller,
    Handler,
    PlainRoute,
    Request,
    Response,
    build_field_locations,
    require_json,
)
from longwire.web.session_cookies import require_own_site
from longwire.web.validation import decode_body

S = TypeVar("S", bound=Body)

RESET_REQUESTED = (
    "If there is a user with this address, a mail with a link to set a password is on its way."
)
_ONESELF = "the user behind the cookie"


class PasswordInput(Body):
    """A new password, and the present one."""

    new: Annotated[
        str,
        Meta(
            min_length=CHARACTERS_MIN,
            max_length=CHARACTERS_MAX,
            examples=["correct horse battery staple"],
        ),
    ]
    old: (
        Annotated[
            str,
            Meta(
                max_length=CHARACTERS_MAX,
                description="The present password; not needed in the first 10 minutes of a"
                " session.",
                examples=["a staple of horse batteries"],
            ),
        ]
        | None
    ) = None


class PasswordResetInput(Body):
    """Who has forgotten their password."""

    email: Email


class TotpCodeInput(Body):
    """A code of an authenticator app."""

    code: Annotated[str, Meta(min_length=1, max_length=32, examples=["287082"])]


class TotpSecret(Reply):
    """What an authenticator app needs; shown once."""

    secret: Annotated[str, Meta(description="In base32.", examples=["GEZDGNBVGY3TQOJQ"])]
    uri: Annotated[str, Meta(description="The same for a QR code, `otpauth://totp/…`.")]


class TotpRecoveryCodes(Reply):
    """Codes that replace one of the app, each once; shown once."""

    recovery_codes: Annotated[list[str], Meta(examples=[["mzxw-6ytb-oi2d-k3tq"]])]


class PasswordEndpoints:
    """Changes how the caller signs in."""

    def __init__(
        self,
        database: Database,
        authenticator: Authenticator,
        limits: InputLimits,
        *,
        mailer: SignInMailer,
        guards: SignInGuards,
        hashing: PasswordHashing,
    ) -> None:
        self._database = database
        self._authenticator = authenticator
        self._limits = limits
        self._mailer = mailer
        self._guards = guards
        self._hashing = hashing

    async def set_password(self, request: Request, body: bytes) -> Response:
        caller, given = await self._read(request, body, PasswordInput)
        session = sessions.require_own(caller.session)
        user_id = caller.actor.id
        stored = await self._database.read(lambda tx: passwords.get_hash(tx, user_id))
        if stored is None or given.old is None:
            sessions.require_fresh(session, self._database.context.clock.now())
        else:
            await self._require_password(request, user_id, stored, given.old)
        new_hash = await self._hashing.hash(given.new, user_id)

        def work(tx: Tx) -> None:
            tx.origin = Origin(request.address, request.request_id)
            if passwords.get_hash(tx, user_id) != stored:
                raise NotAllowed("The password was changed meanwhile.")
            passwords.set_password(tx, caller.actor, new_hash, session)
            self._mailer.notify_on_commit(tx, caller.actor, SignInChange.PASSWORD_SET)

        await self._database.write(work)
        return _encode(GenericReturnBoolean(message="The password is set.", value=True))

    async def _require_password(
        self, request: Request, user_id: str, stored: str, password: str
    ) -> None:
        """Guesses of the present password count like those of signing in."""
        try:
            async with self._guards.failures.attempt(request.address, user_id):
                if not await self._hashing.matches(stored, password, user_id, is_known=True):
                    raise NotAuthenticated
        except NotAuthenticated:
            raise invalid_field("old", "is not the present password") from None

    async def request_reset(self, request: Request, body: bytes) -> Response:
        require_own_site(request, self._authenticator.public_origin)
        require_json(request)
        given = decode_body(body, PasswordResetInput, self._limits)
        self._guards.mails.acquire(request.address)
        origin = Origin(request.address, request.request_id)
        self._mailer.enqueue(LinkRequest(given.email, origin, resets_password=True))
        return _encode(GenericReturn(message=RESET_REQUESTED))

    async def enrol_totp(self, request: Request, body: bytes) -> Response:
        caller = await self._authenticate(request)
        sessions.require_fresh(caller.session, self._database.context.clock.now())

        def work(tx: Tx) -> TotpSecret:
            tx.origin = Origin(request.address, request.request_id)
            secret, uri = totp.enrol(tx, users.get_current(tx, caller.actor))
            return TotpSecret(secret=secret, uri=uri)

        return _encode(await self._database.write(work))

    async def confirm_totp(self, request: Request, body: bytes) -> Response:
        caller, given = await self._read(request, body, TotpCodeInput)
        sessions.require_fresh(caller.session, self._database.context.clock.now())

        def work(tx: Tx) -> TotpRecoveryCodes:
            tx.origin = Origin(request.address, request.request_id)
            codes = totp.confirm(tx, caller.actor, given.code)
            self._mailer.notify_on_commit(tx, caller.actor, SignInChange.TOTP_ENABLED)
            return TotpRecoveryCodes(recovery_codes=codes)

        async with self._limiting_codes(caller):
            return _encode(await self._database.write(work))

    async def disable_totp(self, request: Request, body: bytes) -> Response:
        caller, given = await self._read(request, body, TotpCodeInput)
        sessions.require_fresh(caller.session, self._database.context.clock.now())

        def work(tx: Tx) -> None:
            tx.origin = Origin(request.address, request.request_id)
            totp.disable(tx, caller.actor, given.code)
            self._mailer.notify_on_commit(tx, caller.actor, SignInChange.TOTP_DISABLED)

        async with self._limiting_codes(caller):
            await self._database.write(work)
        done = GenericReturnBoolean(message="The authenticator app is turned off.", value=True)
        return _encode(done)

    def _limiting_codes(self, caller: Caller) -> AbstractAsyncContextManager[None]:
        """Codes are short: bound how many are tried."""
        return self._guards.codes.attempt((caller.actor.id, "session"), (BadInput,))

    async def _authenticate(self, request: Request) -> Caller:
        caller = await self._authenticator.authenticate(request)
        if caller.actor.kind != "user":
            raise NotAllowed("This needs a user; an app client is not one.")
        return caller

    async def _read(self, request: Request, body: bytes, expected: type[S]) -> tuple[Caller, S]:
        caller = await self._authenticate(request)
        require_json(request)
        return caller, decode_body(body, expected, self._limits)

    def routes(self) -> list[PlainRoute]:
        own = (OWN, _ONESELF)
        fresh = "In the first 10 minutes of a session only. "
        return [
            _route(
                ("PUT", "/user/password", self.set_password, *own),
                "Set the caller's own password",
                "Needs a session, and the present password unless that is younger than 10 minutes."
                f" An access token does not do. All other sessions of the user end. {OWN_SITE}",
                PasswordInput,
                GenericReturnBoolean,
            ),
            _route(
                (
                    *("POST", "/user/password/reset", self.request_reset, NO_TOKEN),
                    "reveals nothing about any user",
                ),
                "Mail a link to set a new password",
                "The response is the same whether there is a user with this address or not.",
                PasswordResetInput,
                GenericReturn,
            ),
            _route(
                ("POST", "/user/totp", self.enrol_totp, *own),
                "Get a secret for an authenticator app",
                f"{fresh}It counts once it is confirmed by `PUT /user/totp`. {OWN_SITE}",
                None,
                TotpSecret,
            ),
            _route(
                ("PUT", "/user/totp", self.confirm_totp, *own),
                "Turn the authenticator app on",
                f"{fresh}From now on passwords, and links by mail, need a code as well. {OWN_SITE}",
                TotpCodeInput,
                TotpRecoveryCodes,
            ),
            _route(
                ("DELETE", "/user/totp", self.disable_totp, *own),
                "Turn the authenticator app off",
                f"{fresh}With a code of the app, or a recovery code. {OWN_SITE}",
                TotpCodeInput,
                GenericReturnBoolean,
            ),
        ]


def _encode(reply: Reply) -> Response:
    return Response(200, msgspec.json.encode(reply))


def _route(
    served: tuple[str, str, Handler, str, str],
    summary: str,
    description: str,
    body: type[Body] | None,
    reply: type[Reply],
) -> PlainRoute:
    method, path, handler, permission, object_rule = served
    statuses = [400, 401, 403, 408, 413, 415, 429, 431, 503]
    if permission == NO_TOKEN:
        statuses.remove(401)
    openapi: Json = {
        "summary": summary,
        "description": description,
        "responses": {
            "200": json_response("Done.", schema_ref(reply)),
            **problem_responses(*statuses),
        },
    }
    if path == "/user/totp":
        openapi["responses"]["409"] = problem_responses(400)["400"] | {
            "description": "It is turned on already, or not, or there is nothing to confirm."
        }
    if permission == NO_TOKEN:
        openapi |= {"security": [], "parameters": [OWN_HEADER]}
    if body is not None:
        example = {
            each.encode_name: _EXAMPLES[each.encode_name] for each in msgspec.structs.fields(body)
        }
        openapi["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema_ref(body), "example": example}},
        }
    return PlainRoute(
        method=method,
        path=path,
        handler=handler,
        body_bytes_max=FORM_BYTES_MAX,
        permission=permission,
        object_rule=object_rule,
        tag="Sessions",
        openapi=openapi,
        schemas=(reply,) if body is None else (body, reply),
        field_locations=build_field_locations(None, body),
    )


_EXAMPLES = {
    "new": "correct horse battery staple",
    "old": "a staple of horse batteries",
    "email": "ada@example.com",
    "code": "287082",
}
