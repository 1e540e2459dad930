"""Webhooks: a batch becomes one HTTP request, signed by Standard Webhooks 1.0.

A complete 2xx response is the confirmation. Redirects are not followed. Of responses the beginning
may be kept, to be shown; nothing here depends on it.
"""

import asyncio
import dataclasses
import email.utils
import hmac
import re
import socket
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta
from yarl import URL

from longwire import __version__
from longwire.clock import SECOND, Moment
from longwire.dates import parse_date
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
from longwire.delivery.destinations.signing import (
    SECRET_PREFIX,
    signing_key,
    validate_signing_secret,
)
from longwire.delivery.exchanges import (
    RECORDED_BYTES_MAX,
    Exchange,
    SecretMask,
    build_request,
    build_response,
    list_url_secrets,
)
from longwire.delivery.http.egress import (
    KEPT_EXCHANGES_BURST,
    Egress,
    EgressDenied,
    parse_ip_literal,
)
from longwire.delivery.http.http_exchange import HttpConnections, HttpResponse
from longwire.delivery.http.proxies import Proxy, list_login_problems, parse_proxy
from longwire.delivery.http.recorder import Recorder
from longwire.delivery.retry_policy import RETRY_AFTER_MAX_S
from longwire.ids import new_id
from longwire.work.budgets import TokenBucket

RETRY_AFTER_CHARACTERS_MAX = 64
BATCH_MAX = 1_000
HEADERS_MAX = 50

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
# Of a message that was sent by hand to try a connector.
TEST_HEADER = {"webhook-test": "true"}
# Exchanges that are kept: of a connector in each process, and of all together, in a second.
KEPT_BURST, KEPT_PER_S = 20, 1.0
KEPT_OF_ALL_PER_S = 50.0
# Headers whose values are words of HTTP, not secrets.
PLAIN_HEADERS = frozenset(
    ("accept", "accept-language", "content-type", "user-agent", "traceparent")
)


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


PreviousSecretUntil = Annotated[
    str,
    Meta(
        max_length=40,
        description="When `previousSecret` ends; requests have one signature from then on. Without"
        " it, `previousSecret` ends when it is removed.",
        examples=["2026-03-02T12:00:00.000Z"],
    ),
]


class ProxyParams(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Connect through this proxy; behind the operator's, if there is one."""

    url: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=300,
            description="`http://host:port` (by CONNECT), `socks5://host:port`, or"
            " `socks5h://host:port`, which looks the name of the receiver up itself.",
            examples=["socks5://proxy.example.com:1080"],
        ),
    ]
    username: Annotated[str, Meta(min_length=1, max_length=255, examples=["longwire"])] | None = (
        None
    )
    password: Secret | None = None

    def to_proxy(self) -> Proxy:
        """Raises ValueError if it is invalid."""
        proxy = parse_proxy(self.url)
        if proxy.username:
            raise ValueError("must not contain a user name or password")
        username, password = self.username or "", self.password or ""
        for problem in list_login_problems(proxy.scheme, username, password):
            raise ValueError(problem)
        return dataclasses.replace(proxy, username=username, password=password)


