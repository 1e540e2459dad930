"""Webhooks: a parcel becomes one HTTP request, signed by Standard Webhooks 1.0.

A complete answer with 2xx is the confirmation. Redirects are not followed, since they would lead
past what was checked, and nothing the other side says in its body is kept.
"""

import email.utils
import errno
import hmac
import io
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Annotated, ClassVar, Literal

import aiohttp
import msgspec
import structlog
from msgspec import Meta
from multidict import istr
from yarl import URL

from longwire import __version__
from longwire.clock import SECOND, Moment
from longwire.delivery.destinations.base import (
    MASK,
    Delivered,
    Outcome,
    Params,
    Parcel,
    Refused,
    Request,
    Secret,
    Unreachable,
)
from longwire.delivery.egress import CONNECT_TIMEOUT_S, Egress, EgressDenied, numeric
from longwire.delivery.formats import FORMATS

TOTAL_TIMEOUT_S = 15.0
# Shorter than the five seconds after which many servers hang up: a request that crosses with their
# goodbye would count as a failure.
KEEP_ALIVE_S = 4.0
CONNECTIONS_MAX = 256
ANSWER_BYTES_MAX = 64 * 1_024
# How far the other side may run ahead of us while it answers.
READ_AHEAD_BYTES = 16 * 1_024
# aiohttp writes longer bodies in pieces when they come as a file, and warns when they do not.
WHOLE_BODY_BYTES_MAX = 1_024 * 1_024
RETRY_AFTER_MAX_S = 3_600
RETRY_AFTER_CHARACTERS_MAX = 64
BATCH_MAX = 1_000
HEADERS_MAX = 50

