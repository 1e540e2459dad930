"""Signing in with the operator's OpenID Connect provider: two redirects of a browser.

What has to be the same in both of them is sealed in a cookie for ten minutes, so that a stranger
who starts a sign-in makes us keep nothing. Whatever goes wrong leads back to the sign-in page with
one of our codes; a text of the provider is shown to nobody.
"""

import hmac
import re
import secrets
from dataclasses import replace
from functools import partial
from typing import Annotated
from urllib.parse import urlencode, urlsplit

import msgspec
import structlog
from msgspec import Meta

from longwire.api.identity.session_cookies import session_cookie
from longwire.api.identity.sessions import (
    BY_PROOF,
    create_session,
    require_confidential,
    serves_form,
)
from longwire.api.services import AsyncContext
from longwire.clock import SECOND, Moment
from longwire.errors import BadInput, FieldError, NotFound, TooManyRequests
from longwire.identity import external_identities
from longwire.identity.external_identities import (
    ExternalIdentity,
    IdentityProvider,
    OidcError,
    SignInRefused,
)
from longwire.identity.sessions import NewSession
from longwire.model import SignInMethod
from longwire.seal import UnsealError
from longwire.store.database import Tx
from longwire.store.identity import challenges
from longwire.web.cookies import get_cookie
from longwire.web.fields import Query
from longwire.web.routing import NO_TOKEN, Cookie, Redirect

PATH = "/session/oidc"
CALLBACK_PATH = "/session/oidc/callback"
START_PATH = "/console/"
FLOW_LIFETIME_S = 600
FLOW_COOKIE = b"longwire-oidc"
_NO_FLOW = Cookie(FLOW_COOKIE, b"", 0, same_site=b"Lax")  # removes it
RETURN_TO_CHARACTERS_MAX = 1_000
# Where the sign-in page is, from either path.
SIGN_IN_PAGE = {PATH: "../console/sign-in", CALLBACK_PATH: "../../console/sign-in"}

INVALID_STATE = "invalid_state"
DENIED = "access_denied"
PROVIDER_REFUSED = "provider_refused"
TOO_MANY_ATTEMPTS = "too_many_attempts"

_SEAL_PURPOSE = "oidc sign-in"
# A path of ours. Two slashes, or a slash and a backslash, lead to another host.
_OWN_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")

log = structlog.get_logger()


class SignInFlow(msgspec.Struct, frozen=True):
    """What a browser keeps, sealed, while its person is at the provider."""

    state: str
    nonce: str
    code_verifier: str
    return_to: str
    expires_at: Moment


