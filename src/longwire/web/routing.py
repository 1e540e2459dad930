"""Routes: what the request handler knows of an operation before anyone calls it.

A route is one line in the table of its noun. Its input and output types are taken from the
signature of its handler, so that validation, the OpenAPI document and the code cannot disagree.
"""

import asyncio
import inspect
import re
import typing
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import KW_ONLY, field
from functools import lru_cache, partial
from ipaddress import ip_address
from types import ModuleType
from typing import Any, Generic, TypeVar

import msgspec

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.errors import BadInput, HandedOver, WrongMediaType
from longwire.model import Actor, Origin, Session
from longwire.spans import Span
from longwire.store.database import Database, Tx
from longwire.web.errors import FieldLocations
from longwire.web.fields import Body, InputLimits, Query
from longwire.web.page_tokens import PageTokens
from longwire.web.response_cache import CachedResponse, CacheKey, ResponseCache
from longwire.web.type_info import wire_names

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T")
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


def require_media_type(request: Request, wanted: Sequence[str]) -> None:
    """Reject a body of another media type, or in another encoding than UTF-8."""
    given = request.headers.get(b"content-type", b"").decode("latin-1").strip()
    media_type, _, charset = (part.strip().lower() for part in given.partition(";"))
    if media_type not in wanted or charset.replace('"', "") not in _UTF_8:
        choice = " or ".join(wanted)
        raise WrongMediaType(f"The body was sent as {given or 'nothing'}; send it as {choice}.")


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
class Caller:
    """Who makes a request, and until when what it was authenticated by is valid."""

    actor: Actor
    expires_at: Moment
    session: Session | None = None  # if it was authenticated by a cookie
    handed_over_by: str | None = None  # another user, who was shown the link of the session

    def require_oneself(self) -> None:
        """Refuse somebody who was shown the link of another user to act on that user itself."""
        if self.handed_over_by is not None:
            raise HandedOver

    def build_origin(self, request: Request) -> Origin:
        """Where a request of theirs came from, for the audit log."""
        return Origin(request.address, request.request_id, self.handed_over_by)


@dataclass(frozen=True, slots=True)
class Context(Generic[V]):
    """What an operation gets besides its input: an authenticated actor and an open transaction."""

    tx: Tx
    actor: Actor
    services: V  # of the application; nothing here looks into them
    page_tokens: PageTokens
    limits: InputLimits
    cache_key: CacheKey
    response_cache: ResponseCache
    session: Session | None = None  # of a caller who has signed in


@dataclass(frozen=True, slots=True)
class AsyncContext(Generic[V]):
    """What an operation gets that opens its own transactions, between which it may wait."""

    database: Database
    request: Request
    authenticated: Caller | None  # None of an operation that needs no token
    services: V  # of the application; nothing here looks into them
    operation_id: str
    limits: InputLimits
    # Who makes the request, for an operation that needs no token of everybody.
    authenticate: Callable[[], Awaitable[Caller]]
    # The caller as they are now; raises NotAuthenticated when a token or session has ended.
    reauthenticate: Callable[[], Awaitable[Actor]]
    stopping: asyncio.Event  # set before the process stops: streams end within a second

    @property
    def caller(self) -> Caller:
        assert self.authenticated is not None
        return self.authenticated

    @property
    def actor(self) -> Actor:
        return self.caller.actor

    @property
    def origin(self) -> Origin:
        handed_over_by = self.authenticated.handed_over_by if self.authenticated else None
        return Origin(self.request.address, self.request.request_id, handed_over_by)

    @property
    def now(self) -> Moment:
        return self.database.context.clock.now()

    @property
    def page_tokens(self) -> PageTokens:
        keyring, items_default = self.database.context.keyring, self.limits.page_items_default
        return PageTokens(keyring, self.actor, self.operation_id, items_default)

    async def read(self, work: Callable[[Tx], T]) -> T:
        return await self.database.read(partial(self._run, work))

    async def write(self, work: Callable[[Tx], T]) -> T:
        return await self.database.write(partial(self._run, work))

    def _run(self, work: Callable[[Tx], T], tx: Tx) -> T:
        open_transaction(tx, self.origin, self.request.span)
        return work(tx)


def open_transaction(tx: Tx, origin: Origin, span: Span | None) -> None:
    """Have a transaction know its request, and the messages that it causes belong to its trace."""
    tx.origin = origin
    if span is not None:
        traceparent = span.traceparent
        tx.find_traceparent = lambda arrival: traceparent


@dataclass(frozen=True, slots=True)
class FastPath:
    """How requests that need no waiting are taken without a task of their own."""

    # What is to be stored, of an actor and a body; None if something has to be awaited for it.
    build: Callable[..., msgspec.Struct | None]
    respond: Callable[[Any], bytes]  # to its result
    body_bytes_max: int | None = None  # a larger one is taken in steps
    retried: tuple[type[Exception], ...] = ()  # results that the operation itself may improve


