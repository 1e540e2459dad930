"""Every request comes in here and every answer goes out here.

A request becomes a call: its route is looked up, its caller recognised, its input checked, one
transaction opened around one operation, and the result or the error written out. Nothing below
knows HTTP; nothing here knows a rule.
"""

import asyncio
import itertools
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any

import msgspec
import structlog

from longwire.clock import Moment
from longwire.delivery.channels import Dispatch
from longwire.delivery.egress import Egress
from longwire.errors import (
    LongwireError,
    NotAuthenticated,
    NotFound,
    WrongMediaType,
)
from longwire.identity import tokens
from longwire.identity.throttle import Throttle
from longwire.ingest import Ingest, Stored, Unit
from longwire.model import Actor, Origin
from longwire.notifications.types.base import Office
from longwire.store.database import Database, Tx
from longwire.web import errors
from longwire.web.page_tokens import PageSeal
from longwire.web.prometheus import Instruments
from longwire.web.routing import Call, PlainRoute, Request, Response, Route, bearer_of, by_path
from longwire.web.server import Reply
from longwire.web.validation import InputLimits, check_size, decode_body, decode_query

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Network = IPv4Network | IPv6Network
Header = tuple[bytes, bytes]

SLOW_S = 1.0
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,64}")
_JSON = re.compile(
    rb"application/(?:json|[a-z0-9.+-]+\+json)\s*(?:;\s*charset\s*=\s*\"?utf-?8\"?\s*)?;?",
    re.IGNORECASE,
)
_ALWAYS: tuple[Header, ...] = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)

# Where a scope keeps what the lane has found out about it.
_KNOWN = "longwire.known"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class DoorSettings:
    limits: InputLimits
    trusted_proxies: Sequence[Network] = ()
    has_tls: bool = False
    logs_requests: bool = False
    caller_throttle: Throttle | None = None
    keeps_days: Mapping[str, int] = field(default_factory=dict)
    egress: Egress = field(default_factory=Egress)
    writer: int = 0
    dispatch: Dispatch = field(kw_only=True)
    office: Office = field(default_factory=Office)


class Gone(Exception):
    """The caller hung up before the request was whole."""


