"""Webhooks: a batch becomes one HTTP request, signed by Standard Webhooks 1.0.

A complete 2xx response is the confirmation. Redirects are not followed, and response bodies are
discarded.
"""

import email.utils
import hmac
import re
import socket
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta
from yarl import URL

from longwire import __version__
from longwire.clock import SECOND, Moment
from longwire.delivery.connectors.formats import FORMATS
from longwire.delivery.destinations.base import (
    MASK,
    Delivered,
    DestinationParams,
    FailureCode,
    OutboundBatch,
    Outcome,
    Refused,
    RequestPreview,
    Secret,
    Unreachable,
    invalid_message,
)
from longwire.delivery.http.egress import Egress, EgressDenied, parse_ip_literal
from longwire.delivery.http.http_exchange import HttpConnections
from longwire.delivery.retry_policy import RETRY_AFTER_MAX_S

RETRY_AFTER_CHARACTERS_MAX = 64
BATCH_MAX = 1_000
HEADERS_MAX = 50

SECRET_PREFIX = "whsec_"
# By Standard Webhooks 1.0.
KEY_BYTES_MIN, KEY_BYTES_MAX = 24, 64
OWN_HEADER_PREFIX = "webhook-"
# Set by us, or about the connection.
OWN_HEADERS = frozenset(
    (
        *("connection", "content-length", "expect", "host", "idempotency-key", "keep-alive", "te"),
        *("proxy-authorization", "proxy-connection", "trailer", "transfer-encoding", "upgrade"),
    )
)
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
HEADER_TEXT = re.compile(r"[\t\x20-\x7e]*")
VISIBLE = re.compile(r"[\x21-\x7e]+")
DIGITS = re.compile(r"[0-9]+")
INVALID_IN_URL = re.compile(r"[\x00-\x20\x7f\\]")

PARAMS_INVALID = Refused(
    "the parameters of the connector are invalid", is_final=True, code=FailureCode.NOT_CONFIGURED
)
GONE = Refused(
    "answered with status 410, gone",
    is_final=True,
    disables=True,
    code=FailureCode.GONE,
    status=410,
)

WEBHOOK_SIGNATURE = "webhook-signature"


class Basic(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """User name and password for `Authorization: Basic`."""

    username: Annotated[str, Meta(min_length=1, max_length=256, examples=["longwire"])]
    password: Secret


Url = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2_048,
        description="Where to send to, with http or https. User name and password go into `basic`. "
        "Whoever may not update it sees no more than the host.",
        examples=["https://example.com/longwire"],
        extra_json_schema={"writeOnly": True, "format": "uri"},
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
    Secret, Meta(description="A token for `Authorization: Bearer`.", examples=["eyJhbGciOi"])
]
SigningSecret = Annotated[
    Secret,
    Meta(
        description="Signs every request by Standard Webhooks 1.0: `webhook-signature` is "
        "made of `webhook-id`, `webhook-timestamp` and the body. `whsec_` and a key of "
        "24 to 64 bytes in base64; the prefix may be left out.",
        examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    ),
]
PreviousSecret = Annotated[
    Secret,
    Meta(
        description="While `secret` is rotated, the one before it: requests have a signature of "
        "each, so that receivers may verify with either.",
        examples=["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"],
    ),
]


class HttpParams(DestinationParams, kw_only=True):
    """Parameters of connectors of the type `http`."""

    url: Url
    method: Method = "POST"
    headers: Headers = msgspec.field(default_factory=dict)
    bearer: Bearer | None = None
    basic: Basic | None = None
    secret: SigningSecret | None = None
    previous_secret: PreviousSecret | None = None
    batch: Annotated[
        int,
        Meta(
            ge=1,
            le=BATCH_MAX,
            description="With more than 1, requests hold a JSON array of up to so many messages, "
            "each with its own `id`; what is waiting is sent together.",
        ),
    ] = 1

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        return [
            *super().validate(egress),
            *(("url", why) for why in validate_url(self.url, egress)),
            *(("headers", why) for why in validate_headers(self.headers)),
            *self._authorization_problems(),
            *(("secret", why) for why in validate_signing_secret(self.secret)),
            *(("previousSecret", why) for why in validate_signing_secret(self.previous_secret)),
            *self._rotation_problems(),
        ]

    def _rotation_problems(self) -> Iterator[tuple[str, str]]:
        if self.previous_secret is not None and self.secret is None:
            yield "previousSecret", "needs a secret"

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


