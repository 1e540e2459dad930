"""Passwords and authenticator apps: people change how they sign in.

Each of these needs proof that it is the person themselves: a session that has just begun, the
present password, or a code.
"""

from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Annotated

from msgspec import Meta

from longwire.api.identity.sessions import serves_form
from longwire.api.services import AsyncContext
from longwire.api.types import Email, GenericReturn, GenericReturnBoolean
from longwire.delivery.mail.sign_in_mail import LinkRequest
from longwire.errors import BadInput, NotAllowed, NotAuthenticated, invalid_field
from longwire.identity import passwords, sessions, totp, users
from longwire.identity.passwords import CHARACTERS_MAX, CHARACTERS_MIN
from longwire.identity.sign_in_methods import SignInChange
from longwire.store.database import Tx
from longwire.web.fields import Body, Reply
from longwire.web.routing import NO_TOKEN, OWN

RESET_REQUESTED = (
    "If there is a user with this address, a mail with a link to set a password is on its way."
)

_serves = partial(
    serves_form,
    object_rule="the user behind the cookie",
    statuses=(400, 401, 403, 408, 413, 415, 429, 431, 503),
)
_serves_totp = partial(
    _serves, conflicts="It is turned on already, or not, or there is nothing to confirm."
)


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


@_serves(
    "PUT",
    "/user/password",
    OWN,
    example={"new": "correct horse battery staple", "old": "a staple of horse batteries"},
)
async def set_password(context: AsyncContext, body: PasswordInput) -> GenericReturnBoolean:
    """Set the caller's own password.

    Needs a session, and the present password unless that is younger than 10 minutes. An access
    token does not do. All other sessions of the user end. With a cookie, every request but GET
    needs the header `X-Longwire-Console: 1`, and must not come from another site (403,
    `cross_site`).
    """
    _require_user(context)
    session = sessions.require_own(context.caller.session)
    user_id, services = context.actor.id, context.services.sign_in
    stored = await context.read(lambda tx: passwords.get_hash(tx, user_id))
    if stored is None or body.old is None:
        sessions.require_fresh(session, context.now)
    else:
        await _require_password(context, stored, body.old)
    new_hash = await services.hashing.hash(body.new, user_id)

    def work(tx: Tx) -> None:
        if passwords.get_hash(tx, user_id) != stored:
            raise NotAllowed("The password was changed meanwhile.")
        passwords.set_password(tx, context.actor, new_hash, session)
        services.mailer.notify_on_commit(tx, context.actor, SignInChange.PASSWORD_SET)

    await context.write(work)
    return GenericReturnBoolean(message="The password is set.", value=True)


async def _require_password(context: AsyncContext, stored: str, password: str) -> None:
    """Guesses of the present password count like those of signing in."""
    user_id, services = context.actor.id, context.services.sign_in
    try:
        async with services.guards.failures.attempt(context.request.address, user_id):
            if not await services.hashing.matches(stored, password, user_id, is_known=True):
                raise NotAuthenticated
    except NotAuthenticated:
        raise invalid_field("old", "is not the present password") from None


@_serves(
    "POST",
    "/user/password/reset",
    NO_TOKEN,
    object_rule="reveals nothing about any user",
    own_site=True,
    example={"email": "ada@example.com"},
    statuses=(400, 403, 408, 413, 415, 429, 431, 503),
)
async def request_reset(context: AsyncContext, body: PasswordResetInput) -> GenericReturn:
    """Mail a link to set a new password.

    The response is the same whether there is a user with this address or not.
    """
    services = context.services.sign_in
    services.guards.mails.acquire(context.request.address)
    services.mailer.enqueue(LinkRequest(body.email, context.origin, resets_password=True))
    return GenericReturn(message=RESET_REQUESTED)


@_serves_totp("POST", "/user/totp", OWN)
async def enrol_totp(context: AsyncContext) -> TotpSecret:
    """Get a secret for an authenticator app.

    In the first 10 minutes of a session only. It counts once it is confirmed by `PUT /user/totp`.
    With a cookie, every request but GET needs the header `X-Longwire-Console: 1`, and must not come
    from another site (403, `cross_site`).
    """
    _require_fresh_user(context)
    secret, uri = await context.write(
        lambda tx: totp.enrol(tx, users.get_current(tx, context.actor))
    )
    return TotpSecret(secret=secret, uri=uri)


@_serves_totp("PUT", "/user/totp", OWN, example={"code": "287082"})
async def confirm_totp(context: AsyncContext, body: TotpCodeInput) -> TotpRecoveryCodes:
    """Turn the authenticator app on.

    In the first 10 minutes of a session only. From now on passwords, and links by mail, need a code
    as well. With a cookie, every request but GET needs the header `X-Longwire-Console: 1`, and must
    not come from another site (403, `cross_site`).
    """
    _require_fresh_user(context)

    def work(tx: Tx) -> list[str]:
        codes = totp.confirm(tx, context.actor, body.code)
        mailer = context.services.sign_in.mailer
        mailer.notify_on_commit(tx, context.actor, SignInChange.TOTP_ENABLED)
        return codes

    async with _limiting_codes(context):
        return TotpRecoveryCodes(recovery_codes=await context.write(work))


@_serves_totp("DELETE", "/user/totp", OWN, example={"code": "287082"})
async def disable_totp(context: AsyncContext, body: TotpCodeInput) -> GenericReturnBoolean:
    """Turn the authenticator app off.

    In the first 10 minutes of a session only. With a code of the app, or a recovery code. With a
    cookie, every request but GET needs the header `X-Longwire-Console: 1`, and must not come from
    another site (403, `cross_site`).
    """
    _require_fresh_user(context)

    def work(tx: Tx) -> None:
        totp.disable(tx, context.actor, body.code)
        mailer = context.services.sign_in.mailer
        mailer.notify_on_commit(tx, context.actor, SignInChange.TOTP_DISABLED)

    async with _limiting_codes(context):
        await context.write(work)
    return GenericReturnBoolean(message="The authenticator app is turned off.", value=True)


def _limiting_codes(context: AsyncContext) -> AbstractAsyncContextManager[None]:
    """Codes are short: bound how many are tried."""
    codes = context.services.sign_in.guards.codes
    return codes.attempt((context.actor.id, "session"), (BadInput,))


def _require_user(context: AsyncContext) -> None:
    if context.actor.kind != "user":
        raise NotAllowed("This needs a user; an app client is not one.")


def _require_fresh_user(context: AsyncContext) -> None:
    _require_user(context)
    sessions.require_fresh(context.caller.session, context.now)