class HttpParams(DestinationParams, kw_only=True):
    """Parameters of connectors of the type `http`."""

    url: Url
    method: Method = "POST"
    headers: Headers = msgspec.field(default_factory=dict)
    bearer: Bearer | None = None
    basic: Basic | None = None
    secret: SigningSecret | None = None
    previous_secret: PreviousSecret | None = None
    previous_secret_until: PreviousSecretUntil | None = None
    proxy: ProxyParams | None = None
    store_responses: Annotated[
        Literal["off", "failures", "all"],
        Meta(
            description="Of which attempts the request and the first 4 KiB of the response are"
            " kept, for those who may change the connector."
        ),
    ] = "failures"
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
            *self._proxy_problems(egress),
        ]

    def _rotation_problems(self) -> Iterator[tuple[str, str]]:
        if self.previous_secret is not None and self.secret is None:
            yield "previousSecret", "needs a secret"
        if self.previous_secret_until is not None:
            if self.previous_secret is None:
                yield "previousSecretUntil", "needs a previousSecret"
            try:
                parse_date(self.previous_secret_until)
            except ValueError as error:
                yield "previousSecretUntil", str(error)

    def _proxy_problems(self, egress: Egress) -> Iterator[tuple[str, str]]:
        if self.proxy is None:
            return
        try:
            proxy = self.proxy.to_proxy()
        except ValueError as error:
            yield "proxy", str(error)
            return
        refusal = egress.validate_host(proxy.host)
        if refusal is not None:
            yield "proxy", refusal
        elif _is_misspelt_address(proxy.host):
            yield "proxy", f"must have the address written as {parse_ip_literal(proxy.host)[0]}"

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
        self._previous_until: Moment | None = None
        self._headers: dict[str, str] = {}
        self._head = ""  # what every request begins with
        names = {name.lower() for name in params.headers}
        self._sets_content_type = "content-type" in names
        self._sets_traceparent = "traceparent" in names
        self._egress = egress
        self._kept = TokenBucket(KEPT_BURST, 0.0)
        self._mask: SecretMask | None = None  # made when it is needed
        try:
            url = URL(params.url)
            if params.previous_secret_until is not None:
                self._previous_until = parse_date(params.previous_secret_until)
            proxies = [] if params.proxy is None else [params.proxy.to_proxy()]
            self._hmacs = [
                hmac.new(signing_key(secret), digestmod="sha256")
                for secret in (params.secret, params.previous_secret)
                if secret is not None
            ]
            self._headers = fixed_headers(params)
            self._head = _begin_head(params.method, url, self._headers)
            self._connections = HttpConnections(url, egress, proxies)
        except (ValueError, IndexError):
            pass  # valid when it was saved, by older rules

    @property
    def batch_max(self) -> int:
        return self._params.batch

    async def send(self, batch: OutboundBatch) -> Outcome:
        if self._connections is None:
            return PARAMS_INVALID
        body, content_type = self._content(batch)
        recorder = self._start_recording(batch)
        began = 0.0 if recorder is None else asyncio.get_running_loop().time()
        try:
            signed = self._signed(batch, body, content_type)
        except ValueError:
            return invalid_message("the request is not valid HTTP")
        headers = {**signed}
        if batch.traceparent and not self._sets_traceparent:
            headers["traceparent"] = batch.traceparent
        headers["Content-Length"] = str(len(body))
        head = f"{self._head}{_write(headers)}\r\n".encode("latin-1")
        response = await self._connections.exchange(head, body, recorder)
        outcome = _conclude(response, batch.at)
        if recorder is None or not self._keeps(batch, outcome):
            return outcome
        duration_ms = int((asyncio.get_running_loop().time() - began) * 1_000)
        exchange = self._build_exchange(batch, body, signed, recorder, duration_ms)
        return msgspec.structs.replace(outcome, exchange=exchange)

    # --- what is kept of an exchange ---

    def _start_recording(self, batch: OutboundBatch) -> Recorder | None:
        """Unless nothing would be kept, or enough is: a failing receiver may fail all the time."""
        if batch.single.is_test:
            return Recorder(RECORDED_BYTES_MAX)
        if self._params.store_responses == "off":
            return None
        return Recorder(RECORDED_BYTES_MAX) if min(self._get_room()) >= 1 else None

    def _keeps(self, batch: OutboundBatch, outcome: Outcome) -> bool:
        """Whether it is kept; it counts then."""
        if batch.single.is_test:
            return True
        if isinstance(outcome, Delivered) and self._params.store_responses != "all":
            return False
        mine, of_all = self._get_room()
        if min(mine, of_all) < 1:
            return False
        now = asyncio.get_running_loop().time()
        self._kept.set_left(mine - 1, now)
        self._egress.kept_exchanges.set_left(of_all - 1, now)
        return True

    def _get_room(self) -> tuple[float, float]:
        """How many more may be kept: of this connector, and of all together."""
        now = asyncio.get_running_loop().time()
        return (
            self._kept.get_left(now, KEPT_BURST, KEPT_PER_S),
            self._egress.kept_exchanges.get_left(now, KEPT_EXCHANGES_BURST, KEPT_OF_ALL_PER_S),
        )

    def _build_exchange(
        self,
        batch: OutboundBatch,
        body: bytes,
        signed: Mapping[str, str],
        recorder: Recorder,
        duration_ms: int,
    ) -> Exchange:
        # Of what was made to send it: a batch may be large, and others wait meanwhile.
        # Signing chosen content would be as good as knowing the secret.
        signatures = [
            each.removeprefix("v1,") for each in signed.get(WEBHOOK_SIGNATURE, "").split()
        ]
        if self._mask is None:
            self._mask = SecretMask(list_secret_texts(self._params))
        mask = self._mask.add(signatures)
        headers = self._mask_headers(batch, signed)
        request = build_request(self._params.method, self._params.url, headers, body)
        return Exchange(
            new_id("exc"),
            batch.at,
            duration_ms,
            recorder.phase,
            len(batch.messages),
            request,
            build_response(recorder, mask),
        )

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
        if batch.single.is_test:
            headers |= TEST_HEADER
        if hmacs := self._list_hmacs(batch.at):
            signed = f"{batch.id}.{timestamp}.".encode()
            signatures = [_sign(each, signed, body) for each in hmacs]
            headers[WEBHOOK_SIGNATURE] = " ".join(signatures)
        return headers

    def _list_hmacs(self, at: Moment) -> list[hmac.HMAC]:
        """Of the keys that sign at a moment."""
        is_over = self._previous_until is not None and at >= self._previous_until
        return self._hmacs[:1] if is_over else self._hmacs

    def describe(self, batch: OutboundBatch) -> RequestPreview:
        body, content_type = self._content(batch)
        return RequestPreview(
            method=self._params.method,
            url=self._params.url,
            headers=self._mask_headers(batch, self._signed(batch, body, content_type)),
            body=body.decode(errors="replace"),
        )

    def _mask_headers(self, batch: OutboundBatch, signed: Mapping[str, str]) -> dict[str, str]:
        headers = self._headers | dict.fromkeys(self._params.headers, MASK)
        masked = " ".join([f"v1,{MASK}"] * len(self._list_hmacs(batch.at)))
        for name, value in signed.items():
            # Signing chosen content would be as good as knowing the secret.
            headers[name] = masked if name == WEBHOOK_SIGNATURE else value
        if self._params.bearer is not None:
            headers["Authorization"] = f"Bearer {MASK}"
        if self._params.basic is not None:
            headers["Authorization"] = f"Basic {MASK}"
        return headers

    async def close(self) -> None:
        if self._connections is not None:
            await self._connections.close()


