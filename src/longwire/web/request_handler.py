"""From an HTTP request to an operation, and from its result to a response.

The route is looked up, the caller authenticated, the input validated, one transaction opened around
one operation, and the result or error encoded. Nothing below knows HTTP; nothing here knows a rule
of the domain.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol
from weakref import WeakValueDictionary

import structlog

from longwire.errors import LongwireError, NotFound
from longwire.model import Actor, Origin
from longwire.spans import Tracer, current_span
from longwire.store.archive.archive_reads import convert_result, read_with_archive
from longwire.store.database import Database, Tx, may_lag
from longwire.web import errors, ignored
from longwire.web.asgi import Receive, Scope, Send
from longwire.web.authentication import Authenticator, get_token
from longwire.web.body_budget import BodyBudget
from longwire.web.body_reading import BodyReader, ClientDisconnected
from longwire.web.compression import BYTES_MIN, Compression
from longwire.web.cookies import require_own_site
from longwire.web.cors import Cors
from longwire.web.fields import InputLimits
from longwire.web.page_tokens import PageTokens
from longwire.web.request_cycle import SendResponse
from longwire.web.request_parsing import ProxyNetwork, RequestParser
from longwire.web.request_spans import attach_span, end_span, start_span
from longwire.web.response_cache import ResponseCache
from longwire.web.response_headers import LENGTH, ResponseHeaders
from longwire.web.responses import build_error_response, build_response, log_response
from longwire.web.routing import (
    NO_TOKEN,
    OWN,
    AsyncContext,
    Caller,
    Context,
    FastPath,
    Request,
    Response,
    Route,
    Stream,
    V,
    open_transaction,
    require_json,
    require_media_type,
    routes_by_path,
)
from longwire.web.streaming import OpenStreams, send_stream
from longwire.web.validation import check_size, decode_query
from longwire.work.rate_limits import OperationRateLimiter, get_site
from longwire.work.turns import CallerKey, current_caller

SLOW_S = 1.0
# For one owner and operation at once, and for one of its callers: what is prepared may be
# megabytes, and wait for its turn.
AT_ONCE_MAX = 4
AT_ONCE_FOR_CALLER_MAX = 3
# Fields of inputs that name a group.
_GROUP_FIELDS = ("group_id", "to_group_id", "parent_id")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RequestHandlerSettings:
    limits: InputLimits
    trusted_proxies: Sequence[ProxyNetwork] = ()
    has_tls: bool = False
    logs_requests: bool = False
    request_bytes_max: int = 128 * 1024 * 1024
    base_path: str = ""  # of the public URL
    cors_origins: frozenset[str] = frozenset()
    compresses: bool = True


class Invitations(Protocol):
    """Whoever changes something in a group accepts the invitation to it."""

    def is_invited(self, tx: Tx, actor: Actor, group_ids: Collection[str], /) -> bool:
        """Whether they are invited to one of the groups."""

    def accept_invitations(self, tx: Tx, actor: Actor, group_ids: Collection[str], /) -> None:
        """Accept the invitations to those of the groups that have one."""


class RequestHandler(Generic[V]):
    """The ASGI application for HTTP requests."""

    def __init__(
        self,
        database: Database,
        enqueue: Callable[[Any, Callable[[Any], None]], bool],
        routes: Sequence[Route],
        services: V,
        settings: RequestHandlerSettings,
        observe_response: Callable[[str, str, int, float], None],
        authenticator: Authenticator,
        invitations: Invitations,
        tracer: Tracer | None = None,
    ) -> None:
        self._tracer = tracer
        self._database = database
        self._authenticator = authenticator
        self._response_cache = ResponseCache(database.context.caches)
        self._enqueue = enqueue
        self._routes = routes_by_path(routes)
        self._cors = Cors(settings.cors_origins) if settings.cors_origins else None
        self._compression = Compression() if settings.compresses else None
        self._parser = RequestParser(self._routes, settings.base_path, settings.trusted_proxies)
        self._paths_with_more_below = [route.path for route in routes if route.takes_below]
        self._fast_path_routes = {
            (route.method, base_path + route.path): route
            for base_path in {"", settings.base_path}
            for route in routes
            if _may_be_fast(route)
        }
        self._retries: set[asyncio.Task[None]] = set()
        self._rate_limiters = {
            route.operation_id: OperationRateLimiter(database.context.clock, route.per_minute_max)
            for route in routes
            if route.per_minute_max
        }
        self._services = services
        self._settings = settings
        self._limits = settings.limits
        self._turns: WeakValueDictionary[tuple[str, str | CallerKey], asyncio.Semaphore] = (
            WeakValueDictionary()
        )
        self._bodies = BodyReader(settings.limits, BodyBudget(settings.request_bytes_max))
        self._observe_response = observe_response
        self._invitations = invitations
        self._open_streams = OpenStreams()
        self._stopping = asyncio.Event()
        self._headers = ResponseHeaders(has_tls=settings.has_tls)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        request = self._parser.parse(scope)
        current_caller.set(CallerKey.alone(get_site(request.address)))
        methods = self._routes.get(request.path) or self._find_methods_above(request.path)
        route = methods.get(request.method) if methods is not None else None
        if self._tracer is not None:
            current_span.set(start_span(self._tracer, request, route))
        try:
            if route is not None and route.stream is not None:
                await self._serve_stream(request, route, route.stream, receive, send)
                return
            response = await self._dispatch(request, methods, route, receive)
        except ClientDisconnected:
            return
        except Exception as error:
            response = build_error_response(error, request, route)
        finally:
            self._bodies.release(request)
        response = ignored.with_header(request, response)
        self._observe(request, route, response, started)
        if self._cors is not None:
            response = self._cors.with_headers(request, route, response)
        if self._compression is not None and len(response.body) >= BYTES_MIN:
            response = await self._compression.apply(request, route, response)
        await self._send(send, request, response)

    def close(self) -> None:
        if self._compression is not None:
            self._compression.close()

    def stop_streams(self) -> None:
        """Have the streams end, so that a stop need not wait for their clients."""
        self._stopping.set()

    def reload(self, services: V, *, logs_requests: bool) -> None:
        """Change what can change while requests are handled."""
        self._services = services
        self._settings = replace(self._settings, logs_requests=logs_requests)

    # --- the fast path (see web/http_protocol.py) ---

    def fast_path(self, scope: Scope, body: bytes | bytearray, send: SendResponse) -> bool:
        """Take what needs no waiting: valid records of a sender that is cached, cached pages.

        Declines everything else, so that errors are handled in one place, `__call__`.
        """
        started = time.perf_counter()
        route = self._fast_path_routes.get((scope["method"], scope["path"]))
        if route is None:
            return False

        try:
            request = self._parser.parse(scope)
            if self._cors is not None and b"origin" in request.headers:
                return False
            respond = partial(self._respond, request, route, started, send)
            if route.is_cached:
                return self._send_cached(request, route, respond)
            path = route.fast_path
            assert path is not None
            if path.body_bytes_max is not None and len(body) > path.body_bytes_max:
                return False
            check_size(len(body), self._bodies.size_max(route))
            if route.takes_request:
                return self._enqueue_message(request, route, path, bytes(body), respond)
            return self._enqueue_record(request, route, path, bytes(body), respond)
        except LongwireError:
            return False

    def _respond(
        self,
        request: Request,
        route: Route,
        started: float,
        send: SendResponse,
        result: Any,
    ) -> None:
        """Send a response, or the one for the result of what was queued."""
        if isinstance(result, Response):
            response = result
        elif isinstance(result, Exception):
            response = build_error_response(result, request, route)
        else:
            assert route.fast_path is not None
            response = Response(200, route.fast_path.respond(result))
        response = ignored.with_header(request, response)
        self._observe(request, route, response, started)
        send(response.status, self._headers.encode(request, response), response.body)

    def _send_cached(
        self, request: Request, route: Route, respond: Callable[[Response], None]
    ) -> bool:
        actor = self._authenticator.get_unlimited_actor(get_token(request))
        if actor is None or self._tracer is not None:
            return False
        response = self._get_cached(actor, route, request)
        if response is None:
            return False
        if self._compression is not None and len(response.body) >= BYTES_MIN:
            response = self._compression.apply_at_once(request, route, response)
            if response is None:
                return False
        respond(response)
        return True

    def _get_cached(self, actor: Actor, route: Route, request: Request) -> Response | None:
        key = (actor, route.path, request.query_string)
        cached = self._response_cache.get(key, self._database.context.clock.now())
        return None if cached is None else Response(200, cached.body, cached=cached)

    def _enqueue_record(
        self,
        request: Request,
        route: Route,
        path: FastPath,
        body: bytes,
        on_result: Callable[[Any], None],
    ) -> bool:
        require_json(request)
        actor = self._authenticator.get_unlimited_actor(get_token(request))
        if actor is None:
            return False
        if request.query_string:
            request.ignored = ignored.find_ignored_parameters(request.query_string, route.query)
        decoded = ignored.decode_body(request, route, body, self._limits)
        if actor.has_invitations and _list_named_groups([decoded]):
            return False  # it may accept one
        queued = path.build(actor, decoded)
        if queued is None:
            return False
        if self._tracer is not None:
            queued = attach_span(self._tracer, request, route, queued)
        return self._enqueue(queued, on_result)

    def _enqueue_message(
        self,
        request: Request,
        route: Route,
        path: FastPath,
        body: bytes,
        respond: Callable[[Any], None],
    ) -> bool:
        queued = path.build(request, body)
        if queued is None:
            return False
        if self._tracer is not None:
            queued = attach_span(self._tracer, request, route, queued)

        def on_result(result: Any) -> None:
            if isinstance(result, path.retried):  # what was cached was out of date
                retry = asyncio.create_task(self._handle_message(request, route, body, respond))
                self._retries.add(retry)
                retry.add_done_callback(self._retries.discard)
            else:
                respond(result)

        return self._enqueue(queued, on_result)

    async def _handle_message(
        self, request: Request, route: Route, body: bytes, respond: Callable[[Response], None]
    ) -> None:
        current_span.set(request.span)
        try:
            response = await route.handler(request, body)
        except Exception as error:
            response = build_error_response(error, request, route)
        respond(response)

    def _observe(
        self, request: Request, route: Route | None, response: Response, started: float
    ) -> None:
        seconds = time.perf_counter() - started
        self._observe_response(
            route.path if route else "-", request.method if route else "-", response.status, seconds
        )
        if response.status >= 500 or seconds > SLOW_S or self._settings.logs_requests:
            log_response(request, response, seconds, is_slow=seconds > SLOW_S)
        if request.span is not None:
            end_span(request.span, response)

    # --- the ordinary way ---

    async def _dispatch(
        self,
        request: Request,
        methods: Mapping[str, Route] | None,
        route: Route | None,
        receive: Receive,
    ) -> Response:
        if methods is None:
            raise NotFound(f"There is no path {request.path}; see /docs.")
        if route is None and self._cors is not None:
            preflight = self._cors.build_preflight(request, methods)
            if preflight is not None:
                return preflight
        if route is None:
            raise errors.WrongMethod(
                f"{request.path} takes {', '.join(sorted(methods))}, not {request.method}.",
                allowed=methods,
            )
        if route.takes_request:
            body = (
                b"" if route.method == "GET" else await self._bodies.read(request, route, receive)
            )
            plain: Response = await route.handler(request, body)
            return plain
        return await self._run_operation(request, route, receive)

    def _find_methods_above(self, path: str) -> Mapping[str, Route] | None:
        for above in self._paths_with_more_below:
            if path.startswith(above):
                return self._routes[above]
        return None

    async def _run_operation(self, request: Request, route: Route, receive: Receive) -> Response:
        if route.permission == NO_TOKEN:
            return await self._run_without_token(request, route, receive)
        # Records are sent by devices and programs: no cookie is looked at.
        caller = await self._authenticator.authenticate(
            request, takes_cookie=route.fast_path is None
        )
        actor = caller.actor
        if route.permission == OWN and route.writes and not route.takes_handed_over:
            caller.require_oneself()
        cached = self._get_cached(actor, route, request) if route.is_cached else None
        if cached is not None:
            return cached
        inputs = await self._read_inputs(request, route, receive)
        if route.per_minute_max:
            self._rate_limiters[route.operation_id].acquire(actor.caller)
        with _Lagging(route.may_lag):
            response = await self._respond_to(request, route, caller, inputs)
        # A GET proves no consent: a link that somebody else wrote may have led there.
        if actor.has_invitations and route.writes and caller.handed_over_by is None:
            await self._accept_invitations(request, actor, inputs)
        return response

    async def _run_without_token(
        self, request: Request, route: Route, receive: Receive
    ) -> Response:
        if route.own_site is True:
            require_own_site(request, self._authenticator.public_origin)
        inputs = await self._read_inputs(request, route, receive)
        if callable(route.own_site) and route.own_site(*inputs):
            require_own_site(request, self._authenticator.public_origin)
        return await self._respond_to(request, route, None, inputs)

    async def _respond_to(
        self, request: Request, route: Route, caller: Caller | None, inputs: Sequence[Any]
    ) -> Response:
        if route.in_transaction and caller is not None:
            return await self._run_in_transaction(request, route, caller, inputs)
        context = self._build_context(request, route, caller)
        in_turns = route.in_turns(*inputs) if callable(route.in_turns) else route.in_turns
        if not in_turns or caller is None:
            return build_response(request, await route.handler(context, *inputs))
        async with self._turn(caller.actor.caller, route):
            return build_response(request, await route.handler(context, *inputs))

    def _build_context(
        self, request: Request, route: Route, caller: Caller | None
    ) -> AsyncContext[V]:
        return AsyncContext(
            self._database,
            request,
            caller,
            self._services,
            route.operation_id,
            self._limits,
            partial(self._authenticator.authenticate, request),
            partial(self._reauthenticate, request),
            self._stopping,
        )

    async def _serve_stream(
        self, request: Request, route: Route, stream: Stream, receive: Receive, send: Send
    ) -> None:
        started = time.perf_counter()
        caller: Caller | None = None
        whose = CallerKey.alone(get_site(request.address))
        if route.permission != NO_TOKEN:
            caller = await self._authenticator.authenticate(request)
            whose = caller.actor.caller
        inputs = await self._read_inputs(request, route, receive)
        slot = self._open_streams.slot(route.path, stream, whose)
        with slot, _Lagging(route.may_lag):
            opened = await route.handler(self._build_context(request, route, caller), *inputs)
            response = Response(200, b"", opened.media_type, opened.headers)
            if self._cors is not None:
                response = self._cors.with_headers(request, route, response)
            self._observe(request, route, response, started)
            headers = [each for each in self._headers.build(request, response) if each[0] != LENGTH]
            await send_stream(
                opened, headers, receive, send, self._stopping, has_body=request.method == "GET"
            )

    async def _reauthenticate(self, request: Request) -> Actor:
        with _Lagging(False):
            return await self._authenticator.reauthenticate(request)

    @contextlib.asynccontextmanager
    async def _turn(self, caller: CallerKey, route: Route) -> AsyncIterator[None]:
        """Whoever waits for the turn of the owner is one of few of its caller."""
        mine = self._limit_turns(route.path, caller, AT_ONCE_FOR_CALLER_MAX)
        of_owner = self._limit_turns(route.path, caller.owner, AT_ONCE_MAX)
        async with mine, of_owner:
            yield

    def _limit_turns(self, path: str, whose: str | CallerKey, most: int) -> asyncio.Semaphore:
        turn = self._turns.get((path, whose))
        if turn is None:
            turn = self._turns[path, whose] = asyncio.Semaphore(most)
        return turn

    async def _accept_invitations(
        self, request: Request, actor: Actor, inputs: Sequence[Any]
    ) -> None:
        """Whoever changes something in a group accepts the invitation to it."""
        named = _list_named_groups(inputs)

        def accept(tx: Tx) -> None:
            tx.origin = Origin(request.address, request.request_id)
            self._invitations.accept_invitations(tx, actor, named)

        def is_invited(tx: Tx) -> bool:
            return self._invitations.is_invited(tx, actor, named)

        if not named:
            return
        # The request itself is done; the next one can accept as well.
        with contextlib.suppress(LongwireError):
            if await self._database.read(is_invited):
                await self._database.write(accept)

    async def _read_inputs(self, request: Request, route: Route, receive: Receive) -> list[Any]:
        inputs: list[Any] = []
        if not route.is_cached:  # as the response does not depend on who asks first
            request.ignored = ignored.find_ignored_parameters(request.query_string, route.query)
        if route.query is not None:
            inputs.append(decode_query(request.query_string, route.query, self._limits))
        if route.body is not None:
            require_json(request)
            raw = await self._bodies.read(request, route, receive)
            inputs.append(ignored.decode_body(request, route, raw, self._limits))
        elif route.raw_body is not None:
            require_media_type(request, route.raw_body.media_types)
            inputs.append(await self._bodies.read(request, route, receive))
        return inputs

    async def _run_in_transaction(
        self,
        request: Request,
        route: Route,
        caller: Caller,
        inputs: Sequence[Any],
    ) -> Response:
        actor, services = caller.actor, self._services
        keyring, items_default = self._database.context.keyring, self._limits.page_items_default
        page_tokens = PageTokens(keyring, actor, route.operation_id, items_default)

        def work(tx: Tx) -> Any:
            open_transaction(tx, caller.build_origin(request), request.span)
            context = Context(
                tx,
                actor,
                services,
                page_tokens,
                self._limits,
                (actor, route.path, request.query_string),
                self._response_cache,
                session=caller.session,
            )
            respond = partial(build_response, request)
            return convert_result(route.handler(context, *inputs), respond)

        run = self._database.write if route.writes else self._read
        response: Response = await run(work)
        return response

    async def _read(self, work: Callable[[Tx], Any]) -> Any:
        return await read_with_archive(self._database, work)

    async def _send(self, send: Send, request: Request, response: Response) -> None:
        headers = self._headers.build(request, response)
        if response.status == 304:
            headers = [each for each in headers if each[0] != LENGTH]  # that of the body it saves
        start = {"type": "http.response.start", "status": response.status, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": response.body})


class _Lagging:
    """What is read in this block may be served by a standby, or not.

    A class, because every request has one, and a generator takes more than twice as long.
    """

    __slots__ = ("_is_allowed", "_token")

    def __init__(self, is_allowed: bool) -> None:
        self._is_allowed = is_allowed

    def __enter__(self) -> None:
        self._token = may_lag.set(self._is_allowed)

    def __exit__(self, *error: object) -> None:
        may_lag.reset(self._token)


def _may_be_fast(route: Route) -> bool:
    return route.is_cached or (route.method == "POST" and route.fast_path is not None)


def _list_named_groups(inputs: Sequence[Any]) -> set[str]:
    """The ids in the fields of a request that name a group."""
    return {
        group_id
        for given in inputs
        for struct in (given, getattr(given, "input", None))
        for name in _GROUP_FIELDS
        if (group_id := getattr(struct, name, None))
    }
