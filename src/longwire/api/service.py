"""Endpoints about the service itself: the root, health, metrics, the OpenAPI document, the docs."""

import asyncio
import hmac
import shutil
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import msgspec
import structlog
from msgspec import Meta

from longwire import __version__
from longwire.clock import SECOND, Clock
from longwire.delivery.connectors.backlogs import list_worst_connectors
from longwire.delivery.engine.engine import Engine
from longwire.errors import LongwireError, NotAuthenticated
from longwire.identity.sign_in_links import PAGE_PATH
from longwire.ingest.service import Ingest
from longwire.prometheus import (
    MEDIA_TYPE,
    CollectedMetrics,
    DatabaseStats,
    PrometheusMetrics,
)
from longwire.store import instance
from longwire.store.cache import cache_epochs
from longwire.store.database import Database, Tx
from longwire.store.delivery import backlogs as store_backlogs
from longwire.store.engines.shared_read import SharedRead
from longwire.store.fleet import unknown_devices
from longwire.store.notifications import alarms
from longwire.web import docs_page
from longwire.web.console_page import ConsolePage
from longwire.web.docs_page import CONTENT_SECURITY_POLICY, Asset, build_page_headers
from longwire.web.fields import Reply, words
from longwire.web.guide_page import GuidePage
from longwire.web.openapi_30 import to_openapi_30
from longwire.web.routing import (
    NO_TOKEN,
    DeclaredResponse,
    Request,
    Response,
    Route,
    bearer_token,
)

READY_TIMEOUT_S = 2.0
# Rendering the metrics takes some milliseconds, and anybody may ask for them: those who ask more
# often than this get the last ones.
RENDERINGS_PER_S_MAX = 10
# Counting a million deliveries takes a while: a scrape does not wait for it, but gets the last one.
STATS_MAX_AGE_S = 10
SLOT_LAG_S = 60
STATS_TIMEOUT_S = 0.01
UNKNOWN_DEVICES_COUNTED_MAX = 100_000
STATUS_PATHS = ("/health/live", "/health/ready", "/metrics")

_ROOT = {
    "service": "longwire",
    "version": __version__,
}
_PATHS = {
    "documentation": "/docs",
    "openapi": "/openapi.json",
    "health": "/health/ready",
    "metrics": "/metrics",
}

_ASSET_HEADERS = build_page_headers(CONTENT_SECURITY_POLICY)

Handler = Callable[[Request, bytes], Awaitable[Response]]

log = structlog.get_logger()


class Health(Reply):
    """Whether the service works."""

    status: Annotated[
        str,
        words("HealthStatus", ("ok", "unavailable")),
        Meta(description="`unavailable` with the status 503.", examples=["ok"]),
    ]
    reason: (
        Annotated[
            str,
            Meta(
                description="Why the service is not ready.",
                examples=["the database does not respond"],
            ),
        ]
        | None
    ) = None
    mqtt: (
        Annotated[
            str,
            Meta(
                description="Whether the MQTT listener receives messages, if one is configured.",
                examples=["listening"],
            ),
        ]
        | None
    ) = None
    standby: (
        Annotated[
            str,
            Meta(
                description="`stalled` while a commit waits for a PostgreSQL standby for long.",
                examples=["stalled"],
            ),
        ]
        | None
    ) = None
    read_standby: (
        Annotated[
            str,
            Meta(
                description="Whether a standby serves reads that may lag, if one is configured.",
                examples=["ok"],
            ),
        ]
        | None
    ) = None
    slots: (
        Annotated[
            str,
            Meta(
                description="Which slots of the database have messages that are late.",
                examples=["lagging: 2, 3"],
            ),
        ]
        | None
    ) = None


