"""Signing in with the operator's OpenID Connect provider: two redirects of a browser.

What has to be the same in both of them is sealed in a cookie for ten minutes, so that a stranger
who starts a sign-in makes us keep nothing. Whatever goes wrong leads back to the sign-in page with
one of our codes; a text of the provider is shown to nobody.
"""

import hmac
import re
import secrets
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
import structlog

from longwire.clock import SECOND, Moment
from longwire.errors import BadInput, FieldError, NotFound, TooManyRequests
from longwire.identity import external_identities, sessions
from longwire.identity.external_identities import (
    ExternalIdentity,
    IdentityProvider,
    OidcError,
    SignInPolicy,
    SignInRefused,
)
from longwire.identity.rate_limiter import AddressLimiter
from longwire.identity.sessions import NewSession, SessionRules
from longwire.model import Origin, SignInMethod
from longwire.seal import UnsealError
from longwire.store.database import Database, Tx
from longwire.store.identity import challenges
from longwire.web.openapi import Json, problem_responses
from longwire.web.routing import FORM_BYTES_MAX, NO_TOKEN, PlainRoute, Request, Response
from longwire.web.session_cookies import (
    get_cookie,
    get_user_agent,
    with_cookie,
    with_session,
)

PATH = "/session/oidc"
CALLBACK_PATH = "/session/oidc/callback"
START_PATH = "/console/"
FLOW_LIFETIME_S = 600
FLOW_COOKIE = b"longwire-oidc"
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


class OidcEndpoints:
    """Sends browsers to the provider, and signs those in who come back."""

    def __init__(
        self,
        database: Database,
        provider: IdentityProvider | None,
        policy: SignInPolicy,
        rules: SessionRules,
        *,
        base_url: str,
        failures: AddressLimiter,
    ) -> None:
        self._database = database
        self._provider = provider
        self._policy = policy
        self._rules = rules
        self._redirect_uri = base_url + CALLBACK_PATH
        self._base_path = urlsplit(base_url).path
        self._failures = failures

    async def begin(self, request: Request, body: bytes) -> Response:
        """Send the browser to the provider."""
        provider = self._get_provider()
        if not request.is_confidential:
            raise BadInput("Sign in over HTTPS, or on this machine.")
        flow = SignInFlow(
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            code_verifier=secrets.token_urlsafe(48),
            return_to=_parse_return_to(request),
            expires_at=self._database.context.clock.now() + FLOW_LIFETIME_S * SECOND,
        )
        try:
            url = await provider.build_authorization_url(
                self._redirect_uri,
                state=flow.state,
                nonce=flow.nonce,
                code_verifier=flow.code_verifier,
            )
        except OidcError as error:
            return _lead_to_sign_in(request, error.failure)
        text = msgspec.json.encode(flow).decode()
        sealed = self._database.context.keyring.seal(text, _SEAL_PURPOSE)
        return with_cookie(
            _redirect(url), request, FLOW_COOKIE, sealed.encode(), FLOW_LIFETIME_S, same_site=b"Lax"
        )

    async def finish(self, request: Request, body: bytes) -> Response:
        """Sign the person in who comes back from the provider."""
        provider = self._get_provider()
        if request.method == "HEAD":  # which must change nothing
            return _lead_to_sign_in(request, INVALID_STATE)
        try:
            flow, new = await self._finish(request, provider)
            response = with_session(_redirect(self._base_path + flow.return_to), request, new)
        except SignInFailed as failed:
            response = _lead_to_sign_in(request, failed.code)
        return with_cookie(response, request, FLOW_COOKIE, b"", 0, same_site=b"Lax")

    def _get_provider(self) -> IdentityProvider:
        if self._provider is None:
            raise NotFound("The operator has configured no identity provider.")
        return self._provider

    async def _finish(
        self, request: Request, provider: IdentityProvider
    ) -> tuple[SignInFlow, NewSession]:
        params = dict(parse_qsl(request.query_string.decode("ascii", "replace")))
        flow = self._open_flow(request, params.get("state", ""))
        if "error" in params:
            raise SignInFailed(DENIED if params["error"] == DENIED else PROVIDER_REFUSED)
        if "code" not in params:
            raise SignInFailed(INVALID_STATE)
        try:
            async with self._failures.attempt(request.address, _FAILURES):
                identity = await provider.redeem(
                    params["code"],
                    self._redirect_uri,
                    issuer=params.get("iss"),
                    nonce=flow.nonce,
                    code_verifier=flow.code_verifier,
                )
                return flow, await self._database.write(
                    lambda tx: self._create_session(tx, request, flow, identity)
                )
        except TooManyRequests:
            raise SignInFailed(TOO_MANY_ATTEMPTS) from None
        except _FAILURES as error:
            log.info("signing in with OpenID Connect failed", reason=str(error))
            raise SignInFailed(_get_code(error)) from None

    def _open_flow(self, request: Request, state: str) -> SignInFlow:
        """The flow that this browser has started, and nobody else."""
        context = self._database.context
        cookie = get_cookie(request, FLOW_COOKIE) or b""
        try:
            text = context.keyring.unseal(cookie.decode("ascii", "replace"), _SEAL_PURPOSE)
        except UnsealError:
            raise SignInFailed(INVALID_STATE) from None
        flow = msgspec.json.decode(text, type=SignInFlow)
        is_same = hmac.compare_digest(flow.state.encode(), state.encode("utf-8", "replace"))
        if not is_same or flow.expires_at <= context.clock.now():
            raise SignInFailed(INVALID_STATE)
        return flow

    def _create_session(
        self, tx: Tx, request: Request, flow: SignInFlow, identity: ExternalIdentity
    ) -> NewSession:
        tx.origin = Origin(request.address, request.request_id)
        if not challenges.redeem(tx, flow.state, flow.expires_at):
            raise SignInFailed(INVALID_STATE)
        user = external_identities.sign_in(tx, identity, self._policy)
        return sessions.create(
            tx,
            user.id,
            SignInMethod.OIDC,
            address=request.address,
            user_agent=get_user_agent(request),
            rules=self._rules,
        )

    def routes(self) -> list[PlainRoute]:
        return [
            PlainRoute(
                method="GET",
                path=path,
                handler=handler,
                body_bytes_max=FORM_BYTES_MAX,
                permission=NO_TOKEN,
                object_rule="whoever can prove who they are",
                tag="Sessions",
                openapi=openapi,
            )
            for path, handler, openapi in (
                (PATH, self.begin, _BEGIN_OPENAPI),
                (CALLBACK_PATH, self.finish, _FINISH_OPENAPI),
            )
        ]


