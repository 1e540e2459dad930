"""Assembles the process, lowest layer first, and shuts it down in reverse.

The only module that knows every layer. Settings end here and in `startup`; lower layers receive
plain values.
"""

import asyncio
import importlib
import math
import os
import signal
import socket
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import structlog

from longwire import __version__, extras, maintenance, startup, systemd
from longwire.api import (
    access,
    arrivals,
    audit,
    clients,
    configurations,
    connector_metrics,
    connectors,
    decoders,
    deliveries,
    device_import,
    devices,
    downlinks,
    exports,
    groups,
    invitations,
    jobs,
    metrics,
    notifications,
    overview,
    passkeys,
    positions,
    previews,
    records,
    replays,
    roles,
    series,
    sessions,
    tokens,
    traces,
    users,
)
from longwire.api.description import api_info
from longwire.api.live import LiveEndpoint
from longwire.api.oidc import OidcEndpoints
from longwire.api.passkeys import PasskeyEndpoints
from longwire.api.passwords import PasswordEndpoints
from longwire.api.service import ServiceEndpoints
from longwire.api.sessions import ConsoleSettings, SessionEndpoints, SignInGuards
from longwire.api.tokens import TokenEndpoint
from longwire.deferred_matching import DeferredMatching
from longwire.delivery import email_addresses
from longwire.delivery.budgets import ComputeBudgets
from longwire.delivery.channels import DispatchContext
from longwire.delivery.destinations import catalogue as destinations
from longwire.delivery.destinations.mqtt_connection import SubscriberOptions
from longwire.delivery.egress import Egress
from longwire.delivery.engine import Engine
from longwire.delivery.invitations import MailHandler
from longwire.delivery.settlement import DEFAULT_HANDLERS
from longwire.delivery.sign_in_mail import SignInMailer
from longwire.delivery.smtp import MailConfig
from longwire.fleet import network_channels
from longwire.fleet.codec_guard import CODEC_GUARD
from longwire.fleet.network_apis import NetworkApi, NetworkApis, configured_networks
from longwire.identity.external_identities import (
    IdentityProvider,
    SignInPolicy,
    parse_claim_rules,
)
from longwire.identity.passkeys import find_relying_party
from longwire.identity.passwords import PasswordHashing
from longwire.identity.rate_limiter import FailureThrottle, RateLimiter
from longwire.identity.sessions import SessionRules
from longwire.inbound.callbacks import NetworkCallbacks
from longwire.inbound.downlinks import DownlinkService
from longwire.inbound.mqtt_listener import ALL_OUTCOMES, MqttListener, default_client_id
from longwire.inbound.mqtt_messages import MqttMessageHandler
from longwire.inbound.mqtt_session import parse_broker_url
from longwire.inbound.uplinks import UplinkStore
from longwire.ingest import Ingest, Sequencer, store_service_events
from longwire.jobs.runner import JobRunner
from longwire.live.hub import LiveHub
from longwire.model import ChannelPurpose, SignInMethod
from longwire.networks.base import CHIRPSTACK, LORIOT, NETWORKS, THINGPARK, VENDOR
from longwire.notifications import monitoring
from longwire.notifications.sending import NotificationHandler
from longwire.notifications.types import catalogue as notification_types
from longwire.notifications.types.base import SendingConfig
from longwire.otel import CollectMetrics, OtelExporter
from longwire.quotas import Quotas
from longwire.records import KIND_NAMES
from longwire.settings import Settings, parse_headers
from longwire.spans import Tracer
from longwire.storage_quota import StorageQuota
from longwire.store.database import Database, NodeRole, Tx
from longwire.store.instance import hold_writer_number
from longwire.supervisor import BackgroundTask, Supervisor
from longwire.web import console_page, guide_page
from longwire.web.authentication import Authenticator
from longwire.web.console_page import ConsolePage
from longwire.web.fields import InputLimits
from longwire.web.guide_page import GuidePage
from longwire.web.openapi import build_document
from longwire.web.origins import parse_origins
from longwire.web.prometheus import SHARED_FOLDER_VARIABLE, MetricLabels, PrometheusMetrics
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

