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
from longwire.api.description import api_info
from longwire.api.service import ServiceEndpoints
from longwire.api.tokens import TokenEndpoint
from longwire.delivery import email_addresses
from longwire.delivery.channels import DispatchContext
from longwire.delivery.destinations.mqtt_connection import SubscriberOptions
from longwire.delivery.egress import Egress
from longwire.delivery.engine import DEFAULT_HANDLERS, ChannelHandlers, Engine, OnAttempt
from longwire.delivery.invitations import MAIL_PURPOSE, MailHandler
from longwire.delivery.smtp import MailConfig
from longwire.fleet import network_channels
from longwire.fleet.network_channels import NetworkApi, NetworkApis
from longwire.fleet.records import KINDS
from longwire.identity.rate_limiter import RateLimiter
from longwire.inbound.callbacks import NetworkCallbacks
from longwire.inbound.downlinks import DownlinkService
from longwire.inbound.mqtt_listener import MqttListener, default_client_id, parse_broker_url
from longwire.inbound.mqtt_messages import MqttMessageHandler
from longwire.inbound.uplinks import UplinkStore
from longwire.ingest import Ingest, Sequencer, store_service_events
from longwire.notifications import monitoring
from longwire.notifications.sending import NotificationHandler
from longwire.notifications.types.base import SendingConfig
from longwire.settings import Settings
from longwire.store.database import Database, Tx
from longwire.store.instance import next_writer_number
from longwire.store.notifications import PURPOSE as NOTIFICATION_PURPOSE
from longwire.web.fields import InputLimits
from longwire.web.openapi import build_document
from longwire.web.prometheus import PrometheusMetrics
from longwire.web.request_handler import (
    Receive,
    RequestHandler,
    RequestHandlerSettings,
    Scope,
    Send,
)
from longwire.web.routing import PlainRoute, Route
from longwire.web.server import SendResponse, WireLimits
from longwire.web.status_server import StatusServer

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
    """The ASGI application: the request handler, and the background tasks of the process."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self.database = database
        self.stop: Callable[[], None] = lambda: None  # set by whoever runs the server
        self._keeps_days = _get_retention_days(settings)
        prometheus = PrometheusMetrics(shares_counters="PROMETHEUS_MULTIPROC_DIR" in os.environ)
        egress = _build_egress(settings)
        writer = next_writer_number(database)
        self._sequencer = Sequencer(writer)
        apis = _build_remotes(settings)
        self._dispatch = _build_dispatch(
            self._sequencer, apis, lambda numbers: self.engine.wake_soon(numbers)
        )
        self.engine = _build_engine(
            settings,
            database,
            writer,
            egress,
            network_channels.network_handlers(database, self._dispatch, apis),
            prometheus.observe_attempt,
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
        limits = _build_input_limits(settings)
        throttle = _build_request_rate_limiter(settings, database)
        downlink_service = DownlinkService(database, self._dispatch, egress)
        uplinks = self._uplinks = UplinkStore(database, ingest, prometheus)
        networks = NetworkCallbacks(database, uplinks, prometheus, downlink_service, throttle)
        mqtt_messages = MqttMessageHandler(uplinks, limits)
        self.listener = _build_listener(settings, database, mqtt_messages, prometheus)
        service_endpoints = ServiceEndpoints(
            database,
            ingest,
            self.engine if settings.delivery else None,
            prometheus,
            self.listener.describe_state if self.listener is not None else None,
        )
        self.routes: list[Route | PlainRoute] = [
            *_build_token_routes(settings, database),
            *OPERATIONS,
            *networks.routes(),
            *service_endpoints.routes(),
        ]
        service_endpoints.set_openapi_builder(
            lambda: build_document(self.routes, limits, api_info(__version__))
        )
        self._request_handler = RequestHandler(
            database,
            ingest,
            self.routes,
            RequestHandlerSettings(
                limits,
                settings.trusted_proxies,
                bool(settings.tls_cert),
                settings.log_level == "debug",
                throttle,
                self._keeps_days,
                egress,
                writer,
                dispatch=self._dispatch,
                sending_config=_build_sending_config(settings),
            ),
            prometheus,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._request_handler(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)

    def fast_path(self, scope: Scope, body: bytes | bytearray, send: SendResponse) -> bool:
        """See `web.server`."""
        return self._request_handler.fast_path(scope, body, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._running():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        tasks = [
            asyncio.create_task(maintenance.watch_auth_epoch(self.database, self._failed)),
            asyncio.create_task(
                maintenance.run_cleanup(self.database, self._keeps_days, self._delivery_keep_days)
            ),
            asyncio.create_task(
                maintenance.watch_silent_devices(self.database, self._sequencer, self.engine.wake)
            ),
        ]
        tasks.append(
            asyncio.create_task(
                monitoring.run_monitor(
                    self.database, self._dispatch.take_sequence_numbers, self.engine.wake
                )
            )
        )
        tasks.append(
            asyncio.create_task(maintenance.expire_downlinks(self.database, self._dispatch))
        )
        tasks.append(
            asyncio.create_task(
                maintenance.send_pending_registrations(self.database, self._dispatch)
            )
        )
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
            self._uplinks.close()

    def _failed(self) -> None:
        log.critical("stopping: the database cannot be trusted", reason=self.database.broken)
        self.stop()


class DeliveryProcess:
    """The delivery engine alone, without the interface."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._database = database
        writer = next_writer_number(database)
        apis = _build_remotes(settings)
        dispatch = _build_dispatch(
            Sequencer(writer), apis, lambda numbers: self._engine.wake_soon(numbers)
        )
        prometheus = PrometheusMetrics()
        self._engine = _build_engine(
            settings,
            database,
            writer,
            _build_egress(settings),
            network_channels.network_handlers(database, dispatch, apis),
            prometheus.observe_attempt,
        )
        service_endpoints = ServiceEndpoints(database, None, self._engine, prometheus)
        self._status_server = StatusServer(service_endpoints.status_routes())

    async def run(self, stopping: asyncio.Event, listener: socket.socket | None) -> None:
        """Deliver until told to stop, or until the database cannot be trusted.

        Whoever asks at `listener` is told how it goes.
        """
        tasks = [
            asyncio.create_task(self._engine.run()),
            asyncio.create_task(maintenance.watch_auth_epoch(self._database, stopping.set)),
        ]
        if listener is not None:
            tasks.append(asyncio.create_task(self._status_server.serve(listener)))
        await stopping.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _build_egress(settings: Settings) -> Egress:
    return Egress([str(network) for network in settings.egress_allow])