def _parse_return_to(request: Request) -> str:
    params = dict(parse_qsl(request.query_string.decode("ascii", "replace")))
    path = params.get("returnTo", START_PATH)
    if len(path) > RETURN_TO_CHARACTERS_MAX or not _OWN_PATH.fullmatch(path):
        raise BadInput(field_errors=[FieldError("returnTo", "must be a path of this service")])
    return path


def _get_code(error: OidcError | SignInRefused | SignInFailed) -> str:
    match error:
        case OidcError():
            return error.failure
        case SignInRefused():
            return error.refusal
        case SignInFailed():
            return error.code


def _redirect(location: str) -> Response:
    headers = ((b"location", location.encode()), (b"referrer-policy", b"no-referrer"))
    return Response(302, b"", "text/plain", headers)


def _lead_to_sign_in(request: Request, code: str) -> Response:
    return _redirect(f"{SIGN_IN_PAGE[request.path]}?{urlencode({'error': code})}")


def _found(description: str) -> Json:
    location = {"description": "Where to.", "schema": {"type": "string"}}
    return {"description": description, "headers": {"Location": location}}


_BEGIN_OPENAPI: Json = {
    "summary": "Sign in with the identity provider",
    "description": "For browsers. Leads to the OpenID Connect provider that the operator has"
    " configured, and sets a cookie for ten minutes, with which the browser comes back.",
    "security": [],
    "parameters": [
        {
            "name": "returnTo",
            "in": "query",
            "required": False,
            "description": "The path of this service to lead to when the person is signed in.",
            "schema": {
                "type": "string",
                "pattern": "^/([!-.0-\\[\\]-~][!-\\[\\]-~]*)?$",  # without (?!), which RE2 has not
                "maxLength": RETURN_TO_CHARACTERS_MAX,
                "default": START_PATH,
            },
            "example": "/docs",
        }
    ],
    "responses": {
        "302": _found("To the provider, or to `/console/sign-in?error=…` if it cannot be reached."),
        **problem_responses(400, 404, 408, 431),
    },
}
_FINISH_OPENAPI: Json = {
    "summary": "Come back from the identity provider",
    "description": "For browsers. Sets the cookie of a session if the provider vouches for the"
    " person; else leads to the sign-in page with a code.",
    "security": [],
    "parameters": [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": description,
            "schema": {"type": "string"},
            "example": example,
        }
        for name, description, example in (
            ("code", "What the provider exchanges for an ID token.", "SplxlOBeZQQYbYS6WxSbIA"),
            ("state", "What the sign-in was started with.", "af0ifjsldkj"),
            ("iss", "The issuer (RFC 9207).", "https://id.example.com"),
            ("error", "Why there is no code.", "access_denied"),
        )
    ],
    "responses": {
        "302": _found("To the path of `returnTo`, or to `/console/sign-in?error=…`."),
        **problem_responses(400, 404, 408, 431, 503),
    },
}
