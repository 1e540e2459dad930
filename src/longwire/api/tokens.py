"""The token endpoint: OAuth 2.0 client credentials, with the bodies of RFC 6749."""

import base64
import binascii
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec

from longwire.errors import NotAuthenticated
from longwire.identity import tokens
from longwire.identity.throttle import Throttle
from longwire.model import Origin
from longwire.store.database import Database, Tx
from longwire.web.routing import NO_TOKEN, PlainRoute, Request, Response

PATH = "/oauth2/token"
GRANT = "client_credentials"
_FORM = b"application/x-www-form-urlencoded"
_CREDENTIALS = {"client_id", "client_secret"}
_NEVER_STORED: tuple[tuple[bytes, bytes], ...] = ((b"pragma", b"no-cache"),)


class Granted(msgspec.Struct):
    """A token, and how long it lasts."""

    access_token: str
    token_type: str
    expires_in: int


class Refused(msgspec.Struct):
    """Why there is no token (RFC 6749)."""

    error: str
    error_description: str


class Refusal(Exception):
    def __init__(
        self, status: int, error: str, description: str, *headers: tuple[bytes, bytes]
    ) -> None:
        super().__init__(description)
        self.response = Response(
            status,
            msgspec.json.encode(Refused(error, description)),
            headers=(*_NEVER_STORED, *headers),
        )


class TokenEndpoint:
    """Hands out access tokens, and slows down whoever guesses."""

    def __init__(
        self,
        database: Database,
        *,
        lifetime_s: int,
        per_address: Throttle,
        per_client: Throttle,
    ) -> None:
        self._database = database
        self._lifetime_s = lifetime_s
        self._per_address = per_address
        self._per_client = per_client

    async def answer(self, request: Request, body: bytes) -> Response:
        try:
            _require_https(request)
            _require_grant(request, body)
            client_id, secret = _basic(request)
            self._require_patience(request.address, client_id)
            return await self._issue(request, client_id, secret)
        except Refusal as refusal:
            return refusal.response

    async def _issue(self, request: Request, client_id: str, secret: str) -> Response:
        def work(tx: Tx) -> tokens.Issued:
            tx.origin = Origin(request.address, request.request_id)
            return tokens.issue(tx, client_id, secret, self._lifetime_s)

        try:
            issued = await self._database.write(work)
        except NotAuthenticated:
            self._per_address.take(request.address)
            self._per_client.take((request.address, client_id))
            raise _invalid_client("The client is unknown or its secret is wrong.") from None
        granted = Granted(issued.token, "Bearer", issued.lifetime_s)
        return Response(200, msgspec.json.encode(granted), headers=_NEVER_STORED)

    def _require_patience(self, address: str, client_id: str) -> None:
        wait_s = max(
            self._per_address.wait_s(address), self._per_client.wait_s((address, client_id))
        )
        if wait_s:
            raise Refusal(
                429,
                "invalid_request",
                f"Too many failed tries; wait {wait_s} seconds.",
                (b"retry-after", str(wait_s).encode()),
            )


def _require_https(request: Request) -> None:
    """Secrets do not travel in the clear, except within the machine."""
    if not request.is_secure and not _is_loopback(request.address):
        raise Refusal(400, "invalid_request", "Tokens are handed out over HTTPS only.")


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _require_grant(request: Request, body: bytes) -> None:
    media_type = request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type != _FORM:
        raise Refusal(400, "invalid_request", f"Content-Type must be {_FORM.decode()}.")
    in_query, in_form = _parameters(request.query_string), _parameters(body)
    if _CREDENTIALS & in_query.keys():
        raise Refusal(
            400, "invalid_request", "Credentials belong into the header Authorization, not the URL."
        )
    grants = {each["grant_type"] for each in (in_query, in_form) if "grant_type" in each}
    if not grants:
        raise Refusal(400, "invalid_request", "grant_type is missing.")
    if len(grants) > 1:
        raise Refusal(400, "invalid_request", "grant_type differs between query and body.")
    if grants != {GRANT}:
        raise Refusal(400, "unsupported_grant_type", f"grant_type must be {GRANT}.")


def _parameters(raw: bytes) -> dict[str, str]:
    try:
        # A parameter without a value counts as left out (RFC 6749, 3.2).
        pairs = parse_qsl(raw.decode(), keep_blank_values=False, errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise Refusal(400, "invalid_request", "The parameters are not valid UTF-8.") from None
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise Refusal(400, "invalid_request", "A parameter is given more than once.")
    return dict(pairs)


def _basic(request: Request) -> tuple[str, str]:
    if b"authorization" in request.repeated_headers:
        raise Refusal(400, "invalid_request", "The header Authorization is given more than once.")
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


def _invalid_client(description: str) -> Refusal:
    return Refusal(
        401, "invalid_client", description, (b"www-authenticate", b'Basic realm="longwire"')
    )


def routes(endpoint: TokenEndpoint, document: Mapping[str, Any]) -> list[PlainRoute]:
    return [
        PlainRoute(
            method="POST",
            path=PATH,
            handler=endpoint.answer,
            needs=NO_TOKEN,
            rule="whoever knows a client id and its secret",
            tag="Tokens",
            document=document,
        )
    ]