@dataclass(frozen=True, slots=True)
class Stream:
    """That a GET has a response without an end, or one too large to be built at once.

    What the operation raises becomes an ordinary error response; from its `StreamResponse` on,
    there is only the end of the stream.
    """

    open_per_caller_max: int
    open_max: int  # in a process
    media_types: tuple[str, ...]
    events: Mapping[str, Any] = field(default_factory=dict)  # of Server-Sent Events, by name
    heartbeat_s: float = 0.0  # of events, how often a comment shows that it is still open
    example: str = ""


@dataclass(frozen=True, slots=True)
class Webhook:
    """A POST that the service sends, as the OpenAPI document describes it."""

    operation_id: str
    summary: str
    description: str
    bodies: Mapping[str, Any]  # their types, by media type
    headers: type[msgspec.Struct]
    meanings: Mapping[str, str]  # of its receiver's responses, by status


@dataclass(frozen=True, slots=True)
class StreamResponse:
    """A response in chunks; the next is taken when the client has read most of those before.

    If it raises, or the service stops, the connection is closed in the middle of the response.
    """

    chunks: AsyncGenerator[bytes, None]  # of some 64 KiB at most
    media_type: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie that no script can read; an age of 0 removes it."""

    name: bytes
    value: bytes
    age_s: int
    same_site: bytes = b"Strict"


@dataclass(frozen=True, slots=True)
class WithCookies(Generic[T]):
    """A reply, and the cookies that its response sets."""

    reply: T
    cookies: tuple[Cookie, ...]


@dataclass(frozen=True, slots=True)
class Redirect:
    """A response that leads a browser elsewhere, which does not learn from where."""

    location: str
    cookies: tuple[Cookie, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A reply in another format than JSON."""

    body: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class RawBody:
    """A request body whose bytes the handler gets."""

    media_types: tuple[str, ...]
    example: Any
    content: type[msgspec.Struct] | None = None  # None for a text
    description: str = ""
    is_required: bool = True


@dataclass(frozen=True, slots=True)
class DeclaredResponse:
    """A response besides those that follow from the types of a handler."""

    meaning: str
    content: Any  # its type
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Route:
    """What is served at a method and a path.

    The first parameter of its handler says how: a `Context` has an open transaction, an
    `AsyncContext` the database, and a `Request` is all that there is for those who read it
    themselves, with its body as bytes, and build the `Response`: networks, pages, health.
    """

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
    compresses_itself: bool = False  # or has nothing that would get smaller
    is_cached: bool = False  # its handler puts its responses into the response cache
    may_lag: bool = False  # it may be served by a standby of the database
    body_bytes_max: int | None = None  # if less than what every request may have
    # Whether it must come from a page of ours, perhaps by its inputs: it sets a cookie, say.
    own_site: bool | Callable[..., bool] = False
    takes_below: bool = False  # every path that begins with its own, unless that has a route
    takes_cors: bool = True  # pages of other origins may use it, if the operator names them
    takes_handed_over: bool = False  # also with a session whose link somebody else was shown
    doc: str = ""  # summary and description, when they are not the handler's docstring
    result: str = "Done."  # what its response means
    example: Any = None  # a body; else one of the examples of its members
    statuses: tuple[int, ...] = ()  # of its errors, where they are not those of every operation
    is_documented: bool = True  # whether the OpenAPI document has it
    schemes: tuple[str, ...] = ()  # how it is authenticated, if not as every operation is
    responses: Mapping[int, DeclaredResponse] = field(default_factory=dict)
    # From the signature of the handler, unless given.
    query: type[Query] | None = None
    body: type[Body] | None = None
    reply: Any = None
    formats: tuple[str, ...] = ()  # media types of its replies that are a `Text`
    raw_body: RawBody | None = None  # instead of `body`
    # Few of them at once for a caller and an owner, perhaps by their inputs: what they hold may be
    # megabytes.
    in_turns: bool | Callable[..., bool] = False
    # Members that people send here although they belong elsewhere, and where. No member of the
    # objects that the path returns: they may be sent back as they were read.
    misplaced: Mapping[str, str] = field(default_factory=dict)
    fast_path: FastPath | None = None
    stream: Stream | None = None  # if its response is one
    # Of a handler that gets the request: runs before a body that does not arrive at once is kept,
    # and sets whose budget it is in.
    authenticate: Callable[[Request], Awaitable[Any]] | None = None
    in_transaction: bool = field(init=False)  # whether the handler gets a `Context`
    takes_request: bool = field(init=False)  # whether the handler gets the request
    # Where its parameters are; None if errors name them as they are.
    field_locations: FieldLocations | None = field(init=False)

    def __post_init__(self) -> None:
        kinds, returned = _read_signature(self.handler)
        context = typing.get_origin(kinds[0]) or kinds[0]
        object.__setattr__(self, "in_transaction", context is Context)
        object.__setattr__(self, "takes_request", context is Request)
        if self.takes_request:
            object.__setattr__(self, "field_locations", None)
            return
        if self.reply is None:
            object.__setattr__(self, "query", _first_subclass(Query, kinds))
            object.__setattr__(self, "body", _first_subclass(Body, kinds))
            object.__setattr__(self, "reply", _without_cookies(returned))
        object.__setattr__(self, "field_locations", build_field_locations(self.query, self.body))

    @property
    def writes(self) -> bool:
        return self.method != "GET" and not self.only_reads

    @property
    def may_be_compressed(self) -> bool:
        """Whether its responses have no secret in them, and are worth it."""
        is_plain = self.stream is None and not self.compresses_itself
        return is_plain and not self.writes and not self.has_secrets

    @property
    def _docstring(self) -> str:
        return inspect.cleandoc(self.doc or self.handler.__doc__ or "")

    @property
    def summary(self) -> str:
        return self._docstring.partition("\n")[0].rstrip(".")

    @property
    def description(self) -> str:
        """In paragraphs of one line each."""
        text = self._docstring.partition("\n")[2].strip()
        return "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))

    @property
    def operation_id(self) -> str:
        words = self.path.replace("/", " ").replace(".", " ").split()
        return self.method.lower() + "".join(word[0].upper() + word[1:] for word in words)