SECRET_PREFIX = "whsec_"
OWN_HEADER_PREFIX = "webhook-"
# Ours to write, or about the connection and not about the message.
OWN_HEADERS = frozenset(
    (
        "connection",
        "content-length",
        "expect",
        "host",
        "idempotency-key",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
HEADER_TEXT = re.compile(r"[\t\x20-\x7e]*")
VISIBLE = re.compile(r"[\x21-\x7e]+")
DIGITS = re.compile(r"[0-9]+")
NO_URL = re.compile(r"[\x00-\x20\x7f\\]")

WAYS_TO_FAIL = {
    errno.ECONNREFUSED: "the connection was refused",
    errno.EHOSTUNREACH: "there is no way to the host",
    errno.ENETUNREACH: "there is no way to the host",
}

WEBHOOK_ID = istr("webhook-id")
WEBHOOK_TIMESTAMP = istr("webhook-timestamp")
WEBHOOK_SIGNATURE = istr("webhook-signature")
IDEMPOTENCY_KEY = istr("Idempotency-Key")
CONTENT_TYPE = istr("Content-Type")
RETRY_AFTER = istr("Retry-After")

log = structlog.get_logger()


class Basic(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """User name and password for `Authorization: Basic`."""

    username: Annotated[str, Meta(min_length=1, max_length=256, examples=["longwire"])]
    password: Secret


Url = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2_048,
        description="Where to send to, with http or https. User name and password go into `basic`.",
        examples=["https://example.com/longwire"],
    ),
]
Method = Annotated[Literal["POST", "PUT"], Meta(description="How to send.")]
Headers = Annotated[
    dict[str, Secret],
    Meta(
        max_length=HEADERS_MAX,
        description="Headers to send along, by name. A `Content-Type` takes the place of "
        "ours; those of the connection, `Idempotency-Key` and `webhook-…` cannot be set.",
        examples=[{"X-Api-Key": "bXkta2V5"}],
    ),
]
Bearer = Annotated[
    Secret,
    Meta(description="A token for `Authorization: Bearer`.", examples=["eyJhbGciOi"]),
]
SigningSecret = Annotated[
    Secret,
    Meta(
        description="Signs every request by Standard Webhooks 1.0: `webhook-signature` is "
        "made of `webhook-id`, `webhook-timestamp` and the body. After `whsec_` the key "
        "is read as base64; any other text is the key as it is.",
        examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    ),
]


class HttpParams(Params, kw_only=True):
    """Where a webhook goes, and how it proves where it comes from."""

    url: Url
    method: Method = "POST"
    headers: Headers = msgspec.field(default_factory=dict)
    bearer: Bearer | None = None
    basic: Basic | None = None
    secret: SigningSecret | None = None
    batch: Annotated[
        int,
        Meta(
            ge=1,
            le=BATCH_MAX,
            description="With more than 1, requests hold a JSON array of up to so many messages, "
            "each with its own `id`; what is waiting is sent together.",
        ),
    ] = 1

    def problems(self, egress: Egress) -> list[tuple[str, str]]:
        return [
            *super().problems(egress),
            *(("url", why) for why in url_problems(self.url, egress)),
            *(("headers", why) for why in header_problems(self.headers)),
            *self._authorization_problems(),
            *(("secret", why) for why in secret_problems(self.secret)),
        ]

    def _authorization_problems(self) -> Iterator[tuple[str, str]]:
        given = [
            *(["bearer"] if self.bearer is not None else []),
            *(["basic"] if self.basic is not None else []),
            *(["headers"] if "authorization" in map(str.lower, self.headers) else []),
        ]
        if len(given) > 1:
            yield given[-1], f"there can be only one Authorization, and {given[0]} has it"
        if self.bearer is not None and not HEADER_TEXT.fullmatch(self.bearer):
            yield "bearer", "must be plain text on one line"
        if self.basic is not None and ":" in self.basic.username:
            yield "basic", "the username must not contain a colon"


def url_problems(text: str, egress: Egress) -> Iterator[str]:
    """What is wrong with a URL, first things first; it is read as the client reads it."""
    if NO_URL.search(text):
        yield "must not contain spaces, backslashes or control characters"
        return
    try:
        url = URL(text)
    except (ValueError, IndexError):  # the latter for a login without a host behind it
        yield "is not a URL"
        return
    host = url.raw_host
    if url.scheme not in ("http", "https") or not host:
        yield "must be a whole URL with http or https and a host"
        return
    if "@" in text.partition("://")[2].partition("/")[0].partition("?")[0]:
        yield "must not contain a user name or password"
    if "#" in text:
        yield "must not have a fragment"
    if url.port == 0:
        yield "must not have the port 0"
    refusal = egress.refuse_literal(host)
    if refusal is not None:
        yield refusal
    elif ":" not in host and numeric(host) not in ([], [host]):
        yield f"must have the address spelled {numeric(host)[0]}"


def header_problems(headers: Mapping[str, str]) -> Iterator[str]:
    lowered = [name.lower() for name in headers]
    for name, value in headers.items():
        lower = name.lower()
        if not TOKEN.fullmatch(name):
            yield "a name has characters that are not allowed in the name of a header"
        elif lower in OWN_HEADERS or lower.startswith(OWN_HEADER_PREFIX):
            yield f"{name} cannot be set"
        elif lowered.count(lower) > 1:
            yield f"{name} is there twice"
        elif not HEADER_TEXT.fullmatch(value):
            yield f"{name} must be plain text on one line"


def secret_problems(secret: str | None) -> Iterator[str]:
    try:
        if secret is not None and not signing_key(secret):
            yield "has no key after whsec_"
    except ValueError:
        yield "must be base64 after whsec_"


def signing_key(secret: str) -> bytes:
    """The bytes to sign with; raises ValueError when base64 was promised and is not there."""
    if secret.startswith(SECRET_PREFIX):
        return b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    return secret.encode()


class Http:
    """One webhook and its open connections."""

    type: ClassVar[str] = "http"
    title: ClassVar[str] = "HTTP webhook"
    params_type = HttpParams
    formats: ClassVar[tuple[str, ...]] = FORMATS

    def __init__(self, params: HttpParams, egress: Egress) -> None:
        self._params = params
        self._egress = egress
        self._session: aiohttp.ClientSession | None = None
        self._fault: Refused | None = None
        self._url = URL()
        # Copying one that knows the key is cheaper than making one for every parcel.
        self._seal: hmac.HMAC | None = None
        self._headers: dict[str, str] = {}
        try:
            self._url = URL(params.url)
            if params.secret is not None:
                self._seal = hmac.new(signing_key(params.secret), digestmod="sha256")
            self._headers = fixed_headers(params)
        except ValueError:
            # It passed when it was saved, by the rules of that time.
            self._fault = Refused("the parameters of the connector cannot be used", is_final=True)
        self._sets_content_type = "content-type" in map(str.lower, params.headers)

    @property
    def batch_max(self) -> int:
        return self._params.batch

    async def send(self, parcel: Parcel) -> Outcome:
        if self._fault is not None:
            return self._fault
        try:
            body, content_type = self._content(parcel)
            return await self._exchange(parcel.at, body, self._signed(parcel, body, content_type))
        except Exception as error:
            return after(error)

    async def _exchange(self, at: Moment, body: bytes, headers: dict[istr, str]) -> Outcome:
        session = self._session or self._open()
        response = await session.request(
            self._params.method,
            self._url,
            data=body if len(body) <= WHOLE_BODY_BYTES_MAX else io.BytesIO(body),
            headers=headers,
            allow_redirects=False,
        )
        try:
            if 200 <= response.status < 300:
                await _hear_out(response.content)
                return Delivered()
            return refusal(response.status, response.headers.get(RETRY_AFTER), at)
        finally:
            # A connection whose answer is complete has gone back to the others by now; one that
            # still talks is not listened to any further.
            response.close()

    def _open(self) -> aiohttp.ClientSession:
        self._session = guarded_session(self._egress, self._headers)
        return self._session

    def _content(self, parcel: Parcel) -> tuple[bytes, str]:
        if self._params.batch > 1:
            elements = b",".join([message.element for message in parcel.messages])
            return b"[" + elements + b"]", "application/json"
        return parcel.only.body, parcel.only.content_type

    def _signed(self, parcel: Parcel, body: bytes, content_type: str) -> dict[istr, str]:
        """The headers that differ from parcel to parcel; raises ValueError for impossible ones."""
        if not (VISIBLE.fullmatch(parcel.id) and HEADER_TEXT.fullmatch(content_type)):
            raise ValueError("this does not fit into a header")
        timestamp = str(parcel.at // SECOND)
        headers = {
            WEBHOOK_ID: parcel.id,
            WEBHOOK_TIMESTAMP: timestamp,
            IDEMPOTENCY_KEY: parcel.id,
        }
        if not self._sets_content_type:
            headers[CONTENT_TYPE] = content_type
        if self._seal is not None:
            seal = self._seal.copy()
            seal.update(f"{parcel.id}.{timestamp}.".encode())
            seal.update(body)
            headers[WEBHOOK_SIGNATURE] = "v1," + b64encode(seal.digest()).decode()
        return headers

    def describe(self, parcel: Parcel) -> Request:
        body, content_type = self._content(parcel)
        headers = self._headers | dict.fromkeys(self._params.headers, MASK)
        for name, value in self._signed(parcel, body, content_type).items():
            # A signature for words of one's own choice would be as good as the secret.
            headers[str(name)] = f"v1,{MASK}" if name == WEBHOOK_SIGNATURE else value
        if self._params.bearer is not None:
            headers["Authorization"] = f"Bearer {MASK}"
        if self._params.basic is not None:
            headers["Authorization"] = f"Basic {MASK}"
        return Request(
            method=self._params.method,
            url=self._params.url,
            headers=headers,
            body=body.decode(errors="replace"),
        )

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def guarded_session(egress: Egress, headers: Mapping[str, str]) -> aiohttp.ClientSession:
    """A client that goes where the guard lets it, and does nothing of its own accord."""
    session = aiohttp.ClientSession(
        connector=egress.connector(connections_max=CONNECTIONS_MAX, keep_alive_s=KEEP_ALIVE_S),
        headers=headers,
        skip_auto_headers=("Accept-Encoding",),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=TOTAL_TIMEOUT_S, sock_connect=CONNECT_TIMEOUT_S),
        auto_decompress=False,
        trust_env=False,
        read_bufsize=READ_AHEAD_BYTES,
    )
    # aiohttp would send a PUT again by itself.
    session._retry_connection = False
    return session


def fixed_headers(params: HttpParams) -> dict[str, str]:
    """The headers that are the same in every request; raises ValueError for impossible ones."""
    headers = {"User-Agent": f"longwire/{__version__}"}
    if "user-agent" in map(str.lower, params.headers):
        headers = {}
    headers.update(params.headers)
    if params.bearer is not None:
        headers["Authorization"] = f"Bearer {params.bearer}"
    if params.basic is not None:
        pair = f"{params.basic.username}:{params.basic.password}".encode()
        headers["Authorization"] = "Basic " + b64encode(pair).decode()
    if any(header_problems(params.headers)) or not all(
        map(HEADER_TEXT.fullmatch, headers.values())
    ):
        raise ValueError("these headers cannot be sent")
    return headers


async def _hear_out(content: aiohttp.StreamReader) -> None:
    """Wait for the end of an answer, or until it has been long enough."""
    size = 0
    while size <= ANSWER_BYTES_MAX and not content.at_eof():
        size += len(await content.readany())


def refusal(status: int, retry_after: str | None, at: Moment) -> Refused:
    """What an answer that is no success means."""
    if status == 410:
        return Refused("answered with status 410, gone", is_final=True, disables=True)
    if 300 <= status < 400:
        reason = f"answered with a redirect ({status}), which is not followed"
    else:
        reason = f"answered with status {status}"
    return Refused(reason, retry_after_s=wait_s(retry_after, at))


def wait_s(retry_after: str | None, at: Moment) -> int | None:
    """How long the other side asks us to wait: seconds or a date, within bounds, or nothing."""
    if retry_after is None or len(retry_after) > RETRY_AFTER_CHARACTERS_MAX:
        return None
    if DIGITS.fullmatch(retry_after):
        return min(int(retry_after), RETRY_AFTER_MAX_S)
    try:
        moment = email.utils.parsedate_to_datetime(retry_after)
        # Without a zone it is in UTC, by the grammar of HTTP.
        seconds = int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()) - at // SECOND
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return max(0, min(seconds, RETRY_AFTER_MAX_S))