def list_secret_texts(params: HttpParams) -> list[str]:
    """What must not be shown where a receiver echoes it."""
    secrets = [value for name, value in params.headers.items() if name.lower() not in PLAIN_HEADERS]
    secrets += [each for each in (params.bearer, params.secret, params.previous_secret) if each]
    secrets += [
        each.removeprefix(SECRET_PREFIX) for each in (params.secret, params.previous_secret) if each
    ]
    # Of a header with a scheme the receiver may echo the rest.
    secrets += [each.partition(" ")[2] for each in secrets]
    if params.basic is not None:
        pair = f"{params.basic.username}:{params.basic.password}"
        secrets += [params.basic.password, pair]
    if params.proxy is not None and params.proxy.password is not None:
        secrets += [params.proxy.password, f"{params.proxy.username}:{params.proxy.password}"]
    url = URL(params.url)
    query = [
        *url.query.values(),
        *(each.partition("=")[2] for each in url.raw_query_string.split("&")),
    ]
    return secrets + list_url_secrets([*url.parts, *url.raw_parts], query)


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


def _conclude(response: HttpResponse | Unreachable, at: Moment) -> Outcome:
    if isinstance(response, Unreachable):
        return response
    if 200 <= response.status < 300:
        return Delivered(status=response.status)
    return refusal(response.status, response.retry_after, at)


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