REJECTIONS_LOG_INTERVAL_S = 60.0
# Of one user: codes have six digits, and three of them are valid at a time.
TOTP_CODES_BURST = 10
TOTP_CODES_PER_MINUTE = 1
# Of one user, or client id.
SESSIONS_BURST = 200
SESSIONS_PER_MINUTE = 60

log = structlog.get_logger()

OPERATIONS: tuple[Route, ...] = (
    *groups.ROUTES,
    *roles.ROUTES,
    *access.ROUTES,
    *users.ROUTES,
    *sessions.ROUTES,
    *passkeys.ROUTES,
    *clients.ROUTES,
    *devices.ROUTES,
    *configurations.ROUTES,
    *decoders.ROUTES,
    *device_import.ROUTES,
    *downlinks.ROUTES,
    *records.ROUTES,
    *arrivals.ROUTES,
    *series.ROUTES,
    *connectors.ROUTES,
    *deliveries.ROUTES,
    *connector_metrics.ROUTES,
    *previews.ROUTES,
    *replays.ROUTES,
    *traces.ROUTES,
    *notifications.ROUTES,
    *metrics.ROUTES,
    *overview.ROUTES,
    *positions.ROUTES,
    *audit.ROUTES,
    *jobs.ROUTES,
    *exports.ROUTES,
)


