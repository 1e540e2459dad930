"""The token endpoint: OAuth 2.0 client credentials, with the bodies of RFC 6749."""

import base64
import binascii
from collections import OrderedDict
from ipaddress import ip_address
from urllib.parse import parse_qsl, unquote

import msgspec

from longwire.errors import NotAuthenticated
from longwire.identity import tokens
from longwire.identity.rate_limiter import RateLimiter
from longwire.model import Origin
from longwire.store.database import Database, Tx
from longwire.web.openapi import Json, json_response, problem_responses, schema_ref
from longwire.web.routing import FORM_BYTES_MAX, NO_TOKEN, PlainRoute, Request, Response

PATH = "/oauth2/token"
GRANT = "client_credentials"
SUCCEEDED_MAX = 50_000
_FORM = b"application/x-www-form-urlencoded"
_CREDENTIALS = {"client_id", "client_secret"}
_NO_CACHE: tuple[tuple[bytes, bytes], ...] = ((b"pragma", b"no-cache"),)


class TokenResponse(msgspec.Struct):
    """An access token and its lifetime in seconds."""

    access_token: str
    token_type: str
    expires_in: int


class TokenError(msgspec.Struct):
    """The error response of RFC 6749."""

    error: str
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


class TokenEndpoint:
    """Issues access tokens, with a rate limit on failed attempts."""

    def __init__(
        self,
        database: Database,
        *,
        lifetime_s: int,
        per_address: RateLimiter,
        per_client: RateLimiter,
    ) -> None:
        self._database = database
        self._lifetime_s = lifetime_s
        self._per_address = per_address
        self._per_client = per_client
        # (address, client id) that got a token lately. Not locked out by failures of others there.
        self._succeeded: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def issue(self, request: Request, body: bytes) -> Response:
        try:
            _require_https(request)
            _require_grant(request, body)
            client_id, secret = _basic(request)
            self._check_rate_limit(request.address, client_id)
            return await self._issue(request, client_id, secret)
        except TokenRequestError as error:
            return error.response

    async def _issue(self, request: Request, client_id: str, secret: str) -> Response:
        def work(tx: Tx) -> tokens.IssuedToken:
            tx.origin = Origin(request.address, request.request_id)
            return tokens.issue_token(tx, client_id, secret, self._lifetime_s)

        try:
            issued = await self._database.write(work)
        except NotAuthenticated:
            self._per_address.consume(request.address)
            self._per_client.consume((request.address, client_id))
            raise _invalid_client("The client is unknown or its secret is wrong.") from None
        self._note_success((request.address, client_id))
        response = TokenResponse(issued.token, "Bearer", issued.lifetime_s)
        return Response(200, msgspec.json.encode(response), headers=_NO_CACHE)

    def _check_rate_limit(self, address: str, client_id: str) -> None:
        wait_s = self._per_client.get_retry_after_s((address, client_id))
        if (address, client_id) not in self._succeeded:
            wait_s = max(wait_s, self._per_address.get_retry_after_s(address))
        if wait_s:
            raise TokenRequestError(
                429,
                "invalid_request",
                f"Too many failed attempts; retry after {wait_s} seconds.",
                (b"retry-after", str(wait_s).encode()),
            )

    def _note_success(self, caller: tuple[str, str]) -> None:
        self._succeeded[caller] = None
        self._succeeded.move_to_end(caller)
        if len(self._succeeded) > SUCCEEDED_MAX:
            self._succeeded.popitem(last=False)


def _require_https(request: Request) -> None:
    """Secrets are not sent in the clear, except on the loopback interface."""
    if not request.is_secure and not _is_loopback(request.address):
        raise TokenRequestError(400, "invalid_request", "Tokens are handed out over HTTPS only.")


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _require_grant(request: Request, body: bytes) -> None:
    media_type = request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type != _FORM:
        raise TokenRequestError(400, "invalid_request", f"Content-Type must be {_FORM.decode()}.")
    in_query, in_form = _parameters(request.query_string), _parameters(body)
    if _CREDENTIALS & in_query.keys():
        raise TokenRequestError(
            400, "invalid_request", "Credentials belong into the header Authorization, not the URL."
        )
    grants = {each["grant_type"] for each in (in_query, in_form) if "grant_type" in each}
    if not grants:
        raise TokenRequestError(400, "invalid_request", "grant_type is missing.")
    if len(grants) > 1:
        raise TokenRequestError(
            400, "invalid_request", "grant_type differs between query and body."
        )
    if grants != {GRANT}:
        raise TokenRequestError(400, "unsupported_grant_type", f"grant_type must be {GRANT}.")


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


def _basic(request: Request) -> tuple[str, str]:
    if b"authorization" in request.repeated_headers:
        raise TokenRequestError(
            400, "invalid_request", "The header Authorization is given more than once."
        )
    scheme, _, encoded = request.headers.get(b"authorization", b"").strip().partition(b" ")
    if scheme.lower() != b"basic":
        raise _invalid_client("Send the client id and secret as HTTP Basic.")
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


def routes(endpoint: TokenEndpoint) -> list[PlainRoute]:
    return [
        PlainRoute(
            method="POST",
            path=PATH,
            handler=endpoint.issue,
            body_bytes_max=FORM_BYTES_MAX,
            permission=NO_TOKEN,
            object_rule="whoever knows a client id and its secret",
            tag="Tokens",
            openapi=_OPENAPI,
            schemas=(TokenResponse, TokenError),
        )
    ]


_GRANT_TYPE = {"type": "string", "enum": [GRANT]}
_OPENAPI: Json = {
    "summary": "Get an access token",
    "description": "OAuth 2.0 client credentials. HTTPS only, except on the loopback interface.",
    "security": [{"client": []}],
    "parameters": [
        {
            "name": "grant_type",
            "in": "query",
            "required": False,
            "description": "Here or in the body.",
            "schema": _GRANT_TYPE,
            "example": GRANT,
        }
    ],
    "requestBody": {
        "required": False,
        "content": {
            _FORM.decode(): {
                "schema": {"type": "object", "properties": {"grant_type": _GRANT_TYPE}}
            }
        },
    },
    "responses": {
        "200": json_response("An access token.", schema_ref(TokenResponse)),
        "400": json_response("The request is invalid.", schema_ref(TokenError)),
        "401": json_response(
            "The client is unknown or its secret is wrong.", schema_ref(TokenError)
        ),
        "429": json_response("Too many failed attempts.", schema_ref(TokenError)),
        **problem_responses(408, 413, 431, 503),
    },
}
