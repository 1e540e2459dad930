"""What connectors of the company deliver to: systems that work, are slow, or fail at times."""

import asyncio
import random
from collections import Counter

from aiohttp import web

from longwire_cli.demo.clock import MINUTE, SECOND, Clock, now

HOST = "127.0.0.1"
# The port authority fails in the first minutes of every quarter of an hour, counted from the start
# of the demo, also in the hours before it.
FAILING_PERIOD = 15 * MINUTE
FAILING_FOR = 4 * MINUTE
SLOW_S = (0.6, 2.2)

WORKING, FAILING, SLOW, LAKE, ALARMS, REPORTS = (
    "terminal-os",
    "port-authority",
    "energy-billing",
    "data-lake",
    "alarms",
    "reports",
)
_DOWNLINKS = "downlinks"


class Receiver:
    """An HTTP server on this machine that confirms what it receives, mostly."""

    def __init__(self, port: int, clock: Clock) -> None:
        self._port = port
        self._clock = clock  # of the service, which is behind while its past is stored
        self._runner: web.AppRunner | None = None
        self._started_at = now()
        self.received: Counter[tuple[str, int]] = Counter()

    async def __aenter__(self) -> "Receiver":
        application = web.Application()
        application.router.add_post("/{system:.+}", self._receive)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self._port).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port}"

    @property
    def downlink_url(self) -> str:
        """Where a network would accept downlinks."""
        return f"{self.url}/{_DOWNLINKS}"

    async def _receive(self, request: web.Request) -> web.Response:
        await request.read()
        system = request.match_info["system"]
        if system == SLOW and not self._is_past():
            await asyncio.sleep(random.uniform(*SLOW_S))
        status = 503 if system == FAILING and self._is_failing() else 200
        self.received[system, status] += 1
        return web.json_response({}, status=status)

    def _is_past(self) -> bool:
        return now() - self._clock.now() > SECOND

    def _is_failing(self) -> bool:
        return (self._clock.now() - self._started_at) % FAILING_PERIOD < FAILING_FOR