def _read_signature(handler: Callable[..., Any]) -> tuple[Sequence[Any], Any]:
    """The types of what a handler gets that is not bound to it, and of what it returns."""
    bound = 0
    if isinstance(handler, partial):
        bound, handler = len(handler.args), handler.func
    if inspect.ismethod(handler):
        bound, handler = bound + 1, handler.__func__
    names, hints = _read_annotations(handler)
    return [hints[name] for name in names[bound:]], hints.get("return")


@lru_cache(maxsize=1_000)
def _read_annotations(function: Callable[..., Any]) -> tuple[Sequence[str], Mapping[str, Any]]:
    """Reading them takes most of what a route costs, and one function has many routes."""
    hints = typing.get_type_hints(function, include_extras=True)
    return tuple(inspect.signature(function).parameters), hints


def _without_cookies(returned: Any) -> Any:
    return typing.get_args(returned)[0] if typing.get_origin(returned) is WithCookies else returned


def _first_subclass(base: type[S], annotations: Sequence[Any]) -> type[S] | None:
    """The first class among them that derives from the base.

    A generic such as `tuple[str, ...]` is none; from Python 3.13 on `issubclass` refuses it.
    """
    for annotation in annotations:
        if inspect.isclass(annotation) and issubclass(annotation, base):
            return annotation
    return None


F = TypeVar("F", bound=Callable[..., Any])


def serves(method: str, path: str, permission: str, **declared: Any) -> Callable[[F], F]:
    """Declare, at its function, the operation that it serves; see `Route`."""

    def declare(handler: F) -> F:
        route = Route(method, path, handler, permission, **declared)
        vars(handler)["routes"] = (*vars(handler).get("routes", ()), route)
        return handler

    return declare


def routes_in(*modules: ModuleType) -> list[Route]:
    """What the functions of some modules serve, in their order."""
    return [
        route
        for module in modules
        for function in vars(module).values()
        if getattr(function, "__module__", None) == module.__name__
        for route in getattr(function, "routes", ())
    ]


def build_field_locations(query: type[Query] | None, body: type[Body] | None) -> FieldLocations:
    """Where each parameter is, by its attribute name and by its wire name."""
    field_locations: dict[str, tuple[str, str]] = {}
    for where, struct in (("body", body), ("query", query)):
        if struct is not None:
            names = wire_names(struct)
            field_locations.update({wire: (where, wire) for wire in names.values()})
            field_locations.update({own: (where, wire) for own, wire in names.items()})
    return field_locations


def routes_by_path(routes: Sequence[Route]) -> dict[str, dict[str, Route]]:
    """Index the routes by path and method; no path has parameters."""
    table: dict[str, dict[str, Route]] = {}
    for route in routes:
        methods = table.setdefault(route.path, {})
        if route.method in methods:
            raise ValueError(f"{route.method} {route.path} is routed twice")
        methods[route.method] = route
    for methods in table.values():
        get = methods.get("GET")
        if get is not None and get.fast_path is None:
            # HEAD is GET without the body; the server drops it (RFC 9110 requires both).
            methods["HEAD"] = get
    return table
