"""Routes: what the request handler knows of an operation before anyone calls it.

A route is one line in the table of its noun. Its input and output types are taken from the
signature of its handler, so that validation, the OpenAPI document and the code cannot disagree.
"""

import asyncio
import inspect
import re
import typing
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field
from ipaddress import ip_address
from typing import Any, Generic, TypeVar

import msgspec

from longwire.errors import BadInput, WrongMediaType
from longwire.ingest.requests import IngestRequest, IngestResult
from longwire.model import Actor, Session
from longwire.spans import Span
from longwire.store.database import Database, Tx
from longwire.web.errors import FieldLocations
from longwire.web.fields import Body, InputLimits, Query
from longwire.web.page_tokens import PageTokens
from longwire.web.response_cache import CachedResponse, CacheKey, ResponseCache
from longwire.web.type_info import wire_names

S = TypeVar("S", bound=msgspec.Struct)
V = TypeVar("V")

ANY_TOKEN = "any valid token"
OWN = "oneself"
NO_TOKEN = "no token"
# Anybody may send these, so no more is kept of them than a form of ours has.
FORM_BYTES_MAX = 8 * 1024
_UTF_8 = ("", "charset=utf-8", "charset=utf8", "header=present", "charset=utf-8; header=present")
_JSON = re.compile(
    rb"application/(?:json|[a-z0-9.+-]+\+json)\s*(?:;\s*charset\s*=\s*\"?utf-?8\"?\s*)?;?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RequestContext(Generic[V]):
    """What a handler gets besides its input: an authenticated actor and an open transaction."""

    tx: Tx
    actor: Actor
    services: V  # of the application; nothing here looks into them
    page_tokens: PageTokens
    limits: InputLimits
    cache_key: CacheKey
    response_cache: ResponseCache
    session: Session | None = None  # of a caller who has signed in


@dataclass(slots=True)
class Request:
    """The head of an HTTP request."""

    method: str
    path: str
    query_string: bytes
    headers: Mapping[bytes, bytes]
    repeated_headers: Set[bytes]
    address: str
    is_secure: bool
    request_id: str
    base_path: str = ""  # of the public URL; `path` is without it
    charged_to: str = ""  # whose budget its body is in, if it is large
    charged_bytes: int = 0
    span: Span | None = None  # if it is traced
    ignored: tuple[str, ...] = ()  # members and parameters that nothing reads

    @property
    def is_confidential(self) -> bool:
        """Whether nobody else can read it: by HTTPS, or on the loopback interface."""
        return self.is_secure or _is_loopback(self.address)


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def require_json(request: Request) -> None:
    """Reject a body of another media type; a missing Content-Type counts as JSON."""
    media_type = request.headers.get(b"content-type")
    if media_type in (None, b"application/json"):
        return
    if not _JSON.fullmatch(media_type.strip()):
        raise WrongMediaType(
            f"The body was sent as {media_type.decode('latin-1')}; send it as application/json."
        )


def require_media_type(request: Request, wanted: str) -> None:
    """Reject a body of another media type, or in another encoding than UTF-8."""
    given = request.headers.get(b"content-type", b"").decode("latin-1").strip()
    media_type, _, charset = (part.strip().lower() for part in given.partition(";"))
    if media_type != wanted or charset.replace('"', "") not in _UTF_8:
        raise WrongMediaType(f"The body was sent as {given or 'nothing'}; send it as {wanted}.")


def bearer_token(request: Request) -> bytes:
    """The token in the header Authorization, with or without the scheme; empty if absent."""
    if b"authorization" in request.repeated_headers:
        raise BadInput("The header Authorization is given more than once.")
    value = request.headers.get(b"authorization", b"").strip()
    if value.startswith(b"Bearer "):
        return value[7:].strip()
    scheme, _, token = value.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" and token else value


@dataclass(slots=True)
class Response:
    """A complete HTTP response."""

    status: int
    body: bytes
    media_type: str = "application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()
    cache_control: bytes = b"no-store"
    cached: CachedResponse | None = None  # where it was taken from


@dataclass(frozen=True, slots=True)
class TextBody:
    """A request body that is no JSON; the handler gets its bytes."""

    media_type: str
    description: str
    example: str


@dataclass(frozen=True, slots=True)
class Route:
    """One operation of the interface."""

    method: str
    path: str
    handler: Callable[..., Any]
    permission: str  # a permission, or ANY_TOKEN, or OWN
    _: KW_ONLY
    object_rule: str  # for which object the permission is required
    tag: str
    not_found_is_bad_request: bool = False  # the interface has no 404 here
    conflicts: str = ""  # when it responds 409
    is_bulk: bool = False
    per_minute_max: int = 0  # per caller; 0 for no limit
    only_reads: bool = False  # although it is no GET
    is_addition: bool = False  # not part of the original interface
    has_secrets: bool = False  # in its responses, which are therefore not compressed
    is_cached: bool = False  # its handler puts its responses into the response cache
    may_lag: bool = False  # it may be served by a standby of the database
    doc: str = ""  # summary and description, when they are not the handler's docstring
    # From the signature of the handler, unless given.
    query: type[Query] | None = None
    body: type[Body] | None = None
    reply: Any = None
    text_body: TextBody | None = None  # instead of `body`
    # Runs before the transaction is opened; its result is passed to the handler.
    prepare_input: Callable[..., Awaitable[Any]] | None = None
    needs_preparing: Callable[..., bool] | None = None  # by its inputs; without it, always
    prepare_settings: tuple[str, ...] = ()  # of the services that it takes by name
    takes_limits: bool = False
    takes_origin: bool = False  # it is called with `origin`, for the audit log
    # Members that people send here although they belong elsewhere, and where. No member of the
    # objects that the path returns: they may be sent back as they were read.
    misplaced: Mapping[str, str] = field(default_factory=dict)
    # Encodes the response; only for routes whose handler returns an `IngestRequest`.
    build_response: Callable[[IngestResult], bytes] | None = None
    field_locations: FieldLocations = field(init=False)

    def __post_init__(self) -> None:
        if self.reply is None:
            hints = typing.get_type_hints(self.handler, include_extras=True)
            kinds = [hints[name] for name in inspect.signature(self.handler).parameters]
            object.__setattr__(self, "query", _first_subclass(Query, kinds))
            object.__setattr__(self, "body", _first_subclass(Body, kinds))
            object.__setattr__(self, "reply", hints["return"])
        object.__setattr__(self, "field_locations", build_field_locations(self.query, self.body))

    @property
    def writes(self) -> bool:
        return self.method != "GET" and not self.only_reads

    @property
    def _docstring(self) -> str:
        return inspect.cleandoc(self.doc or self.handler.__doc__ or "")

    @property
    def summary(self) -> str:
        return self._docstring.partition("\n")[0].rstrip(".")

    @property
    def description(self) -> str:
        return self._docstring.partition("\n")[2].strip()

    @property
    def operation_id(self) -> str:
        return _operation_id(self.method, self.path)


def _first_subclass(base: type[S], annotations: Sequence[Any]) -> type[S] | None:
    """The first class among them that derives from the base.

    A generic such as `tuple[str, ...]` is none; from Python 3.13 on `issubclass` refuses it.
    """
    for annotation in annotations:
        if inspect.isclass(annotation) and issubclass(annotation, base):
            return annotation
    return None


@dataclass(frozen=True, slots=True)
class StreamContext(Generic[V]):
    """What the handler of a stream gets besides its query; no transaction is open."""

    database: Database
    request: Request
    actor: Actor
    services: V
    page_tokens: PageTokens
    limits: InputLimits
    # The caller as they are now; raises NotAuthenticated when a token or session has ended.
    reauthenticate: Callable[[], Awaitable[Actor]]
    stopping: asyncio.Event  # set before the process stops: end within a second


@dataclass(frozen=True, slots=True)
class StreamResponse:
    """A response in chunks; the next is taken when the client has read most of those before.

    If it raises, or the service stops, the connection is closed in the middle of the response.
    """

    chunks: AsyncGenerator[bytes, None]  # of some 64 KiB at most
    media_type: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRoute(Route):
    """A GET whose response has no end, or is too large to be built at once.

    Its handler is a coroutine function of a `StreamContext` and a query. What it raises becomes an
    ordinary error response; from its `StreamResponse` on, there is only the end of the stream.
    """

    open_per_caller_max: int
    open_max: int  # in a process
    content: Mapping[str, Any]  # of the response in the OpenAPI document, by media type
    schemas: tuple[type[msgspec.Struct], ...] = ()  # that it refers to


Handler = Callable[[Request, bytes], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRoute:
    """An endpoint that is not an operation: it reads the raw request and builds the response."""

    method: str
    path: str
    handler: Handler
    permission: str
    object_rule: str
    tag: str = "Service"
    takes_cors: bool = False  # pages of other origins may use it, if the operator names them
    is_compressed: bool = False  # for clients that accept it; its responses have no secret
    takes_below: bool = False  # every path that begins with its own, unless that has a route
    body_bytes_max: int | None = None  # if less than what every request may have
    # Runs before a body that does not arrive at once is kept; sets whose budget it is in.
    authenticate: Callable[[Request], Awaitable[Any]] | None = None
    # For the fast path: the records of a request, if nothing has to be awaited for them, and the
    # response after they were stored. What it declines with None is the handler's.
    build_ingest_request: Callable[[Request, bytes], IngestRequest | None] | None = None
    stored_response: bytes = b""
    openapi: Mapping[str, Any] | None = None  # its entry in the OpenAPI document, if it has one
    schemas: tuple[type[msgspec.Struct], ...] = ()  # that this entry refers to
    # Where its parameters are, if it has any of our own; else errors name them as they are.
    field_locations: FieldLocations | None = None

    @property
    def operation_id(self) -> str:
        return _operation_id(self.method, self.path)


def _operation_id(method: str, path: str) -> str:
    words = path.replace("/", " ").replace(".", " ").split()
    return method.lower() + "".join(word[0].upper() + word[1:] for word in words)


def build_field_locations(query: type[Query] | None, body: type[Body] | None) -> FieldLocations:
    """Where each parameter is, by its attribute name and by its wire name."""
    field_locations: dict[str, tuple[str, str]] = {}
    for where, struct in (("body", body), ("query", query)):
        if struct is not None:
            names = wire_names(struct)
            field_locations.update({wire: (where, wire) for wire in names.values()})
            field_locations.update({own: (where, wire) for own, wire in names.items()})
    return field_locations


def routes_by_path(
    routes: Sequence[Route | PlainRoute],
) -> dict[str, dict[str, Route | PlainRoute]]:
    """Index the routes by path and method; no path has parameters."""
    table: dict[str, dict[str, Route | PlainRoute]] = {}
    for route in routes:
        methods = table.setdefault(route.path, {})
        if route.method in methods:
            raise ValueError(f"{route.method} {route.path} is routed twice")
        methods[route.method] = route
    for methods in table.values():
        get = methods.get("GET")
        if get is not None and not (isinstance(get, PlainRoute) and get.build_ingest_request):
            # HEAD is GET without the body; the server drops it (RFC 9110 requires both).
            methods["HEAD"] = get
    return table