class ServiceEndpoints:
    def __init__(
        self,
        database: Database,
        ingest: Ingest | None,
        engine: Engine | None,
        metrics: PrometheusMetrics,
        mqtt_status: Callable[[], str] | None = None,
        failing_tasks: Callable[[], list[str]] = list,
        data_folder: Path | None = None,
        metrics_token: str = "",
        metrics_connectors_max: int = 100,
        standbys_min: int = 0,
        console: ConsolePage | None = None,
        is_leaving: Callable[[], bool] = lambda: False,
        guide: GuidePage | None = None,
        base_path: str = "",
    ) -> None:
        """`data_folder` is that of an embedded database, whose disk is measured.

        `is_leaving` says whether a stop has begun, so that no more requests should come.

        Without `metrics_token` anybody may read the metrics, so they do not name connectors.
        """
        self._metrics_token = metrics_token.encode()
        self._console = console
        self._guide = guide
        connectors_max = metrics_connectors_max if metrics_token else 0
        self._standbys_min = standbys_min
        self._failing_tasks = failing_tasks
        self._is_leaving = is_leaving
        self._base_path = base_path
        self._mqtt_status = mqtt_status
        self._database = database
        self._ingest = ingest
        self._engine = engine
        self._metrics = metrics
        self._epochs = SharedRead(database, cache_epochs.read_epochs)
        self._stats = SharedRead(
            database,
            partial(_read_stats, data_folder, connectors_max),
            max_age=STATS_MAX_AGE_S * SECOND,
        )
        self._openapi: bytes | None = None
        self._openapi_30: bytes | None = None
        self._rendered = b""
        self._renderings: deque[float] = deque(maxlen=RENDERINGS_PER_S_MAX)
        self._build_openapi: Callable[[], dict[str, object]] = dict

    def set_openapi_builder(self, build: Callable[[], dict[str, object]]) -> None:
        """Set how the OpenAPI document is built: once, when it is first requested.

        It lists these endpoints too, and takes a tenth of a second.
        """
        self._build_openapi = build

    async def get_root(self, request: Request, body: bytes) -> Response:
        """Lead people to the console, and programs to what else there is."""
        has_console = self._console is not None and self._console.is_built
        if b"text/html" in request.headers.get(b"accept", b"").lower():
            # Without a public URL relative, in case that a proxy serves this below a path.
            folder = f"{self._base_path}/" if self._base_path else ""
            page = f"{folder}console/" if has_console else f"{folder}docs"
            headers = ((b"location", page.encode()), (b"vary", b"accept"))
            return Response(302, b"", "text/html", headers)
        pages = {"console": "/console/", "signIn": PAGE_PATH} if has_console else {}
        if self._guide is not None and self._guide.is_built:
            pages["guide"] = "/guide/"
        paths = {name: self._base_path + path for name, path in (_PATHS | pages).items()}
        return Response(200, msgspec.json.encode(_ROOT | paths))

    async def get_sign_in(self, request: Request, body: bytes) -> Response:
        """Lead to the console, where links and bookmarks of before did not; the fragment stays."""
        query = b"?" + request.query_string if request.query_string else b""
        headers = ((b"location", b"console/sign-in" + query), (b"referrer-policy", b"no-referrer"))
        return Response(302, b"", "text/plain", headers)

    async def get_live(self, request: Request, body: bytes) -> Response:
        """Liveness: is the process running?"""
        return Response(200, b'{"status":"ok"}')

    async def get_ready(self, request: Request, body: bytes) -> Response:
        """Readiness: can the service handle requests?"""
        reason = await self._unready_reason()
        # A lost broker connection does not make the service unready: everything else works.
        parts = {"mqtt": self._mqtt_status()} if self._mqtt_status is not None else {}
        if self._database.cluster.is_standby_stalled:
            # Nor does a stalled standby, as long as no commit has failed: reads go on.
            parts["standby"] = "stalled"
        status = self._database.standby_status
        if status is not None:
            # While it is unreachable, the primary serves its reads.
            parts["readStandby"] = status.state
        if reason is None and self._database.slots > 1:
            lagging = list_lagging_slots(await self._get_stats(), self._database.context.clock)
            if lagging:
                parts["slots"] = f"lagging: {', '.join(map(str, lagging))}"
        if reason is None:
            return Response(200, msgspec.json.encode({"status": "ok", **parts}))
        unavailable = {"status": "unavailable", "reason": reason, **parts}
        return Response(503, msgspec.json.encode(unavailable))

    async def get_metrics(self, request: Request, body: bytes) -> Response:
        """Metrics for Prometheus."""
        token = self._metrics_token
        if token and not hmac.compare_digest(bearer_token(request), token):
            raise NotAuthenticated("Send the metrics_token of the service as a bearer token.")
        renderings = self._renderings
        is_often = len(renderings) == RENDERINGS_PER_S_MAX and monotonic() - renderings[0] < 1
        if is_often and self._rendered:
            return Response(200, self._rendered, MEDIA_TYPE)
        renderings.append(monotonic())
        await self._update_metrics()
        self._rendered = self._metrics.render()
        return Response(200, self._rendered, MEDIA_TYPE)

    async def collect_metrics(self) -> CollectedMetrics:
        """The same for a collector, which gets them from us."""
        await self._update_metrics()
        return self._metrics.collect()

    async def _update_metrics(self) -> None:
        is_ready = await self._unready_reason() is None
        self._metrics.update(
            self._database,
            queued_records=self._ingest.waiting if self._ingest is not None else 0,
            is_ready=is_ready,
            stats=await self._get_stats() if is_ready else None,
        )

    async def get_openapi(self, request: Request, body: bytes) -> Response:
        if self._openapi is None:
            self._openapi = msgspec.json.encode(await asyncio.to_thread(self._build_openapi))
        return Response(200, self._openapi)

    async def get_openapi_30(self, request: Request, body: bytes) -> Response:
        if self._openapi_30 is None:
            self._openapi_30 = await asyncio.to_thread(
                lambda: msgspec.json.encode(to_openapi_30(self._build_openapi()))
            )
        return Response(200, self._openapi_30)

    async def _unready_reason(self) -> str | None:
        if self._is_leaving():
            return "the service is stopping"
        if self._database.broken:
            return "the database failed; the service is stopping"
        try:
            await self._epochs.get(READY_TIMEOUT_S)
        except Exception as error:
            if not isinstance(error, TimeoutError | LongwireError):
                log.exception("the database cannot be read")
            return "the database does not respond"
        if self._database.held_since is None:
            return "the node lease is lost"
        standbys = self._database.cluster.standbys
        if self._standbys_min and standbys is None:
            return "synchronous standbys cannot be seen: grant pg_monitor to the user"
        if standbys is not None and standbys < self._standbys_min:
            return f"synchronous standbys: {standbys} of {self._standbys_min}"
        if self._database.write_failure is not None:
            return f"writes fail: {self._database.write_failure}"
        if self._engine is not None and not self._engine.is_progressing:
            return "the delivery engine makes no progress"
        failing = self._failing_tasks()
        return f"background task failed: {', '.join(failing)}" if failing else None

    async def _get_stats(self) -> DatabaseStats | None:
        """The statistics; None if they cannot be read in time, and the last ones remain."""
        timeout_s = STATS_TIMEOUT_S if self._stats.was_read else READY_TIMEOUT_S
        try:
            return await self._stats.get(timeout_s)
        except (TimeoutError, LongwireError):
            return None

    def status_routes(self) -> list[Route]:
        """Health and metrics only, for a process without the API."""
        return [route for route in self.routes() if route.path in STATUS_PATHS]

    def routes(self) -> list[Route]:
        return [
            _page("/", self.get_root),
            _route("/health/live", self.get_live, {200: DeclaredResponse("It is.", Health)}),
            _route("/health/ready", self.get_ready, _READINESS),
            _route("/metrics", self.get_metrics, _METRICS),
            _page("/openapi.json", self.get_openapi, takes_cors=True),
            _page("/openapi-3.0.json", self.get_openapi_30, takes_cors=True),
            _page("/sign-in", self.get_sign_in),
            *(_page(path, _serve_asset(asset)) for path, asset in docs_page.ASSETS.items()),
            *(self._console.routes() if self._console is not None else ()),
            *(self._guide.routes() if self._guide is not None else ()),
        ]


