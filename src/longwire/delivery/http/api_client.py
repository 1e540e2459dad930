"""A client for JSON APIs of networks: one request, and its response or the reason for none.

The session is that of the webhooks, with its egress guard and limits. Unlike there, a response body
is read, up to a limit, because some of it has to be parsed.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from longwire import __version__
from longwire.clock import Moment
from longwire.delivery.destinations.base import Delivered, Outcome, Refused
from longwire.delivery.destinations.http import parse_retry_after
from longwire.delivery.http.egress import Egress
from longwire.delivery.http.http_client_loader import load_http_client
from longwire.delivery.http.http_limits import RESPONSE_BYTES_MAX

if TYPE_CHECKING:
    import aiohttp

# Client errors after which the same request may succeed later.
RETRYABLE_STATUSES = frozenset((408, 425, 429))
# Credentials may be fixed meanwhile, on either side.
RETRYABLE_STATUSES_AND_AUTH = RETRYABLE_STATUSES | {401, 403}
# The webhook of an application may be created later.
RETRYABLE_WEBHOOK_STATUSES = RETRYABLE_STATUSES_AND_AUTH | {404, 410}
# A missing permission (403) concerns the device, and is final.
RETRYABLE_VENDOR_STATUSES = RETRYABLE_STATUSES | {401}

# Of a web server that knows nothing of the path, the method or the content type.
_STATUSES_OF_OTHER_SERVERS = frozenset((400, 404, 405, 415, 501))


class ApiResponse(msgspec.Struct, frozen=True):
    status: int
    body: bytes
    retry_after: str | None = None
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_no_json(self) -> bool:
        """Whether there is no JSON API at the URL: its errors would be JSON, too."""
        may_be = self.is_success or self.status in _STATUSES_OF_OTHER_SERVERS
        return may_be and not self.body.lstrip().startswith(b"{")

    @property
    def is_conflict(self) -> bool:
        return self.status == 409

    @property
    def is_gone(self) -> bool:
        return self.status in (404, 410)

    @property
    def is_missing_or_forbidden(self) -> bool:
        return self.status in (403, 404)

    def get_string(self, name: str) -> str | None:
        """A string member of the JSON object in the body, if there is one."""
        try:
            decoded = msgspec.json.decode(self.body)
        except (msgspec.DecodeError, RecursionError):
            return None
        found = decoded.get(name) if isinstance(decoded, dict) else None
        return found if isinstance(found, str) else None


class ApiClient:
    """Keeps connections to one API open."""

    def __init__(self, egress: Egress) -> None:
        self._egress = egress
        self._client = load_http_client()
        self._session: aiohttp.ClientSession | None = None

    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: Any = None
    ) -> ApiResponse | Outcome:
        """Send one request with a JSON body, or with bytes of the type that the headers name.

        Never raises for what the other side does.
        """
        try:
            return await self._request(method, url, dict(headers), body)
        except Exception as error:
            return self._client.outcome_of_http_error(error)

    async def _request(
        self, method: str, url: str, headers: dict[str, str], body: Any
    ) -> ApiResponse:
        if self._session is None:
            self._session = self._client.create_guarded_session(
                self._egress, {"User-Agent": f"longwire/{__version__}"}
            )
        if body is not None and not isinstance(body, bytes):
            headers["Content-Type"] = "application/json"
            body = msgspec.json.encode(body)
        response = await self._session.request(
            method,
            url,
            data=body,
            headers=headers,
            allow_redirects=False,
        )
        try:
            content = await _read_limited(response.content)
            retry_after = response.headers.get("Retry-After")
            return ApiResponse(response.status, content, retry_after, response.headers)
        finally:
            response.close()

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


async def _read_limited(content: "aiohttp.StreamReader") -> bytes:
    parts = b""
    while len(parts) <= RESPONSE_BYTES_MAX and not content.at_eof():
        parts += await content.readany()
    return parts


def outcome_of_response(
    response: ApiResponse,
    at: Moment,
    *,
    retryable: frozenset[int] = RETRYABLE_STATUSES,
    detail: str = "",
) -> Outcome:
    """What a response means for the message; `detail` is text of the other side to be shown."""
    if response.is_success:
        return Delivered(detail, status=response.status)
    reason = f"answered with status {response.status}" + (f": {detail}" if detail else "")
    return Refused(
        reason,
        is_final=400 <= response.status < 500 and response.status not in retryable,
        retry_after_s=parse_retry_after(response.retry_after, at),
        status=response.status,
    )
