"""What is served about the service itself: health, metrics, the OpenAPI document, its page."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import structlog

from longwire.delivery.engine import Engine
from longwire.errors import LongwireError
from longwire.ingest import Ingest
from longwire.store import auth_epoch, deliveries
from longwire.store.database import Database
from longwire.web.docs_page import ASSETS, CONTENT_SECURITY_POLICY, Asset
from longwire.web.openapi import plain_document
from longwire.web.prometheus import MEDIA_TYPE, Instruments
from longwire.web.routing import NO_TOKEN, PlainRoute, Request, Response

READY_TIMEOUT_S = 2.0
WATCHED = ("/health/live", "/health/ready", "/metrics")

_ANYONE = "nothing about any group is told"

log = structlog.get_logger()


class ServicePages:
    def __init__(
        self,
        database: Database,
        ingest: Ingest | None,
        engine: Engine | None,
        instruments: Instruments,
        listening: Callable[[], str] | None = None,
    ) -> None:
        """`listening` tells how the listener at the broker is, where there is one."""
        self._listening = listening
        self._database = database
        self._ingest = ingest
        self._engine = engine
        self._instruments = instruments
        self._openapi: bytes | None = None
        self._describe: Callable[[], dict[str, object]] = dict

    def describe(self, describe: Callable[[], dict[str, object]]) -> None:
        """How to make the document. It lists these pages too, so it comes last; and it takes a
        tenth of a second, so nobody waits for it who does not want it."""
        self._describe = describe

    async def live(self, request: Request, body: bytes) -> Response:
        return Response(200, b'{"status":"ok"}')

    async def ready(self, request: Request, body: bytes) -> Response:
        reason = await self._why_not_ready()
        # A broker that is away is no reason to send callers elsewhere: everything else works.
        beside = {"mqtt": self._listening()} if self._listening is not None else {}
        if reason is None:
            return Response(200, msgspec.json.encode({"status": "ok", **beside}))
        refused = {"status": "unavailable", "reason": reason, **beside}
        return Response(503, msgspec.json.encode(refused))

    async def metrics(self, request: Request, body: bytes) -> Response:
        is_ready = await self._why_not_ready() is None
        text = self._instruments.text(
            self._database,
            records_waiting=self._ingest.waiting if self._ingest is not None else 0,
            is_ready=is_ready,
            backlog=await self._backlog() if is_ready else None,
        )
        return Response(200, text, MEDIA_TYPE)

    async def openapi(self, request: Request, body: bytes) -> Response:
        if self._openapi is None:
            self._openapi = msgspec.json.encode(await asyncio.to_thread(self._describe))
        return Response(200, self._openapi)

    async def _why_not_ready(self) -> str | None:
        if self._database.broken:
            return "the database failed; the service is about to stop"
        try:
            await asyncio.wait_for(self._database.read(auth_epoch.epoch_and_time), READY_TIMEOUT_S)
        except Exception as error:
            if not isinstance(error, TimeoutError | LongwireError):
                log.exception("the database cannot be read")
            return "the database does not answer"
        if self._engine is not None and not self._engine.is_moving:
            return "the delivery engine makes no progress"
        return None

    async def _backlog(self) -> deliveries.Backlog | None:
        try:
            return await asyncio.wait_for(self._database.read(deliveries.backlog), READY_TIMEOUT_S)
        except (TimeoutError, LongwireError):
            return None

    def watched(self) -> list[PlainRoute]:
        """Those that say how the process is, and nothing of what is served."""
        return [route for route in self.routes() if route.path in WATCHED]

    def routes(self) -> list[PlainRoute]:
        ok = {200: "It is."}
        pages = [
            PlainRoute(
                method="GET",
                path="/health/live",
                handler=self.live,
                needs=NO_TOKEN,
                rule=_ANYONE,
                document=plain_document("Is the process alive?", "application/json", statuses=ok),
            ),
            PlainRoute(
                method="GET",
                path="/health/ready",
                handler=self.ready,
                needs=NO_TOKEN,
                rule=_ANYONE,
                document=plain_document(
                    "Can it do its work?",
                    "application/json",
                    statuses={**ok, 503: "Not now; `reason` says why."},
                ),
            ),
            PlainRoute(
                method="GET",
                path="/metrics",
                handler=self.metrics,
                needs=NO_TOKEN,
                rule=_ANYONE,
                document=plain_document(
                    "Counters for Prometheus", "text/plain", statuses={200: "The counters."}
                ),
            ),
            PlainRoute(
                method="GET",
                path="/openapi.json",
                handler=self.openapi,
                needs=NO_TOKEN,
                rule=_ANYONE,
            ),
        ]
        return pages + [_page(path, asset) for path, asset in ASSETS.items()]


def _page(path: str, asset: Asset) -> PlainRoute:
    response = Response(
        200,
        asset.content,
        asset.media_type,
        ((b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),),
    )
    return PlainRoute(
        method="GET", path=path, handler=_always(response), needs=NO_TOKEN, rule=_ANYONE
    )


def _always(response: Response) -> Callable[[Request, bytes], Awaitable[Response]]:
    async def answer(request: Request, body: bytes) -> Response:
        return response

    return answer