class App:
    """The ASGI application: the request handler, and the background tasks of the process."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self.database = database
        self.stop: Callable[[], None] = lambda: None  # set by `serve`
        self.on_hangup: Callable[[], None] | None = None  # the same, for SIGHUP
        self._is_leaving = False
        self._retention_days = _get_retention_days(settings)
        self._rejected_connections = 0
        self._rejections_logged_at = -math.inf
        self._prometheus = prometheus = PrometheusMetrics(
            _build_metric_labels(settings), shares_counters=SHARED_FOLDER_VARIABLE in os.environ
        )
        self._otel = _open_otel(settings, database)
        tracer = self._otel.tracer if self._otel is not None else None
        self.supervisor = Supervisor(lambda: self.stop(), prometheus)
        role = NodeRole.SERVE if settings.delivery else NodeRole.API
        stack = _DeliveryStack(settings, database, prometheus, role, tracer, lambda: ingest.is_busy)
        self._deferred_matching = DeferredMatching(
            database, stack.sequencer, stack.budgets, stack.engine.wake
        )
        self.engine, self._dispatch = stack.engine, stack.dispatch
        self._sequencer = stack.sequencer
        self._live_hub = LiveHub(
            database, stack.sequencer, on_listeners=prometheus.set_live_listeners
        )
        self._delivers = settings.delivery
        self._delivery_keep_days = settings.delivery_keep_days
        self._connector_metrics_keep_days = settings.connector_metrics_keep_days
        self._trace_retention = maintenance.TraceRetention(
            settings.trace_keep_hours, settings.trace_bytes_max
        )
        self._audit_retention_days = settings.audit_retention_days
        self._job_keep_days = settings.job_keep_days
        self._job_runner = JobRunner(
            database,
            self._dispatch,
            settings.jobs_running_per_group_max,
            partial(exports.read_rows, self._retention_days),
            settings.export_bytes_per_owner_max,
        )
        self._ingest = ingest = Ingest(
            database,
            self._sequencer,
            waiting_records_max=settings.ingest_waiting_records_max,
            records_per_commit_max=settings.ingest_commit_records_max,
            patience_s=settings.database_patience_s,
            wake=self.engine.wake if settings.delivery else lambda channels: None,
            budgets=stack.budgets,
            on_deferred=self._deferred_matching.notify,
            storage_quota=StorageQuota(
                settings.stored_records_per_group_max, settings.stored_bytes_per_group_max
            ),
        )
        limits = _build_input_limits(settings)
        rate_limiter = _build_request_rate_limiter(settings, database)
        downlink_service = DownlinkService(database, self._dispatch, stack.egress)
        CODEC_GUARD.set_budget(settings.codec_ms_per_group_per_s, settings.codec_burst_ms_per_group)
        uplinks = self._uplinks = UplinkStore(database, ingest, prometheus)
        networks = NetworkCallbacks(
            database,
            uplinks,
            prometheus,
            downlink_service,
            rate_limiter,
            settings.trace_body_bytes_max if settings.trace_keep_hours else None,
        )
        mqtt_messages = MqttMessageHandler(
            uplinks, limits, partial(records.parse_published_record, limits)
        )
        self.listener = _build_listener(settings, database, mqtt_messages, prometheus)
        base_path = startup.get_base_path(settings)
        service_endpoints = ServiceEndpoints(
            database,
            ingest,
            self.engine if settings.delivery else None,
            prometheus,
            self.listener.describe_state if self.listener is not None else None,
            failing_tasks=self.supervisor.list_failing_critical,
            data_folder=None if settings.database else settings.data,
            metrics_token=settings.metrics_token,
            metrics_connectors_max=settings.metrics_connectors_max,
            standbys_min=settings.database_standbys_min,
            console=ConsolePage(console_page.FOLDER, settings.map_tiles, base_path),
            is_leaving=lambda: self._is_leaving,
            guide=GuidePage(guide_page.FOLDER),
            base_path=base_path,
        )
        self._collect_metrics = service_endpoints.collect_metrics
        session_rules = _build_session_rules(settings)
        authenticator = Authenticator(
            database, session_rules, _get_public_origin(settings), rate_limiter
        )
        guards = _build_sign_in_guards(settings, database)
        self._password_hashing = PasswordHashing()
        self._sign_in_mailer = SignInMailer(database, stack.sending_config.mail)
        session_endpoints = SessionEndpoints(
            database,
            authenticator,
            session_rules,
            limits,
            base_url=startup.get_base_url(settings),
            settings=ConsoleSettings(
                version=__version__,
                sign_in=_list_sign_in_methods(settings),
                mail=self._sign_in_mailer.is_configured,
                oidc_name=settings.oidc_name or urlsplit(settings.oidc_issuer).hostname,
                map_tiles=settings.map_tiles or None,
                map_attribution=settings.map_attribution or None,
            ),
            mailer=self._sign_in_mailer,
            guards=guards,
            hashing=self._password_hashing,
        )
        password_endpoints = PasswordEndpoints(
            database,
            authenticator,
            limits,
            mailer=self._sign_in_mailer,
            guards=guards,
            hashing=self._password_hashing,
        )
        self._oidc_provider = _build_oidc_provider(settings, database)
        passkey_endpoints = PasskeyEndpoints(
            database,
            authenticator,
            find_relying_party(startup.get_base_url(settings)),
            session_rules,
            limits,
            quotas=_build_quotas(settings),
            failures=_build_sign_in_failures(settings, database),
        )
        self.routes: list[Route | PlainRoute] = [
            *_build_token_routes(settings, database, guards.client_failures),
            *session_endpoints.routes(),
            *password_endpoints.routes(),
            *_build_oidc_routes(settings, database, self._oidc_provider, session_rules),
            *passkey_endpoints.routes(),
            *OPERATIONS,
            *LiveEndpoint(self._live_hub, settings.live_listeners_max).routes(),
            *invitations.routes(database, session_rules, authenticator.public_origin),
            *networks.routes(),
            *service_endpoints.routes(),
        ]
        self.build_openapi = partial(_build_openapi, settings, self.routes, limits)
        service_endpoints.set_openapi_builder(self.build_openapi)
        self._request_handler = RequestHandler(
            database,
            ingest,
            self.routes,
            RequestHandlerSettings(
                limits,
                settings.trusted_proxies,
                bool(settings.tls_cert),
                settings.log_level == "debug",
                rate_limiter,
                self._retention_days,
                stack.egress,
                stack.writer,
                dispatch=self._dispatch,
                sending_config=stack.sending_config,
                quotas=_build_quotas(settings),
                request_bytes_max=settings.request_bytes_max,
                group_deletion_grace_hours=settings.group_deletion_grace_hours,
                base_path=startup.get_base_path(settings),
                cors_origins=parse_origins(settings.cors_origins),
                compresses=settings.compression,
            ),
            prometheus,
            authenticator,
            tracer,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._request_handler(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)

    def count_rejected_connection(self) -> None:
        """Count a connection beyond the limits, and log that there are some once a minute."""
        self._prometheus.count_rejected_connection()
        self._rejected_connections += 1
        now = time.monotonic()
        if now - self._rejections_logged_at >= REJECTIONS_LOG_INTERVAL_S:
            self._rejections_logged_at = now
            log.warning("too many connections", rejected=self._rejected_connections)
            self._rejected_connections = 0

    def leave(self) -> None:
        """Be unready from now on, because a stop has begun."""
        self._is_leaving = True

    def stop_streams(self) -> None:
        """Before the server waits for its responses."""
        self._request_handler.stop_streams()
        self._live_hub.wake_all()
        self._ingest.stop_waiting()

    def fast_path(self, scope: Scope, body: bytes | bytearray, send: SendResponse) -> bool:
        """See `web.server`."""
        return self._request_handler.fast_path(scope, body, send)

    def reload(self, settings: Settings) -> None:
        """Apply the settings that can change in a running process."""
        self._request_handler.reload(
            quotas=_build_quotas(settings), logs_requests=settings.log_level == "debug"
        )
        self._job_runner.export_bytes_max = settings.export_bytes_per_owner_max

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        if self.on_hangup is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.on_hangup)
        try:
            async with self.supervisor.run(self._list_background_tasks()):
                await send({"type": "lifespan.startup.complete"})
                await receive()
        finally:
            self._password_hashing.close()
            self._request_handler.close()
            self._uplinks.close()
            if self._oidc_provider is not None:
                await self._oidc_provider.close()
            if self._otel is not None:
                await self._otel.close(self._collect_metrics)
        await send({"type": "lifespan.shutdown.complete"})

    def _list_background_tasks(self) -> list[BackgroundTask]:
        database, engine, dispatch = self.database, self.engine, self._dispatch
        tasks = [
            *_list_database_tasks(database),
            BackgroundTask(
                "cleanup",
                partial(
                    maintenance.run_cleanup,
                    database,
                    self._retention_days,
                    self._delivery_keep_days,
                    self._audit_retention_days,
                    self._job_keep_days,
                    self._trace_retention,
                ),
            ),
            BackgroundTask(
                "silent devices",
                partial(maintenance.watch_silent_devices, database, self._sequencer, engine.wake),
            ),
            BackgroundTask(
                "configuration drift", partial(maintenance.watch_configurations, database)
            ),
            BackgroundTask(
                "connector metrics",
                partial(maintenance.watch_connectors, database, self._connector_metrics_keep_days),
            ),
            BackgroundTask("jobs", self._job_runner.run),
            BackgroundTask("deferred matching", self._deferred_matching.run, is_critical=True),
            BackgroundTask(
                "notification monitor",
                partial(
                    monitoring.run_monitor, database, dispatch.take_sequence_numbers, engine.wake
                ),
            ),
            BackgroundTask("sign-in mail", self._sign_in_mailer.run),
            BackgroundTask(
                "downlink expiry", partial(maintenance.expire_downlinks, database, dispatch)
            ),
            BackgroundTask(
                "pending registrations",
                partial(maintenance.send_pending_registrations, database, dispatch),
                may_finish=True,
            ),
        ]
        watchdog_s = systemd.get_watchdog_interval_s()
        if watchdog_s is not None:
            tasks.append(BackgroundTask("watchdog", partial(_notify_watchdog, watchdog_s)))
        if self._delivers:
            tasks.append(BackgroundTask("delivery engine", engine.run, is_critical=True))
        if self.listener is not None:
            tasks.append(BackgroundTask("mqtt listener", self.listener.run))
        if self._otel is not None:
            tasks.append(_build_otel_task(self._otel, self._collect_metrics))
        return tasks


class DeliveryProcess:
    """The delivery engine without the API, with health and metrics on a port of their own."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._database = database
        self._stopping = asyncio.Event()
        prometheus = PrometheusMetrics(MetricLabels(attempt_types=_list_attempt_types()))
        self._supervisor = Supervisor(self._stopping.set, prometheus)
        self._otel = _open_otel(settings, database)
        tracer = self._otel.tracer if self._otel is not None else None
        stack = _DeliveryStack(settings, database, prometheus, NodeRole.DELIVER, tracer)
        self._engine = stack.engine
        self._endpoints = endpoints = ServiceEndpoints(
            database,
            None,
            self._engine,
            prometheus,
            failing_tasks=self._supervisor.list_failing_critical,
            data_folder=None if settings.database else settings.data,
            metrics_token=settings.metrics_token,
            metrics_connectors_max=settings.metrics_connectors_max,
            standbys_min=settings.database_standbys_min,
        )
        self._status_server = StatusServer(endpoints.status_routes())

    def stop(self) -> None:
        self._stopping.set()

    async def run(self, listener: socket.socket | None) -> None:
        """Deliver until stopped, or until the database fails."""
        tasks = [
            BackgroundTask("delivery engine", self._engine.run, is_critical=True),
            *_list_database_tasks(self._database),
        ]
        watchdog_s = systemd.get_watchdog_interval_s()
        if watchdog_s is not None:
            tasks.append(BackgroundTask("watchdog", partial(_notify_watchdog, watchdog_s)))
        if listener is not None:
            # Each run gets its own duplicate: the server closes its socket when it ends.
            tasks.append(
                BackgroundTask("status server", lambda: self._status_server.serve(listener.dup()))
            )
        otel, collect = self._otel, self._endpoints.collect_metrics
        if otel is not None:
            tasks.append(_build_otel_task(otel, collect))
        async with self._supervisor.run(tasks):
            await self._stopping.wait()
        if otel is not None:
            await otel.close(collect)


