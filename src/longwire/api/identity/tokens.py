"""The token endpoint: OAuth 2.0 client credentials, with the bodies of RFC 6749.

Beside it, for clients and their own tokens: revocation (RFC 7009), introspection (RFC 7662), and
the metadata by which they find all of it (RFC 8414).
"""

import base64
import binascii
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Annotated, Any, TypeVar, cast
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import UNSET, Meta, UnsetType

from longwire.clock import SECOND
from longwire.errors import NotAuthenticated, TooManyRequests
from longwire.identity import tokens
from longwire.identity.attempt_limits import FailureThrottle
from longwire.model import Origin
from longwire.store.database import Database, Tx
from longwire.web.fields import Query, words
from longwire.web.routing import (
    FORM_BYTES_MAX,
    NO_TOKEN,
    DeclaredResponse,
    RawBody,
    Request,
    Response,
    Route,
)

PATH = "/oauth2/token"
REVOCATION_PATH = "/oauth2/revoke"
INTROSPECTION_PATH = "/oauth2/introspect"
METADATA_PATH = "/.well-known/oauth-authorization-server"
GRANT = "client_credentials"
AUTH_METHODS = ("client_secret_basic", "client_secret_post")
TOKEN_TYPE = "Bearer"
TOKEN_ERRORS = ("invalid_request", "invalid_client", "unsupported_grant_type")
_FORM = b"application/x-www-form-urlencoded"
_CREDENTIALS = {"client_id", "client_secret"}
_NO_CACHE: tuple[tuple[bytes, bytes], ...] = ((b"pragma", b"no-cache"),)

T = TypeVar("T")
Handler = Callable[[Request, bytes], Awaitable[Response]]


class TokenResponse(msgspec.Struct):
    """An access token and its lifetime in seconds."""

    access_token: str
    token_type: str
    expires_in: int


class TokenRevocationResponse(msgspec.Struct):
    """Empty: the token is not valid, or not one of this client."""


class TokenIntrospectionResponse(msgspec.Struct):
    """A valid token of the client that asks; for any other token `active` is false, and alone.

    `sub` is the user or app client that acts with the token. Times are in seconds since 1970.
    """

    active: bool
    client_id: str | UnsetType = UNSET
    sub: str | UnsetType = UNSET
    iss: str | UnsetType = UNSET
    iat: int | UnsetType = UNSET
    exp: int | UnsetType = UNSET
    token_type: str | UnsetType = UNSET


class AuthorizationServerMetadata(msgspec.Struct):
    """The endpoints for tokens, and what they support."""

    issuer: str
    token_endpoint: str
    revocation_endpoint: str
    introspection_endpoint: str
    service_documentation: str
    grant_types_supported: tuple[str, ...] = (GRANT,)
    # Required, and empty: there is no authorization endpoint.
    response_types_supported: tuple[str, ...] = ()
    token_endpoint_auth_methods_supported: tuple[str, ...] = AUTH_METHODS
    revocation_endpoint_auth_methods_supported: tuple[str, ...] = AUTH_METHODS
    introspection_endpoint_auth_methods_supported: tuple[str, ...] = AUTH_METHODS


class TokenQuery(Query):
    """What the URL of a request for a token may have."""

    grant_type: (
        Annotated[
            str,
            words("GrantType", (GRANT,)),
            Meta(description="The grant of RFC 6749; here or in the body.", examples=[GRANT]),
        ]
        | UnsetType
    ) = msgspec.field(name="grant_type", default=UNSET)


class TokenRequest(msgspec.Struct):
    """The form of a request for a token."""

    # Without the words of the query's: generators for Rust do not compile them in a form.
    grant_type: str | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET


class TokenForm(msgspec.Struct):
    """The form that names a token."""

    token: str
    token_type_hint: str | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET


class TokenError(msgspec.Struct):
    """The error response of RFC 6749."""

    error: Annotated[str, words("TokenErrorCode", TOKEN_ERRORS)]
    error_description: str


class TokenRequestError(Exception):
    """An invalid token request, with the response to send."""

    def __init__(
        self, status: int, error: str, description: str, *headers: tuple[bytes, bytes]
    ) -> None:
        super().__init__(description)
        self.response = Response(
            status,
            msgspec.json.encode(TokenError(error, description)),
            headers=(*_NO_CACHE, *headers),
        )


H = TypeVar("H", bound=Callable[..., Awaitable[Response]])


def responds_with_token_errors(handler: H) -> H:
    """Have a handler respond with an invalid token request's own error."""

    @wraps(handler)
    async def handle(*args: Any) -> Response:
        try:
            return await handler(*args)
        except TokenRequestError as error:
            return error.response

    return cast("H", handle)