def after(error: Exception) -> Refused | Unreachable:
    """What became of a parcel when there was no answer, in our own words."""
    match error:
        case EgressDenied():
            return Unreachable(str(error), is_final=True)
        case aiohttp.ClientConnectorCertificateError():
            return Unreachable("the certificate was not accepted")
        case aiohttp.ClientSSLError():
            return Unreachable("a secure connection could not be made")
        case aiohttp.ClientConnectorDNSError():
            return Unreachable("the name of the host does not resolve")
        case aiohttp.ConnectionTimeoutError():
            return Unreachable("the connection was not made in time")
        case aiohttp.ClientConnectorError():
            return Unreachable(WAYS_TO_FAIL.get(error.errno or 0, "the connection was not made"))
        case TimeoutError():
            return Unreachable("did not answer in time")
        case aiohttp.ClientResponseError():
            return Unreachable("answered with something that is not HTTP")
        case aiohttp.ClientConnectionError() | aiohttp.ClientPayloadError() | OSError():
            return Unreachable("the connection was closed before the answer was complete")
        case ValueError():
            return Refused("the request cannot be expressed in HTTP", is_final=True)
    # Not foreseen, so worth a look; the next try may do better.
    log.error("webhook failed unexpectedly", error=type(error).__name__)
    return Unreachable("could not be sent")