class _DeliveryStack:
    """What both processes need to send: sequence numbers, dispatch and the delivery engine."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        prometheus: PrometheusMetrics,
        role: NodeRole,
        tracer: Tracer | None,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self.writer = hold_writer_number(database, role)
        self.egress = Egress(
            [str(network) for network in settings.egress_allow],
            connections_max=settings.attempts_in_flight_max,
        )
        self.sequencer = Sequencer(self.writer, prometheus.count_stored)
        self.budgets = ComputeBudgets(
            database.context.clock,
            ms_per_s=settings.compute_ms_per_group_per_s,
            burst_ms=settings.compute_burst_ms_per_group,
        )
        self.sending_config = _build_sending_config(settings)
        apis = _build_network_apis(settings)
        self.dispatch = _build_dispatch(
            self.sequencer, apis, lambda numbers: self.engine.wake_threadsafe(numbers)
        )
        self.engine = Engine(
            database,
            self.writer,
            self.egress,
            handlers={
                **DEFAULT_HANDLERS,
                **network_channels.network_handlers(database, self.dispatch, apis),
                ChannelPurpose.NOTIFICATION: NotificationHandler(database, self.sending_config),
                ChannelPurpose.MAIL: MailHandler(self.sending_config.mail),
            },
            in_flight_max=settings.delivery_in_flight_max,
            attempts_in_flight_max=settings.attempts_in_flight_max,
            budgets=self.budgets,
            resend_per_s=settings.resend_per_s,
            on_attempt=prometheus.observe_attempt,
            is_busy=is_busy,
            tracer=tracer,
        )


def _open_otel(settings: Settings, database: Database) -> OtelExporter | None:
    """What exports traces and metrics; nothing of it is loaded unless it is wanted."""
    if not settings.otel_endpoint:
        return None
    opened: OtelExporter = extras.load("otel", "longwire.otel.export").OtlpExporter(
        settings.otel_endpoint,
        parse_headers(settings.otel_headers),
        sample_ratio=settings.otel_sample_ratio,
        exports_metrics=settings.otel_metrics,
        started_at=database.context.clock.now(),
    )
    return opened


def _build_otel_task(otel: OtelExporter, collect: CollectMetrics) -> BackgroundTask:
    return BackgroundTask("otel", partial(otel.run, collect))


async def _notify_watchdog(interval_s: float) -> None:
    """Say that the event loop turns, until it does not."""
    while True:
        systemd.notify_alive()
        await asyncio.sleep(interval_s)


def _list_database_tasks(database: Database) -> list[BackgroundTask]:
    return [
        BackgroundTask(
            "database watcher", partial(maintenance.watch_database, database), is_fatal=True
        ),
        BackgroundTask(
            "epoch watcher", partial(maintenance.watch_cache_epochs, database), is_critical=True
        ),
        BackgroundTask("write probe", partial(maintenance.probe_writes, database)),
    ]


def _build_metric_labels(settings: Settings) -> MetricLabels:
    return MetricLabels(
        attempt_types=_list_attempt_types(),
        networks=NETWORKS,
        mqtt_outcomes=ALL_OUTCOMES if settings.mqtt_url else (),
    )


def _list_attempt_types() -> Collection[str]:
    return sorted({*destinations.TYPES, *notification_types.TYPES, *NETWORKS})


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
            base_url=startup.get_base_url(settings),
            mails_per_group_hour_max=settings.mails_per_group_hour_max,
            mails_per_owner_hour_max=settings.mails_per_owner_hour_max,
        ),
        vapid_key=settings.vapid_key,
        vapid_contact=settings.vapid_contact,
        fcm_account=account,
        fcm_url=settings.fcm_url,
    )


def _build_network_apis(settings: Settings) -> NetworkApis:
    return {
        VENDOR: NetworkApi(
            settings.vendor_api_url, settings.vendor_api_login, settings.vendor_api_password
        ),
        CHIRPSTACK: NetworkApi(settings.chirpstack_api_url, secret=settings.chirpstack_api_key),
        LORIOT: NetworkApi(
            settings.loriot_api_url, settings.loriot_app_id, settings.loriot_api_key
        ),
        THINGPARK: NetworkApi(
            settings.thingpark_api_url, settings.thingpark_as_id, settings.thingpark_as_key
        ),
    }


def _build_dispatch(
    sequencer: Sequencer, apis: NetworkApis, wake: Callable[[Collection[int]], None]
) -> DispatchContext:
    def wake_on_commit(tx: Tx, numbers: Collection[int]) -> None:
        if numbers:
            tx.on_commit(lambda: wake(numbers))

    return DispatchContext(
        sequencer.writer,
        sequencer.take,
        lambda tx, events: wake_on_commit(tx, store_service_events(tx, sequencer, events)),
        configured_networks(apis),
        wake_on_commit,
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


def _build_openapi(
    settings: Settings, routes: Sequence[Route | PlainRoute], limits: InputLimits
) -> dict[str, Any]:
    """The OpenAPI document, with URLs as clients reach the service."""
    # Without a public_url, paths are relative to where the document was found.
    server = startup.get_base_url(settings) if settings.public_url else "/"
    issuer = settings.auth_url.rstrip("/") or server.rstrip("/")
    info = api_info(__version__, server, f"{issuer}{tokens.PATH}")
    return build_document(routes, limits, info)


def _build_token_routes(
    settings: Settings, database: Database, throttle: FailureThrottle
) -> list[PlainRoute]:
    if settings.auth_url:
        return []
    return tokens.routes(
        TokenEndpoint(
            database,
            issuer=startup.get_base_url(settings),
            lifetime_s=settings.token_lifetime_s,
            throttle=throttle,
        )
    )


def _build_session_rules(settings: Settings) -> SessionRules:
    return SessionRules(
        idle_s=settings.session_idle_s,
        lifetime_s=settings.session_lifetime_s,
        per_user_max=settings.sessions_per_user_max,
    )


def _build_oidc_provider(settings: Settings, database: Database) -> IdentityProvider | None:
    if not settings.oidc_issuer:
        return None
    # Imported on demand: its libraries are large, and not every service has a provider.
    module: Any = importlib.import_module("longwire.oidc_provider")
    client = module.OidcClient(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret=settings.oidc_client_secret,
        scopes=settings.oidc_scopes,
        verified_claim=settings.oidc_verified_claim,
        group_claim=settings.oidc_group_claim if settings.oidc_memberships.strip() else "",
    )
    provider: IdentityProvider = module.OidcProvider(client, database.context.clock)
    return provider


def _build_oidc_routes(
    settings: Settings, database: Database, provider: IdentityProvider | None, rules: SessionRules
) -> list[PlainRoute]:
    policy = SignInPolicy(
        domains=email_addresses.parse_domains(settings.oidc_domains),
        creates_users=settings.oidc_creates_users,
        claim_rules=parse_claim_rules(settings.oidc_memberships),
    )
    base_url = startup.get_base_url(settings)
    endpoints = OidcEndpoints(
        database,
        provider,
        policy,
        rules,
        base_url=base_url,
        failures=_build_sign_in_failures(settings, database),
    )
    return endpoints.routes()


def _build_sign_in_failures(settings: Settings, database: Database) -> RateLimiter:
    """By address, where nobody says who they are before they have proved it."""
    most = settings.sign_in_failures_per_address_max
    nodes = _count_serving(database)
    return RateLimiter(database.context.clock, burst=most, per_minute=most, nodes=nodes)


def _list_sign_in_methods(settings: Settings) -> list[str]:
    """The ways to sign in that a page can offer."""
    offered = [SignInMethod.LINK, SignInMethod.CLIENT]
    if settings.password_sign_in:
        offered.append(SignInMethod.PASSWORD)
    if settings.oidc_issuer:
        offered.append(SignInMethod.OIDC)
    if find_relying_party(startup.get_base_url(settings)) is not None:
        offered.append(SignInMethod.PASSKEY)
    return list(offered)


def _build_sign_in_guards(settings: Settings, database: Database) -> SignInGuards:
    clock = database.context.clock
    mails = settings.sign_in_mails_per_address_max
    nodes = _count_serving(database)
    limiter = partial(RateLimiter, clock, nodes=nodes)
    return SignInGuards(
        failures=FailureThrottle(
            clock,
            per_account=settings.sign_in_failures_per_account_max,
            per_address=settings.sign_in_failures_per_address_max,
            nodes=nodes,
        ),
        client_failures=FailureThrottle(
            clock,
            per_account=settings.token_failures_per_client_max,
            per_address=settings.token_failures_per_address_max,
            nodes=nodes,
        ),
        codes=limiter(burst=TOTP_CODES_BURST, per_minute=TOTP_CODES_PER_MINUTE),
        mails=limiter(burst=mails, per_minute=mails),
        sessions=limiter(burst=SESSIONS_BURST, per_minute=SESSIONS_PER_MINUTE),
    )


def _count_serving(database: Database) -> Callable[[], int]:
    """How many processes share what one caller may do."""
    return lambda: len(database.cluster.serving)


def _get_public_origin(settings: Settings) -> str:
    """Scheme, host and port of the public URL, as browsers write them."""
    url = urlsplit(startup.get_base_url(settings))
    return f"{url.scheme}://{url.netloc}".lower()


def _build_request_rate_limiter(settings: Settings, database: Database) -> RateLimiter | None:
    if not settings.requests_per_caller_per_s:
        return None
    return RateLimiter(
        database.context.clock,
        burst=settings.requests_per_caller_burst,
        per_minute=settings.requests_per_caller_per_s * 60,
        nodes=_count_serving(database),
    )


def _get_retention_days(settings: Settings) -> dict[str, int]:
    return {name: getattr(settings, f"retention_{name}_days") for name in (*KIND_NAMES, "metrics")}


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
    )


def _build_quotas(settings: Settings) -> Quotas:
    """Each quota is a setting of the same name."""
    return Quotas(**{each.name: getattr(settings, each.name) for each in fields(Quotas)})


def build_wire_limits(settings: Settings) -> WireLimits:
    return WireLimits(
        head_bytes_max=settings.head_bytes_max,
        head_timeout_s=settings.head_timeout_s,
        request_timeout_s=settings.request_timeout_s,
        write_timeout_s=settings.write_timeout_s,
        keep_alive_s=settings.keep_alive_s,
        connections_max=settings.connections_max,
        connections_per_address_max=settings.connections_per_address_max,
        unsent_bytes_max=settings.response_bytes_max,
    )