class Door:
    """The ASGI application for everything but its own start and stop."""

    def __init__(
        self,
        database: Database,
        ingest: Ingest,
        routes: Sequence[Route | PlainRoute],
        settings: DoorSettings,
        instruments: Instruments,
    ) -> None:
        self._database = database
        self._ingest = ingest
        self._table = by_path(routes)
        self._lane: dict[str, Route | PlainRoute] = {
            route.path: route
            for route in routes
            if (route.answers if isinstance(route, Route) else route.quick) is not None
        }
        self._paces = {
            route.operation_id: Throttle(
                database.tools.clock, burst=route.per_minute_max, per_minute=route.per_minute_max
            )
            for route in routes
            if isinstance(route, Route) and route.per_minute_max
        }
        self._settings = settings
        self._limits = settings.limits
        self._instruments = instruments
        self._always = _ALWAYS
        if settings.has_tls:
            self._always += ((b"strict-transport-security", b"max-age=31536000"),)

        self._late: set[asyncio.Task[Response]] = set()

        # Unique among all processes by its beginning, and in this one by its end.
        process = secrets.token_hex(5)
        self._request_ids = (f"{process}{number:07x}" for number in itertools.count())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        request = self._request(scope)
        methods = self._table.get(request.path)
        route = methods.get(request.method) if methods is not None else None
        try:
            response = await self._answer(request, methods, route, receive)
        except Gone:
            return
        except LongwireError as error:
            response = _refused(error, request, route)
        except Exception:
            log.exception("unexpected error", request_id=request.request_id, path=request.path)
            response = _refused(errors.Internal(), request, route)
        self._note(request, route, response, started)
        await self._send(send, request, response)

    def lane(self, scope: Scope, body: bytes | bytearray, reply: Reply) -> bool:
        """The short way for a record that is as it should be, from a sender who is known.

        It does what `__call__` does without waiting anywhere. Whatever is out of the ordinary it
        leaves alone, so that there is one place where that is dealt with.
        """
        started = time.perf_counter()
        try:
            known: _Known | None = scope.get(_KNOWN)
            if known is None:
                known = self._learn(scope)
                if known is None:
                    return False
            route = known.route
            if isinstance(route, PlainRoute):
                return self._heard(known, route, bytes(body), reply, started)
            actor = self._holder(known.token)
            if actor is None:
                return False
            check_size(len(body), self._size_max(bulk=route.is_bulk))
            assert route.body is not None
            unit: Unit = route.handler(actor, decode_body(bytes(body), route.body, self._limits))
        except LongwireError:
            return False
        request = self._request_like(known)

        def tell(outcome: Stored | Exception) -> None:
            response = self._told(request, route, outcome)
            self._note(request, route, response, started)
            reply(response.status, self._fields(request, response), response.body)

        return self._ingest.offer(unit, tell)

    def _heard(
        self, known: "_Known", route: PlainRoute, body: bytes, reply: Reply, started: float
    ) -> bool:
        """The short way for a message of a network."""
        assert route.quick is not None
        check_size(len(body), self._size_max(bulk=False))
        unit = route.quick(known.request, known.token, body)
        if unit is None:
            return False
        request = self._request_like(known)

        def answer(response: Response) -> None:
            self._note(request, route, response, started)
            reply(response.status, self._fields(request, response), response.body)

        def go_the_long_way() -> None:
            task = asyncio.create_task(self._answered(request, route, body))
            self._late.add(task)
            task.add_done_callback(self._late.discard)
            task.add_done_callback(lambda done: answer(done.result()))

        def tell(outcome: Stored | Exception) -> None:
            if isinstance(outcome, Stored):
                answer(Response(200, route.stored))
            else:  # what was remembered may be wrong; the long way finds out, or says why
                go_the_long_way()

        def take(unit: Unit | None) -> None:
            if unit is None or not self._ingest.offer(unit, tell):
                go_the_long_way()

        return self._ingest.offer(unit, tell) if isinstance(unit, Unit) else unit(take)

    async def _answered(self, request: Request, route: PlainRoute, body: bytes) -> Response:
        try:
            return await route.handler(request, body)
        except LongwireError as error:
            return _refused(error, request, route)
        except Exception:
            log.exception("unexpected error", request_id=request.request_id, path=request.path)
            return _refused(errors.Internal(), request, route)

    def _request_like(self, known: "_Known") -> Request:
        if known.names_itself:
            return known.request
        return known.request.called(next(self._request_ids))

    def _learn(self, scope: Scope) -> "_Known | None":
        """What the head of a request says, if it is one for the lane; also for the next like it."""
        route = self._lane.get(scope["path"]) if scope["method"] == "POST" else None
        if route is None or self._settings.caller_throttle is not None:
            return None
        request = self._request(scope)
        if isinstance(route, Route):
            _require_json(request)
        names_itself = request.headers.get(b"x-request-id") == request.request_id.encode()
        known = scope[_KNOWN] = _Known(route, _token(request), request, names_itself)
        return known

    def _told(self, request: Request, route: Route, outcome: Stored | Exception) -> Response:
        assert route.answers is not None
        if isinstance(outcome, Stored):
            return Response(200, route.answers(outcome))
        if isinstance(outcome, LongwireError):
            return _refused(outcome, request, route)
        log.error(
            "unexpected error",
            request_id=request.request_id,
            path=request.path,
            exc_info=outcome,
        )
        return _refused(errors.Internal(), request, route)

    def _note(
        self,
        request: Request,
        route: Route | PlainRoute | None,
        response: Response,
        started: float,
    ) -> None:
        seconds = time.perf_counter() - started
        self._instruments.answered(
            route.path if route else "-",
            request.method if route else "-",
            response.status,
            seconds,
        )
        if response.status >= 500 or seconds > SLOW_S or self._settings.logs_requests:
            _log(request, response, seconds)

    # --- the steps of a request ---

    async def _answer(
        self,
        request: Request,
        methods: Mapping[str, Route | PlainRoute] | None,
        route: Route | PlainRoute | None,
        receive: Receive,
    ) -> Response:
        if methods is None:
            raise NotFound(f"There is no path {request.path} here; /docs lists all.")
        if route is None:
            raise errors.WrongMethod(
                f"{request.path} takes {', '.join(sorted(methods))}, not {request.method}.",
                allowed=methods,
            )
        if isinstance(route, PlainRoute):
            body = b"" if route.method == "GET" else await self._body(request, receive, bulk=False)
            return await route.handler(request, body)
        return await self._operate(request, route, receive)

    async def _operate(self, request: Request, route: Route, receive: Receive) -> Response:
        actor = await self.actor(request)
        question = (actor, route.path, request.query_string)
        if route.is_remembered:
            tools = self._database.tools
            known = tools.memory.answer(question, tools.clock.now())
            if known is not None:
                return Response(200, known)
        inputs: list[Any] = []
        if route.query is not None:
            inputs.append(decode_query(request.query_string, route.query, self._limits))
        if route.body is not None:
            _require_json(request)
            raw = await self._body(request, receive, bulk=route.is_bulk)
            inputs.append(decode_body(raw, route.body, self._limits))
        if route.per_minute_max:
            self._paces[route.operation_id].let_in(actor.id)
        if route.prepares is not None:
            inputs.append(await route.prepares(self._database, actor, *inputs))
        if route.answers is not None:
            unit: Unit = route.handler(actor, *inputs)
            return Response(200, route.answers(await self._ingest.put(unit)))
        pages = PageSeal(
            self._database.tools.keyring,
            actor,
            route.operation_id,
            self._limits.page_items_default,
        )
        origin = Origin(request.address, request.request_id)
        keeps_days = self._settings.keeps_days

        def work(tx: Tx) -> bytes:
            tx.origin = origin
            call = Call(
                tx,
                actor,
                pages,
                keeps_days,
                self._limits,
                self._settings.egress,
                self._settings.writer,
                self._settings.dispatch,
                self._settings.office,
                question,
            )
            return msgspec.json.encode(route.handler(call, *inputs))

        run = self._database.write if route.writes else self._database.read
        return Response(200, await run(work))

    async def actor(self, request: Request) -> Actor:
        """Who calls, by the token alone."""
        actor = self._known_actor(request)
        if actor is None:
            memory = self._database.tools.memory
            generation = memory.generation
            token = _token(request)
            digest = self._database.tools.keyring.digest(token)
            found = await self._database.read(lambda tx: tokens.bearer(tx, digest))
            memory.keep("bearers", token, found, since=generation)
            actor = found[0]
        if self._settings.caller_throttle is not None:
            self._settings.caller_throttle.let_in(actor.id)
        return actor

    def _known_actor(self, request: Request) -> Actor | None:
        """Who calls, as far as memory knows."""
        return self._holder(_token(request))

    def _holder(self, token: str) -> Actor | None:
        tools = self._database.tools
        found: tuple[Actor, Moment] | None = tools.memory.known("bearers", token)
        return found[0] if found is not None and found[1] > tools.clock.now() else None

    def _size_max(self, *, bulk: bool) -> int:
        return self._limits.bulk_body_bytes_max if bulk else self._limits.body_bytes_max

    async def _body(self, request: Request, receive: Receive, *, bulk: bool) -> bytes:
        size_max = self._size_max(bulk=bulk)
        declared = request.headers.get(b"content-length")
        if declared is not None and declared.isdigit():
            check_size(int(declared), size_max)
        message = await receive()
        if not message.get("more_body") and message["type"] == "http.request":
            body: bytes = message.get("body", b"")
            check_size(len(body), size_max)
            return body
        chunks: list[bytes] = []
        size = 0
        while True:
            if message["type"] == "http.disconnect":
                raise Gone
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            check_size(size, size_max)
            if not message.get("more_body"):
                return b"".join(chunks)
            message = await receive()

    # --- in and out ---

    def _request(self, scope: Scope) -> Request:
        headers: dict[bytes, bytes] = {}
        repeated: set[bytes] = set()
        for name, value in scope["headers"]:
            if name in headers:
                repeated.add(name)
            headers[name] = value
        client = scope.get("client")
        # A socket for both families writes IPv4 callers as ::ffff:127.0.0.1.
        address = client[0].removeprefix("::ffff:") if client else "-"
        is_secure = scope["scheme"] == "https"
        is_forwarded = b"x-forwarded-proto" in headers or b"x-forwarded-for" in headers
        if is_forwarded and self._is_trusted(address):
            is_secure = headers.get(b"x-forwarded-proto", b"").strip().lower() == b"https"
            address = self._forwarded_for(headers.get(b"x-forwarded-for", b""), address)
        wished = headers.get(b"x-request-id", b"")
        request_id = wished.decode() if _REQUEST_ID.fullmatch(wished) else next(self._request_ids)
        return Request(
            scope["method"],
            scope["path"],
            scope["query_string"],
            headers,
            repeated,
            address,
            is_secure,
            request_id,
        )

    def _is_trusted(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._settings.trusted_proxies)

    def _forwarded_for(self, header: bytes, address: str) -> str:
        """The last hop that is not one of our own proxies; earlier ones can be made up."""
        for hop in reversed([part.strip() for part in header.decode("latin-1").split(",")]):
            if hop:
                address = _without_port(hop)
            if not self._is_trusted(address):
                break
        return address

    def _fields(self, request: Request, response: Response) -> list[tuple[bytes, bytes]]:
        return [
            (b"content-type", response.media_type.encode()),
            (b"content-length", b"%d" % len(response.body)),
            (b"x-request-id", request.request_id.encode()),
            *self._always,
            *response.headers,
        ]

    async def _send(self, send: Send, request: Request, response: Response) -> None:
        headers = self._fields(request, response)
        start = {"type": "http.response.start", "status": response.status, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": response.body})


@dataclass(frozen=True, slots=True)
class _Known:
    """What the head of a request for the lane says, whatever its body."""

    route: Route | PlainRoute
    token: str
    request: Request
    names_itself: bool


def _without_port(hop: str) -> str:
    """Some proxies write the port of the caller as well: `192.0.2.7:4711`, `[2001:db8::7]:4711`."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop


def _token(request: Request) -> str:
    value = bearer_of(request)
    if not value or b" " in value or not value.isascii():
        raise NotAuthenticated
    return value.decode()


def _require_json(request: Request) -> None:
    """A body in another type is refused; one without a type is taken for what we ask for."""
    media_type = request.headers.get(b"content-type")
    if media_type is not None and not _JSON.fullmatch(media_type.strip()):
        raise WrongMediaType(
            f"The body was sent as {media_type.decode('latin-1')}; send it as application/json."
        )


def _refused(error: LongwireError, request: Request, route: Route | PlainRoute | None) -> Response:
    places = route.places if isinstance(route, Route) else None
    missing_is_bad = isinstance(route, Route) and route.missing_is_bad
    refusal = errors.refusal(error, request.request_id, places, missing_is_bad=missing_is_bad)
    return Response(refusal.status, refusal.body, errors.MEDIA_TYPE, refusal.headers)


def _log(request: Request, response: Response, seconds: float) -> None:
    write = log.debug
    if response.status >= 500:
        write = log.error
    elif seconds > SLOW_S:
        write = log.warning
    write(
        "request",
        method=request.method,
        path=ascii(request.path)[1:-1],  # a line break in it must not begin a line of the log
        status=response.status,
        seconds=round(seconds, 4),
        address=request.address,
        request_id=request.request_id,
    )