class TokenEndpoint:
    """Issues, revokes and introspects access tokens, with a rate limit on failed attempts."""

    def __init__(
        self,
        database: Database,
        *,
        issuer: str,
        lifetime_s: int,
        throttle: FailureThrottle,
    ) -> None:
        self._database = database
        self._issuer = issuer
        self._lifetime_s = lifetime_s
        self._throttle = throttle

    @responds_with_token_errors
    async def issue(self, request: Request, body: bytes) -> Response:
        """Get an access token.

        OAuth 2.0 client credentials, as HTTP Basic or in the body. HTTPS only, except on the
        loopback interface.
        """
        _require_https(request)
        _require_grant(request, body)
        issued = await self._run_as_client(
            request,
            body,
            lambda tx, client_id, secret: tokens.issue_token(
                tx, client_id, secret, self._lifetime_s
            ),
        )
        return _encode(TokenResponse(issued.token, TOKEN_TYPE, issued.lifetime_s))

    @responds_with_token_errors
    async def revoke(self, request: Request, body: bytes) -> Response:
        """Revoke an access token.

        OAuth 2.0 token revocation (RFC 7009), for the client's own tokens. A token that is unknown,
        expired or another client's gets the same response, and stays as it is.
        """
        _require_https(request)
        token = _get_token(request, body)
        await self._run_as_client(
            request,
            body,
            lambda tx, client_id, secret: tokens.revoke_token(tx, client_id, secret, token),
        )
        return _encode(TokenRevocationResponse())

    @responds_with_token_errors
    async def introspect(self, request: Request, body: bytes) -> Response:
        """Introspect an access token.

        OAuth 2.0 token introspection (RFC 7662), for the client's own tokens. A token that is
        unknown, expired, revoked or another client's is not active.
        """
        _require_https(request)
        token = _get_token(request, body)
        found = await self._run_as_client(
            request,
            body,
            lambda tx, client_id, secret: tokens.introspect_token(tx, client_id, secret, token),
            only_reads=True,
        )
        if found is None:
            return _encode(TokenIntrospectionResponse(active=False))
        response = TokenIntrospectionResponse(
            active=True,
            client_id=found.client_id,
            sub=found.subject,
            iss=self._issuer,
            iat=found.issued_at // SECOND,
            exp=found.expires_at // SECOND,
            token_type=TOKEN_TYPE,
        )
        return _encode(response)

    async def get_metadata(self, request: Request, body: bytes) -> Response:
        """Get the authorization server metadata.

        OAuth 2.0 authorization server metadata (RFC 8414).
        """
        metadata = AuthorizationServerMetadata(
            issuer=self._issuer,
            token_endpoint=self._issuer + PATH,
            revocation_endpoint=self._issuer + REVOCATION_PATH,
            introspection_endpoint=self._issuer + INTROSPECTION_PATH,
            service_documentation=self._issuer + "/docs",
        )
        return Response(200, msgspec.json.encode(metadata))

    async def _run_as_client(
        self,
        request: Request,
        body: bytes,
        work: Callable[[Tx, str, str], T],
        *,
        only_reads: bool = False,
    ) -> T:
        """Run a work with the client id and secret of the request, which it has to check."""
        client_id, secret = _get_credentials(request, _read_parameters(request, body)[1])

        def run(tx: Tx) -> T:
            tx.origin = Origin(request.address, request.request_id)
            return work(tx, client_id, secret)

        try:
            async with self._throttle.attempt(request.address, client_id):
                return await (self._database.read(run) if only_reads else self._database.write(run))
        except TooManyRequests as error:
            raise TokenRequestError(
                429,
                "invalid_request",
                str(error),
                (b"retry-after", str(error.retry_after_s).encode()),
            ) from None
        except NotAuthenticated:
            raise _invalid_client("The client is unknown or its secret is wrong.") from None


def _require_https(request: Request) -> None:
    """Secrets are not sent in the clear, except on the loopback interface."""
    if not request.is_confidential:
        raise TokenRequestError(400, "invalid_request", "Tokens are handed out over HTTPS only.")


def _require_grant(request: Request, body: bytes) -> None:
    in_query, in_form = _read_parameters(request, body)
    grants = {each["grant_type"] for each in (in_query, in_form) if "grant_type" in each}
    if not grants:
        raise TokenRequestError(400, "invalid_request", "grant_type is missing.")
    if len(grants) > 1:
        raise TokenRequestError(
            400, "invalid_request", "grant_type differs between query and body."
        )
    if grants != {GRANT}:
        raise TokenRequestError(400, "unsupported_grant_type", f"grant_type must be {GRANT}.")


def _get_token(request: Request, body: bytes) -> str:
    """The token that the request is about; its type hint is not needed, as there is one type."""
    in_query, in_form = _read_parameters(request, body)
    if "token" in in_query:
        raise TokenRequestError(400, "invalid_request", "The token belongs into the body.")
    if "token" not in in_form:
        raise TokenRequestError(400, "invalid_request", "token is missing.")
    return in_form["token"]