def _read_stats(data_folder: Path | None, connectors_max: int, tx: Tx) -> DatabaseStats:
    counts = store_backlogs.count_by_channel(tx)
    return DatabaseStats(
        store_backlogs.get_total_backlog(tx, counts),
        list_worst_connectors(tx, counts, connectors_max),
        store_backlogs.list_slot_backlogs(tx),
        instance.get_database_bytes(tx),
        shutil.disk_usage(data_folder).free if data_folder is not None else None,
        unknown_devices.count_by_reason(tx, UNKNOWN_DEVICES_COUNTED_MAX),
        alarms.count_all_open(tx),
    )


def list_lagging_slots(stats: DatabaseStats | None, clock: Clock) -> list[int]:
    """The slots in which messages are due for long, so that nobody seems to send them."""
    before = clock.now() - SLOT_LAG_S * SECOND
    return [
        each.slot
        for each in (stats.slots if stats is not None else ())
        if each.due_at is not None and each.due_at < before
    ]


_READINESS = {
    200: DeclaredResponse("It can.", Health),
    503: DeclaredResponse("It cannot; `reason` says why.", Health),
}
_METRICS = {
    200: DeclaredResponse("The metrics.", str, "text/plain"),
    401: DeclaredResponse(
        "The operator has set a token for them, which is missing.", str, "text/plain"
    ),
}


def _route(
    path: str, handler: Handler, responses: Mapping[int, DeclaredResponse], **declared: Any
) -> Route:
    return Route(
        "GET",
        path,
        handler,
        NO_TOKEN,
        object_rule="reveals nothing about any group",
        tag="Service",
        responses=responses,
        statuses=(408, 431),
        **{"takes_cors": False, **declared},
    )


def _page(path: str, handler: Handler, **declared: Any) -> Route:
    return _route(path, handler, {}, is_documented=False, **declared)


def _serve_asset(asset: Asset) -> Handler:
    response = Response(200, asset.content, asset.media_type, _ASSET_HEADERS)

    async def get_asset(request: Request, body: bytes) -> Response:
        return response

    return get_asset