class SignInFailed(Exception):
    """Nobody is signed in; the sign-in page explains the code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


_FAILURES = (OidcError, SignInRefused, SignInFailed)


class SignInStart(Query):
    """Where the person wants to be."""

    return_to: (
        Annotated[
            str,
            Meta(
                description="The path of this service to lead to when the person is signed in; by"
                " default `/console/`.",
                examples=["/docs"],
                extra_json_schema={
                    # Without (?!), which RE2 has not.
                    "pattern": "^/([!-.0-\\[\\]-~][!-\\[\\]-~]*)?$",
                    "maxLength": RETURN_TO_CHARACTERS_MAX,
                },
            ),
        ]
        | None
    ) = None


class SignInReturn(Query):
    """What the provider says."""

    code: (
        Annotated[
            str,
            Meta(
                description="What the provider exchanges for an ID token.",
                examples=["SplxlOBeZQQYbYS6WxSbIA"],
            ),
        ]
        | None
    ) = None
    state: (
        Annotated[
            str,
            Meta(description="What the sign-in was started with.", examples=["af0ifjsldkj"]),
        ]
        | None
    ) = None
    iss: (
        Annotated[
            str, Meta(description="The issuer (RFC 9207).", examples=["https://id.example.com"])
        ]
        | None
    ) = None
    error: (
        Annotated[str, Meta(description="Why there is no code.", examples=["access_denied"])] | None
    ) = None


_serves = partial(serves_form, object_rule=BY_PROOF)


@_serves(
    "GET",
    PATH,
    NO_TOKEN,
    result="To the provider, or to `/console/sign-in?error=…` if it cannot be reached.",
    statuses=(400, 404, 408, 431),
)
async def begin(context: AsyncContext, query: SignInStart) -> Redirect:
    """Sign in with the identity provider.

    For browsers. Leads to the OpenID Connect provider that the operator has configured, and sets a
    cookie for ten minutes, with which the browser comes back.
    """
    provider = _get_provider(context)
    require_confidential(context.request)
    flow = SignInFlow(
        state=secrets.token_urlsafe(32),
        nonce=secrets.token_urlsafe(32),
        code_verifier=secrets.token_urlsafe(48),
        return_to=_validate_return_to(query.return_to or START_PATH),
        expires_at=context.now + FLOW_LIFETIME_S * SECOND,
    )
    try:
        url = await provider.build_authorization_url(
            _build_redirect_uri(context),
            state=flow.state,
            nonce=flow.nonce,
            code_verifier=flow.code_verifier,
        )
    except OidcError as error:
        return Redirect(_build_sign_in_page(PATH, error.failure))
    text = msgspec.json.encode(flow).decode()
    sealed = context.database.context.keyring.seal(text, _SEAL_PURPOSE)
    return Redirect(url, (replace(_NO_FLOW, value=sealed.encode(), age_s=FLOW_LIFETIME_S),))


@_serves(
    "GET",
    CALLBACK_PATH,
    NO_TOKEN,
    result="To the path of `returnTo`, or to `/console/sign-in?error=…`.",
    statuses=(400, 404, 408, 431, 503),
)
async def finish(context: AsyncContext, query: SignInReturn) -> Redirect:
    """Come back from the identity provider.

    For browsers. Sets the cookie of a session if the provider vouches for the person; else leads to
    the sign-in page with a code.
    """
    provider = _get_provider(context)
    if context.request.method == "HEAD":  # which must change nothing
        return Redirect(_build_sign_in_page(CALLBACK_PATH, INVALID_STATE))
    try:
        flow, new = await _finish(context, query, provider)
    except SignInFailed as failed:
        return Redirect(_build_sign_in_page(CALLBACK_PATH, failed.code), (_NO_FLOW,))
    base_path = urlsplit(context.services.sign_in.base_url).path
    return Redirect(base_path + flow.return_to, (session_cookie(new), _NO_FLOW))


def _get_provider(context: AsyncContext) -> IdentityProvider:
    provider = context.services.sign_in.oidc_provider
    if provider is None:
        raise NotFound("The operator has configured no identity provider.")
    return provider


def _build_redirect_uri(context: AsyncContext) -> str:
    return context.services.sign_in.base_url + CALLBACK_PATH


async def _finish(
    context: AsyncContext, query: SignInReturn, provider: IdentityProvider
) -> tuple[SignInFlow, NewSession]:
    flow = _open_flow(context, query.state or "")
    if query.error is not None:
        raise SignInFailed(DENIED if query.error == DENIED else PROVIDER_REFUSED)
    if query.code is None:
        raise SignInFailed(INVALID_STATE)
    failures = context.services.sign_in.guards.oidc
    try:
        async with failures.attempt(context.request.address, _FAILURES):
            identity = await provider.redeem(
                query.code,
                _build_redirect_uri(context),
                issuer=query.iss,
                nonce=flow.nonce,
                code_verifier=flow.code_verifier,
            )
            return flow, await context.write(partial(_sign_in, context, flow, identity))
    except TooManyRequests:
        raise SignInFailed(TOO_MANY_ATTEMPTS) from None
    except _FAILURES as error:
        log.info("signing in with OpenID Connect failed", reason=str(error))
        raise SignInFailed(_get_code(error)) from None


def _open_flow(context: AsyncContext, state: str) -> SignInFlow:
    """The flow that this browser has started, and nobody else."""
    cookie = get_cookie(context.request, FLOW_COOKIE) or b""
    keyring = context.database.context.keyring
    try:
        text = keyring.unseal(cookie.decode("ascii", "replace"), _SEAL_PURPOSE)
    except UnsealError:
        raise SignInFailed(INVALID_STATE) from None
    flow = msgspec.json.decode(text, type=SignInFlow)
    is_same = hmac.compare_digest(flow.state.encode(), state.encode("utf-8", "replace"))
    if not is_same or flow.expires_at <= context.now:
        raise SignInFailed(INVALID_STATE)
    return flow


def _sign_in(
    context: AsyncContext, flow: SignInFlow, identity: ExternalIdentity, tx: Tx
) -> NewSession:
    if not challenges.redeem(tx, flow.state, flow.expires_at):
        raise SignInFailed(INVALID_STATE)
    policy = context.services.sign_in.oidc_policy
    user = external_identities.sign_in(tx, identity, policy)
    return create_session(context, tx, user.id, SignInMethod.OIDC)


def _validate_return_to(path: str) -> str:
    if len(path) > RETURN_TO_CHARACTERS_MAX or not _OWN_PATH.fullmatch(path):
        raise BadInput(field_errors=[FieldError("return_to", "must be a path of this service")])
    return path


def _build_sign_in_page(path: str, code: str) -> str:
    return f"{SIGN_IN_PAGE[path]}?{urlencode({'error': code})}"


def _get_code(error: OidcError | SignInRefused | SignInFailed) -> str:
    match error:
        case OidcError():
            return error.failure
        case SignInRefused():
            return error.refusal
        case SignInFailed():
            return error.code