def validate_url(text: str, egress: Egress) -> Iterator[str]:
    """Why a URL is invalid; parsed as the client parses it."""
    if INVALID_IN_URL.search(text):
        yield "must not contain spaces, backslashes or control characters"
        return
    try:
        url = URL(text)
    except (ValueError, IndexError):  # the latter for credentials without a host
        yield "is not a URL"
        return
    host = url.raw_host
    if url.scheme not in ("http", "https") or not host:
        yield "must be an absolute URL with http or https and a host"
        return
    if "@" in text.partition("://")[2].partition("/")[0].partition("?")[0]:
        yield "must not contain a user name or password"
    if "#" in text:
        yield "must not have a fragment"
    if url.port == 0:
        yield "must not have the port 0"
    refusal = egress.validate_host(host)
    if refusal is not None:
        yield refusal
    elif _is_misspelt_address(host):
        yield f"must have the address written as {parse_ip_literal(host)[0]}"


def _is_misspelt_address(host: str) -> bool:
    """Whether a host is an IPv4 address, but not in its usual spelling."""
    try:
        return ":" not in host and parse_ip_literal(host) not in ([], [host])
    except (EgressDenied, socket.gaierror):
        return False  # for other reasons it cannot be reached


def validate_headers(headers: Mapping[str, str]) -> Iterator[str]:
    lowered = [name.lower() for name in headers]
    for name, value in headers.items():
        lower = name.lower()
        if not TOKEN.fullmatch(name):
            yield "a header name has invalid characters"
        elif lower in OWN_HEADERS or lower.startswith(OWN_HEADER_PREFIX):
            yield f"{name} cannot be set"
        elif lowered.count(lower) > 1:
            yield f"{name} is given twice"
        elif not HEADER_TEXT.fullmatch(value):
            yield f"{name} must be plain text on one line"


def validate_signing_secret(secret: str | None) -> Iterator[str]:
    try:
        if secret is not None and secret != MASK:  # a mask has its own error
            signing_key(secret)
    except ValueError:
        yield f"must be {SECRET_PREFIX} and {KEY_BYTES_MIN} to {KEY_BYTES_MAX} bytes in base64"


def signing_key(secret: str) -> bytes:
    """The key to sign with, read as the libraries of Standard Webhooks do; else ValueError."""
    text = secret.removeprefix(SECRET_PREFIX).rstrip("=")
    key = b64decode(text + "=" * (-len(text) % 4), validate=True)
    if not KEY_BYTES_MIN <= len(key) <= KEY_BYTES_MAX:
        raise ValueError("the key is too short or too long")
    return key


