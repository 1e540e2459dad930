"""Puts the building together: the lowest floor first, and takes it down in reverse.

The only file that knows everything. Settings stop here and at `opening`; what is below receives
plain values.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from longwire import __version__, maintenance
from longwire.api import (
    clients,
    connectors,
    devices,
    downlinks,
    groups,
    metrics,
    notifications,
    records,
    roles,
    tokens,
    users,
)
from longwire.api.downlinks import Desk
from longwire.api.service import ServicePages
from longwire.api.tokens import TokenEndpoint
from longwire.delivery.channels import Dispatch
from longwire.delivery.destinations.mqtt_connection import Standing
from longwire.delivery.egress import Egress
from longwire.delivery.engine import PURPOSES, Engine, Observe, Purposes
from longwire.fleet import network_channels
from longwire.fleet.network_channels import Remote, Remotes
from longwire.fleet.records import KINDS
from longwire.identity.throttle import Throttle
from longwire.inbound.callbacks import NetworkEndpoints
from longwire.inbound.mqtt_listener import Listener, broker_at, client_id_of
from longwire.inbound.mqtt_messages import Publications
from longwire.ingest import Ingest, Sequencer, tell
from longwire.notifications import addresses, monitoring
from longwire.notifications.mails import MAILING, Mailing
from longwire.notifications.sending import Notifying
from longwire.notifications.types.base import Office
from longwire.settings import Settings
from longwire.store.database import Database, Tx
from longwire.store.instance import writer_number
from longwire.store.notifications import PURPOSE as NOTIFYING
from longwire.web import openapi
from longwire.web.prometheus import Instruments
from longwire.web.request_handler import Door, DoorSettings, Receive, Scope, Send
from longwire.web.routing import PlainRoute, Route
from longwire.web.server import Reply, WireLimits
from longwire.web.status_server import WatchedPages
from longwire.web.validation import InputLimits

OPERATIONS: tuple[Route, ...] = (
    *groups.ROUTES,
    *roles.ROUTES,
    *users.ROUTES,
    *clients.ROUTES,
    *devices.ROUTES,
    *downlinks.ROUTES,
    *records.ROUTES,
    *connectors.ROUTES,
    *notifications.ROUTES,
    *metrics.ROUTES,
)

log = structlog.get_logger()


class App:
    """The ASGI application: the door, and what runs beside it while it is open."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self.database = database
        self.stop: Callable[[], None] = lambda: None  # set by whoever runs the server
        self._keeps_days = _keeps_days(settings)
        instruments = Instruments(shares_counters="PROMETHEUS_MULTIPROC_DIR" in os.environ)
        egress = _egress(settings)
        writer = writer_number(database)
        self._sequencer = Sequencer(writer)
        remotes = _remotes(settings)
        self._dispatch = _dispatch(
            self._sequencer, remotes, lambda numbers: self.engine.wake_soon(numbers)
        )
        self.engine = _engine(
            settings,
            database,
            writer,
            egress,
            network_channels.purposes(database, self._dispatch, remotes),
            instruments.tried,
            lambda: ingest.is_busy,
        )
        self._delivers = settings.delivery
        self._delivery_keep_days = settings.delivery_keep_days
        ingest = Ingest(
            database,
            self._sequencer,
            waiting_records_max=settings.ingest_waiting_records_max,
            records_per_commit_max=settings.ingest_commit_records_max,
            wake=self.engine.wake if settings.delivery else lambda connectors: None,
        )
        limits = _input_limits(settings)
        throttle = _caller_throttle(settings, database)
        desk = Desk(database, self._dispatch, egress)
        networks = self.networks = NetworkEndpoints(database, ingest, instruments, desk, throttle)
        publications = Publications(ingest, networks, limits)
        self.listener = _listener(settings, database, publications, instruments)
        pages = ServicePages(
            database,
            ingest,
            self.engine if settings.delivery else None,
            instruments,
            self.listener.told_state if self.listener is not None else None,
        )
        self.routes: list[Route | PlainRoute] = [
            *_token_routes(settings, database),
            *OPERATIONS,
            *networks.routes(),
            *pages.routes(),
        ]
        pages.describe(lambda: openapi.document(self.routes, limits, __version__))
        self._door = Door(
            database,
            ingest,
            self.routes,
            DoorSettings(
                limits,
                settings.trusted_proxies,
                bool(settings.tls_cert),
                settings.log_level == "debug",
                throttle,
                self._keeps_days,
                egress,
                writer,
                dispatch=self._dispatch,
                office=_office(settings),
            ),
            instruments,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._door(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)

    def lane(self, scope: Scope, body: bytes | bytearray, reply: Reply) -> bool:
        """The short way for records; see the door."""
        return self._door.lane(scope, body, reply)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._running():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        tasks = [
            asyncio.create_task(maintenance.watch_rights(self.database, self._failed)),
            asyncio.create_task(
                maintenance.tidy(self.database, self._keeps_days, self._delivery_keep_days)
            ),
            asyncio.create_task(
                maintenance.watch_devices(self.database, self._sequencer, self.engine.wake)
            ),
        ]
        tasks.append(
            asyncio.create_task(
                monitoring.watch(self.database, self._dispatch.number, self.engine.wake)
            )
        )
        tasks.append(
            asyncio.create_task(maintenance.watch_downlinks(self.database, self._dispatch))
        )
        tasks.append(asyncio.create_task(maintenance.register_idle(self.database, self._dispatch)))
        if self._delivers:
            tasks.append(asyncio.create_task(self.engine.run()))
        if self.listener is not None:
            tasks.append(asyncio.create_task(self.listener.run()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.networks.close()

    def _failed(self) -> None:
        log.critical("stopping: the database cannot be trusted", reason=self.database.broken)
        self.stop()


class Deliverer:
    """The delivery engine alone, without the interface."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._database = database
        writer = writer_number(database)
        remotes = _remotes(settings)
        dispatch = _dispatch(
            Sequencer(writer), remotes, lambda numbers: self._engine.wake_soon(numbers)
        )
        instruments = Instruments()
        self._engine = _engine(
            settings,
            database,
            writer,
            _egress(settings),
            network_channels.purposes(database, dispatch, remotes),
            instruments.tried,
        )
        pages = ServicePages(database, None, self._engine, instruments)
        self._watched = WatchedPages(pages.watched())

    async def run(self, stopping: asyncio.Event, listener: socket.socket | None) -> None:
        """Deliver until told to stop, or until the database cannot be trusted.

        Whoever asks at `listener` is told how it goes.
        """
        tasks = [
            asyncio.create_task(self._engine.run()),
            asyncio.create_task(maintenance.watch_rights(self._database, stopping.set)),
        ]
        if listener is not None:
            tasks.append(asyncio.create_task(self._watched.serve(listener)))
        await stopping.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _egress(settings: Settings) -> Egress:
    return Egress([str(network) for network in settings.egress_allow])


def _office(settings: Settings) -> Office:
    account = settings.fcm_account and Path(settings.fcm_account).read_text()
    return Office(
        smtp_host=settings.smtp_host,
        smtp_port=settings.smtp_port,
        smtp_user=settings.smtp_user,
        smtp_password=settings.smtp_password,
        smtp_from=settings.smtp_from,
        smtp_security=settings.smtp_security,
        mail_domains=addresses.domains_in(settings.mail_domains),
        vapid_key=settings.vapid_key,
        vapid_contact=settings.vapid_contact,
        fcm_account=account,
        fcm_url=settings.fcm_url,
    )


def _remotes(settings: Settings) -> Remotes:
    return Remotes(
        vendor=Remote(
            settings.vendor_api_url, settings.vendor_api_login, settings.vendor_api_password
        ),
        chirpstack=Remote(settings.chirpstack_api_url, secret=settings.chirpstack_api_key),
    )


def _dispatch(
    sequencer: Sequencer, remotes: Remotes, wake: Callable[[Collection[int]], None]
) -> Dispatch:
    def wake_afterwards(tx: Tx, numbers: Collection[int]) -> None:
        if numbers:
            tx.afterwards(lambda: wake(numbers))

    return Dispatch(
        sequencer.writer,
        sequencer.take,
        lambda tx, told: wake_afterwards(tx, tell(tx, sequencer, told)),
        remotes.named,
        wake_afterwards,
    )


def _engine(
    settings: Settings,
    database: Database,
    writer: int,
    egress: Egress,
    purposes: Purposes,
    observe: Observe,
    is_busy: Callable[[], bool] = lambda: False,
) -> Engine:
    office = _office(settings)
    return Engine(
        database,
        writer,
        egress,
        purposes={
            **PURPOSES,
            **purposes,
            NOTIFYING: Notifying(database, office),
            MAILING: Mailing(office),
        },
        in_flight_max=settings.delivery_in_flight_max,
        resend_per_s=settings.resend_per_s,
        observe=observe,
        is_busy=is_busy,
    )


def _listener(
    settings: Settings, database: Database, publications: Publications, instruments: Instruments
) -> Listener | None:
    if not settings.mqtt_url:
        return None
    broker = broker_at(
        settings.mqtt_url,
        settings.mqtt_version,
        settings.mqtt_client_id or client_id_of(database),
        settings.mqtt_prefix,
        Standing(settings.mqtt_in_flight_max, packet_bytes_max=2 * settings.body_bytes_max),
    )
    return Listener(
        database, broker, publications.take, instruments.published, instruments.listening
    )


def _token_routes(settings: Settings, database: Database) -> list[PlainRoute]:
    if settings.auth_url:
        return []
    clock = database.tools.clock
    per_address, per_client = (
        Throttle(clock, burst=most, per_minute=most)
        for most in (
            settings.token_failures_per_address_max,
            settings.token_failures_per_client_max,
        )
    )
    return tokens.routes(
        TokenEndpoint(
            database,
            lifetime_s=settings.token_lifetime_s,
            per_address=per_address,
            per_client=per_client,
        ),
        openapi.token_document(),
    )


def _caller_throttle(settings: Settings, database: Database) -> Throttle | None:
    if not settings.requests_per_caller_per_s:
        return None
    return Throttle(
        database.tools.clock,
        burst=settings.requests_per_caller_burst,
        per_minute=settings.requests_per_caller_per_s * 60,
    )


def _keeps_days(settings: Settings) -> dict[str, int]:
    return {name: getattr(settings, f"retention_{name}_days") for name in (*KINDS, "metrics")}


def _input_limits(settings: Settings) -> InputLimits:
    return InputLimits(
        body_bytes_max=settings.body_bytes_max,
        bulk_body_bytes_max=settings.bulk_body_bytes_max,
        json_depth_max=settings.json_depth_max,
        page_items_max=settings.page_items_max,
        page_items_default=settings.page_items_default,
        bulk_ids_max=settings.bulk_ids_max,
        batch_records_max=settings.batch_records_max,
        tags_max=settings.tags_max,
        tag_characters_max=settings.tag_characters_max,
        notifications_per_group_max=settings.notifications_per_group_max,
    )


def wire_limits(settings: Settings) -> WireLimits:
    return WireLimits(
        head_bytes_max=settings.head_bytes_max,
        head_timeout_s=settings.head_timeout_s,
        request_timeout_s=settings.request_timeout_s,
        write_timeout_s=settings.write_timeout_s,
        keep_alive_s=settings.keep_alive_s,
        connections_max=settings.connections_max,
        connections_per_address_max=settings.connections_per_address_max,
    )