def _build_sending_config(settings: Settings) -> SendingConfig:
    account = settings.fcm_account and Path(settings.fcm_account).read_text()
    return SendingConfig(
        mail=MailConfig(
            smtp_host=settings.smtp_host,
            smtp_port=settings.smtp_port,
            smtp_user=settings.smtp_user,
            smtp_password=settings.smtp_password,
            smtp_from=settings.smtp_from,
            smtp_security=settings.smtp_security,
            mail_domains=email_addresses.parse_domains(settings.mail_domains),
        ),
        vapid_key=settings.vapid_key,
        vapid_contact=settings.vapid_contact,
        fcm_account=account,
        fcm_url=settings.fcm_url,
    )


def _build_remotes(settings: Settings) -> NetworkApis:
    return NetworkApis(
        vendor=NetworkApi(
            settings.vendor_api_url, settings.vendor_api_login, settings.vendor_api_password
        ),
        chirpstack=NetworkApi(settings.chirpstack_api_url, secret=settings.chirpstack_api_key),
    )


def _build_dispatch(
    sequencer: Sequencer, apis: NetworkApis, wake: Callable[[Collection[int]], None]
) -> DispatchContext:
    def wake_afterwards(tx: Tx, numbers: Collection[int]) -> None:
        if numbers:
            tx.on_commit(lambda: wake(numbers))

    return DispatchContext(
        sequencer.writer,
        sequencer.take,
        lambda tx, told: wake_afterwards(tx, store_service_events(tx, sequencer, told)),
        apis.named,
        wake_afterwards,
    )


def _build_engine(
    settings: Settings,
    database: Database,
    writer: int,
    egress: Egress,
    purposes: ChannelHandlers,
    observe: OnAttempt,
    is_busy: Callable[[], bool] = lambda: False,
) -> Engine:
    sending_config = _build_sending_config(settings)
    return Engine(
        database,
        writer,
        egress,
        purposes={
            **DEFAULT_HANDLERS,
            **purposes,
            NOTIFICATION_PURPOSE: NotificationHandler(database, sending_config),
            MAIL_PURPOSE: MailHandler(sending_config.mail),
        },
        in_flight_max=settings.delivery_in_flight_max,
        resend_per_s=settings.resend_per_s,
        observe=observe,
        is_busy=is_busy,
    )


def _build_listener(
    settings: Settings,
    database: Database,
    mqtt_messages: MqttMessageHandler,
    prometheus: PrometheusMetrics,
) -> MqttListener | None:
    if not settings.mqtt_url:
        return None
    broker = parse_broker_url(
        settings.mqtt_url,
        settings.mqtt_version,
        settings.mqtt_client_id or default_client_id(database),
        settings.mqtt_prefix,
        SubscriberOptions(
            settings.mqtt_in_flight_max, packet_bytes_max=2 * settings.body_bytes_max
        ),
    )
    return MqttListener(
        database,
        broker,
        mqtt_messages.handle,
        prometheus.count_mqtt_message,
        prometheus.set_mqtt_connected,
    )


def _build_token_routes(settings: Settings, database: Database) -> list[PlainRoute]:
    if settings.auth_url:
        return []
    clock = database.context.clock
    per_address, per_client = (
        RateLimiter(clock, burst=most, per_minute=most)
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
        )
    )


def _build_request_rate_limiter(settings: Settings, database: Database) -> RateLimiter | None:
    if not settings.requests_per_caller_per_s:
        return None
    return RateLimiter(
        database.context.clock,
        burst=settings.requests_per_caller_burst,
        per_minute=settings.requests_per_caller_per_s * 60,
    )


def _get_retention_days(settings: Settings) -> dict[str, int]:
    return {name: getattr(settings, f"retention_{name}_days") for name in (*KINDS, "metrics")}


def _build_input_limits(settings: Settings) -> InputLimits:
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


def build_wire_limits(settings: Settings) -> WireLimits:
    return WireLimits(
        head_bytes_max=settings.head_bytes_max,
        head_timeout_s=settings.head_timeout_s,
        request_timeout_s=settings.request_timeout_s,
        write_timeout_s=settings.write_timeout_s,
        keep_alive_s=settings.keep_alive_s,
        connections_max=settings.connections_max,
        connections_per_address_max=settings.connections_per_address_max,
    )