class Http:
    """One webhook, with its open connections."""

    type: ClassVar[str] = "http"
    title: ClassVar[str] = "HTTP webhook"
    params_type = HttpParams
    formats: ClassVar[tuple[str, ...]] = FORMATS

    def __init__(self, params: HttpParams, egress: Egress) -> None:
        self._params = params
        self._connections: HttpConnections | None = None  # None: the parameters are invalid
        # Copying an initialized HMAC is cheaper than creating one for every batch.
        self._hmacs: list[hmac.HMAC] = []
        self._headers: dict[str, str] = {}
        self._head = ""  # what every request begins with
        names = {name.lower() for name in params.headers}
        self._sets_content_type = "content-type" in names
        self._sets_traceparent = "traceparent" in names
        try:
            url = URL(params.url)
            self._hmacs = [
                hmac.new(signing_key(secret), digestmod="sha256")
                for secret in (params.secret, params.previous_secret)
                if secret is not None
            ]
            self._headers = fixed_headers(params)
            self._head = _begin_head(params.method, url, self._headers)
            self._connections = HttpConnections(url, egress)
        except (ValueError, IndexError):
            pass  # valid when it was saved, by older rules

    @property
    def batch_max(self) -> int:
        return self._params.batch

    async def send(self, batch: OutboundBatch) -> Outcome:
        if self._connections is None:
            return PARAMS_INVALID
        body, content_type = self._content(batch)
        try:
            headers = self._signed(batch, body, content_type)
        except ValueError:
            return invalid_message("the request is not valid HTTP")
        if batch.traceparent and not self._sets_traceparent:
            headers["traceparent"] = batch.traceparent
        headers["Content-Length"] = str(len(body))
        head = f"{self._head}{_write(headers)}\r\n".encode("latin-1")
        response = await self._connections.exchange(head, body)
        if isinstance(response, Unreachable):
            return response
        if 200 <= response.status < 300:
            return Delivered(status=response.status)
        return refusal(response.status, response.retry_after, batch.at)

    def _content(self, batch: OutboundBatch) -> tuple[bytes, str]:
        if self._params.batch > 1:
            elements = b",".join([message.element for message in batch.messages])
            return b"[" + elements + b"]", "application/json"
        return batch.single.body, batch.single.content_type

    def _signed(self, batch: OutboundBatch, body: bytes, content_type: str) -> dict[str, str]:
        """The headers of one batch; raises ValueError for invalid ones."""
        if not (VISIBLE.fullmatch(batch.id) and HEADER_TEXT.fullmatch(content_type)):
            raise ValueError("not valid in a header")
        timestamp = str(batch.at // SECOND)
        headers = {
            "webhook-id": batch.id,
            "webhook-timestamp": timestamp,
            "Idempotency-Key": batch.id,
        }
        if not self._sets_content_type:
            headers["Content-Type"] = content_type
        if self._hmacs:
            signed = f"{batch.id}.{timestamp}.".encode()
            signatures = [_sign(each, signed, body) for each in self._hmacs]
            headers[WEBHOOK_SIGNATURE] = " ".join(signatures)
        return headers

    def describe(self, batch: OutboundBatch) -> RequestPreview:
        body, content_type = self._content(batch)
        headers = self._headers | dict.fromkeys(self._params.headers, MASK)
        masked = " ".join([f"v1,{MASK}"] * len(self._hmacs))
        for name, value in self._signed(batch, body, content_type).items():
            # Signing chosen content would be as good as knowing the secret.
            headers[name] = masked if name == WEBHOOK_SIGNATURE else value
        if self._params.bearer is not None:
            headers["Authorization"] = f"Bearer {MASK}"
        if self._params.basic is not None:
            headers["Authorization"] = f"Basic {MASK}"
        return RequestPreview(
            method=self._params.method,
            url=self._params.url,
            headers=headers,
            body=body.decode(errors="replace"),
        )

    async def close(self) -> None:
        if self._connections is not None:
            await self._connections.close()


def fixed_headers(params: HttpParams) -> dict[str, str]:
    """The headers that every request has; raises ValueError for invalid ones."""
    headers = {"User-Agent": f"longwire/{__version__}"}
    if "user-agent" in map(str.lower, params.headers):
        headers = {}
    headers.update(params.headers)
    if params.bearer is not None:
        headers["Authorization"] = f"Bearer {params.bearer}"
    if params.basic is not None:
        pair = f"{params.basic.username}:{params.basic.password}".encode()
        headers["Authorization"] = "Basic " + b64encode(pair).decode()
    if any(validate_headers(params.headers)) or not all(
        map(HEADER_TEXT.fullmatch, headers.values())
    ):
        raise ValueError("invalid headers")
    return headers


def _begin_head(method: str, url: URL, headers: Mapping[str, str]) -> str:
    """What every request begins with; raises ValueError if it would not be valid HTTP."""
    host, target = url.host_port_subcomponent or "", url.raw_path_qs
    if not (VISIBLE.fullmatch(host) and VISIBLE.fullmatch(target)):
        raise ValueError("not valid in a request")
    if _is_misspelt_address(url.raw_host or ""):
        raise ValueError("not the usual spelling of an address")
    accept = {} if "accept" in map(str.lower, headers) else {"Accept": "*/*"}
    return f"{method} {target} HTTP/1.1\r\n" + _write({"Host": host, **accept, **headers})


def _write(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])


def _sign(key: hmac.HMAC, prefix: bytes, body: bytes) -> str:
    signature = key.copy()
    signature.update(prefix)
    signature.update(body)
    return "v1," + b64encode(signature.digest()).decode()


def refusal(status: int, retry_after: str | None, at: Moment) -> Refused:
    """The outcome for a response that is not 2xx."""
    if status == 410:
        return GONE
    if 300 <= status < 400:
        reason = f"answered with a redirect ({status}), which is not followed"
    else:
        reason = f"answered with status {status}"
    return Refused(reason, retry_after_s=parse_retry_after(retry_after, at), status=status)


def parse_retry_after(retry_after: str | None, at: Moment) -> int | None:
    """Retry-After in seconds, from seconds or a date, within bounds; None if absent or invalid."""
    if retry_after is None or len(retry_after) > RETRY_AFTER_CHARACTERS_MAX:
        return None
    if DIGITS.fullmatch(retry_after):
        return min(int(retry_after), RETRY_AFTER_MAX_S)
    try:
        moment = email.utils.parsedate_to_datetime(retry_after)
        # HTTP dates without a zone are in UTC.
        seconds = int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()) - at // SECOND
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return max(0, min(seconds, RETRY_AFTER_MAX_S))