def _read_parameters(request: Request, body: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """The parameters in the query and in the form."""
    media_type = request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type != _FORM:
        raise TokenRequestError(400, "invalid_request", f"Content-Type must be {_FORM.decode()}.")
    in_query, in_form = _parameters(request.query_string), _parameters(body)
    if _CREDENTIALS & in_query.keys():
        raise TokenRequestError(
            400,
            "invalid_request",
            "Credentials belong into the header Authorization or the body, not the URL.",
        )
    return in_query, in_form


def _parameters(raw: bytes) -> dict[str, str]:
    try:
        # A parameter without a value counts as left out (RFC 6749, 3.2).
        pairs = parse_qsl(raw.decode(), keep_blank_values=False, errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise TokenRequestError(
            400, "invalid_request", "The parameters are not valid UTF-8."
        ) from None
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise TokenRequestError(400, "invalid_request", "A parameter is given more than once.")
    return dict(pairs)


def _get_credentials(request: Request, form: dict[str, str]) -> tuple[str, str]:
    """Of the header, or of the form (RFC 6749, 2.3.1); of both only if they are the same."""
    if b"authorization" not in request.headers and "client_secret" in form:
        credentials = form.get("client_id", ""), form["client_secret"]
        if "\x00" in "".join(credentials):
            raise _invalid_client("The credentials are not readable.")
        return credentials
    basic = _basic(request)
    for name, value in zip(("client_id", "client_secret"), basic, strict=True):
        if form.get(name, value) != value:
            raise TokenRequestError(
                400, "invalid_request", f"{name} differs between the header and the body."
            )
    return basic


def _basic(request: Request) -> tuple[str, str]:
    if b"authorization" in request.repeated_headers:
        raise TokenRequestError(
            400, "invalid_request", "The header Authorization is given more than once."
        )
    scheme, _, encoded = request.headers.get(b"authorization", b"").strip().partition(b" ")
    if scheme.lower() != b"basic":
        raise _invalid_client(
            "Send the client id and secret as HTTP Basic, or in the body as client_id and"
            " client_secret."
        )
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise _invalid_client("The Basic credentials are not readable.") from None
    # RFC 6749 has both parts percent-encoded. Ours look the same either way.
    client_id, colon, secret = (unquote(part) for part in decoded.partition(":"))
    if not colon or "\x00" in client_id + secret:
        raise _invalid_client("The Basic credentials are not readable.")
    return client_id, secret


def _invalid_client(description: str) -> TokenRequestError:
    return TokenRequestError(
        401, "invalid_client", description, (b"www-authenticate", b'Basic realm="longwire"')
    )


def _encode(response: msgspec.Struct) -> Response:
    return Response(200, msgspec.json.encode(response), headers=_NO_CACHE)


_FORM_BODY = partial(RawBody, (_FORM.decode(),))
_RESPONSES = {
    400: DeclaredResponse("The request is invalid.", TokenError),
    401: DeclaredResponse("The client is unknown or its secret is wrong.", TokenError),
    429: DeclaredResponse("Too many failed attempts.", TokenError),
}


def _of_client(path: str, handler: Handler, body: RawBody, response: Any, meaning: str) -> Route:
    """A route of clients, who authenticate themselves."""
    return Route(
        "POST",
        path,
        handler,
        NO_TOKEN,
        object_rule="whoever knows a client id and its secret",
        tag="Tokens",
        schemes=("client",),
        query=TokenQuery if path == PATH else None,
        raw_body=body,
        responses={200: DeclaredResponse(meaning, response), **_RESPONSES},
        statuses=(408, 413, 431, 503),
        body_bytes_max=FORM_BYTES_MAX,
    )


_TOKEN_BODY = _FORM_BODY({"token": "0b9f0d0e-5c3b-4bb2-9d0f-2f4a3b1c7e55"}, TokenForm)


def routes(endpoint: TokenEndpoint) -> list[Route]:
    return [
        _of_client(
            PATH,
            endpoint.issue,
            _FORM_BODY({"grant_type": GRANT}, TokenRequest, is_required=False),
            TokenResponse,
            "An access token.",
        ),
        _of_client(
            REVOCATION_PATH,
            endpoint.revoke,
            _TOKEN_BODY,
            TokenRevocationResponse,
            "If the token was issued to this client, it is not valid any more.",
        ),
        _of_client(
            INTROSPECTION_PATH,
            endpoint.introspect,
            _TOKEN_BODY,
            TokenIntrospectionResponse,
            "Whether the token is a valid one of this client, and until when.",
        ),
        Route(
            "GET",
            METADATA_PATH,
            endpoint.get_metadata,
            NO_TOKEN,
            object_rule="reveals nothing about any group",
            tag="Tokens",
            responses={200: DeclaredResponse("The metadata.", AuthorizationServerMetadata)},
            statuses=(408, 431),
        ),
    ]
