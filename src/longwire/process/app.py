"""Assembles the process, lowest layer first, and shuts it down in reverse.

The only module that knows every layer. Settings end here and in `startup`; lower layers receive
plain values.
"""

import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from longwire import __version__
from longwire.api import metrics, overview
from longwire.api.delivery import (
    alarms,
    backtests,
    connector_metrics,
    connectors,
    contact_points,
    deliveries,
    exchanges,
    failures,
    notifications,
    previews,
    replays,
    secret_rotations,
    silences,
)
from longwire.api.description import api_info
from longwire.api.fleet import (
    configurations,
    decoders,
    device_import,
    device_types,
    devices,
    downlinks,
    measurements,
    positions,
    redecoding,
    type_import,
    unknown_devices,
)
from longwire.api.identity import (
    access,
    audit,
    clients,
    group_limits,
    groups,
    invitations,
    oidc,
    passkeys,
    passwords,
    permissions,
    roles,
    sessions,
    tokens,
    users,
)
from longwire.api.jobs import jobs
from longwire.api.live import LiveEndpoint
from longwire.api.records import (
    arrivals,
    exports,
    group_series,
    records,
    series,
    shares,
    traces,
)
from longwire.api.reports import reports as report_operations
from longwire.api.reports.report_content import read_content as read_report
from longwire.api.service import ServiceEndpoints
from longwire.api.services import Services
from longwire.archive.reader import ArchiveReader
from longwire.deferred_matching import DeferredMatching
from longwire.delivery.destinations.mqtt_connection import SubscriberOptions
from longwire.errors import LongwireError, Unavailable
from longwire.fleet import measurement_plans
from longwire.fleet.share_uses import ShareUses
from longwire.fleet.summaries import SummaryWork
from longwire.identity import groups as group_rules
from longwire.identity.caller_rates import CallerRateLimiter
from longwire.inbound.callbacks import NetworkCallbacks
from longwire.inbound.downlinks import DownlinkService
from longwire.inbound.mqtt_listener import MqttListener, default_client_id
from longwire.inbound.mqtt_messages import MqttMessageHandler
from longwire.inbound.mqtt_session import parse_broker_url
from longwire.inbound.unknown_devices import UnknownDeviceBuffer
from longwire.inbound.uplinks import UplinkStore
from longwire.ingest.service import Ingest
from longwire.jobs.runner import JobRunner
from longwire.live.hub import LiveHub
from longwire.map_archives.folder import open_map_folder
from longwire.notifications import monitoring
from longwire.notifications.alarm_work import AlarmWork
from longwire.process import maintenance, startup, systemd
from longwire.process.app_config import (
    build_input_limits,
    build_metric_labels,
    build_quotas,
    build_request_rate_limiter,
    build_service_limits,
    build_share_services,
    open_computing,
)
from longwire.process.delivery_process import (
    DeliveryStack,
    build_otel_task,
    list_database_tasks,
    notify_watchdog,
    open_otel,
)
from longwire.process.sign_in_stack import SignInStack
from longwire.process.supervisor import BackgroundTask, Supervisor
from longwire.prometheus import SHARED_FOLDER_VARIABLE, PrometheusMetrics
from longwire.reports.runner import ReportRunner
from longwire.settings import Settings
from longwire.spans import Tracer
from longwire.storage_quota import Limits, StorageQuota
from longwire.store.database import Database, NodeRole
from longwire.store.fleet import shares as store_shares
from longwire.web import console_page, guide_page
from longwire.web.asgi import Receive, Scope, Send
from longwire.web.console_page import ConsolePage
from longwire.web.fields import InputLimits
from longwire.web.guide_page import GuidePage
from longwire.web.openapi import build_document
from longwire.web.origins import parse_origins
from longwire.web.request_cycle import SendResponse
from longwire.web.request_handler import RequestHandler, RequestHandlerSettings
from longwire.web.routing import Route, routes_in

REJECTIONS_LOG_INTERVAL_S = 60.0

log = structlog.get_logger()

_SIGN_IN = routes_in(sessions, passwords, oidc, passkeys, invitations)
# By them people sign in, and change how they do: with a cookie, or before they have one.
SIGN_IN = tuple(each for each in _SIGN_IN if not each.in_transaction)
OPERATIONS: tuple[Route, ...] = (
    *(each for each in _SIGN_IN if each.in_transaction),
    *groups.ROUTES,
    *group_limits.ROUTES,
    *roles.ROUTES,
    *permissions.ROUTES,
    *access.ROUTES,
    *users.ROUTES,
    *clients.ROUTES,
    *devices.ROUTES,
    *unknown_devices.ROUTES,
    *configurations.ROUTES,
    *device_types.ROUTES,
    *type_import.ROUTES,
    *decoders.ROUTES,
    *device_import.ROUTES,
    *downlinks.ROUTES,
    *records.ROUTES,
    *redecoding.ROUTES,
    *arrivals.ROUTES,
    *series.ROUTES,
    *group_series.ROUTES,
    *connectors.ROUTES,
    *deliveries.ROUTES,
    *failures.ROUTES,
    *exchanges.ROUTES,
    *secret_rotations.ROUTES,
    *connector_metrics.ROUTES,
    *previews.ROUTES,
    *replays.ROUTES,
    *traces.ROUTES,
    *notifications.ROUTES,
    *alarms.ROUTES,
    *silences.ROUTES,
    *backtests.ROUTES,
    *contact_points.ROUTES,
    *report_operations.ROUTES,
    *shares.ROUTES,
    *metrics.ROUTES,
    *overview.ROUTES,
    *positions.ROUTES,
    *measurements.ROUTES,
    *audit.ROUTES,
    *jobs.ROUTES,
    *exports.ROUTES,
)


class App:
    """The ASGI application: the request handler, and the background tasks of the process."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self.database = database
        self._settings = settings  # of the start; see `reload`
        self._archive = ArchiveReader(settings.archive) if settings.archive else None
        database.context.archive = self._archive
        self.stop: Callable[[], None] = lambda: None  # set by `serve`
        self.on_startup: Callable[[], None] = lambda: None  # the same, when the event loop runs
        self._is_leaving = False
        database.context.limits = build_service_limits(settings)
        self._rejected_connections = 0
        self._rejections_logged_at = -math.inf
        self._prometheus = prometheus = PrometheusMetrics(
            build_metric_labels(settings), shares_counters=SHARED_FOLDER_VARIABLE in os.environ
        )
        self._otel = open_otel(settings, database)
        tracer = None if self._otel is None else self._otel.tracer
        self.supervisor = Supervisor(lambda: self.stop(), prometheus)
        stack = self._build_delivery_stack(tracer)
        self.engine, self._dispatch = stack.engine, stack.dispatch
        self._sequencer, self.queue_watch = stack.sequencer, stack.queue_watch
        self._deferred_matching = DeferredMatching(
            database, stack.sequencer, stack.budgets, stack.engine.wake
        )
        self.alarm_work = self._build_alarm_work(stack)
        self.computing = open_computing(settings, database)
        self._live_hub = self._build_live_hub()
        self._job_runner = self._build_job_runner(tracer)
        count_unknown = prometheus.count_unknown_device_messages
        self._unknown_devices = UnknownDeviceBuffer(database, count_unknown)
        self._ingest, self._storage_quota = self._build_ingest(stack)
        limits = build_input_limits(settings)
        rate_limiter = build_request_rate_limiter(settings, database)
        self._uplinks = UplinkStore(
            database, self._ingest, prometheus, self._unknown_devices, self.computing.codecs
        )
        downlinks = DownlinkService(database, stack.dispatch, stack.egress)
        networks = self._build_network_callbacks(downlinks, rate_limiter)
        self.listener = self._build_listener(limits, downlinks, tracer)
        self._map_folder = open_map_folder(settings.data, settings.map_tiles)
        service_endpoints = self._build_service_endpoints()
        self._collect_metrics = service_endpoints.collect_metrics
        self._share_uses = ShareUses(database)
        self._sign_in = SignInStack(
            settings, database, stack.sending_config.mail, rate_limiter, self._map_folder
        )
        self.routes: list[Route] = [
            *self._sign_in.routes,
            *SIGN_IN,
            *OPERATIONS,
            *self._list_bound_routes(),
            *networks.routes(),
            *service_endpoints.routes(),
        ]
        self.build_openapi = partial(_build_openapi, settings, self.routes, limits)
        service_endpoints.set_openapi_builder(self.build_openapi)
        self._services = self._build_services(stack, rate_limiter)
        self._request_handler = self._build_request_handler(limits, tracer)

    def _build_alarm_work(self, stack: DeliveryStack) -> AlarmWork:
        return AlarmWork(
            self.database,
            stack.dispatch.take_sequence_numbers,
            stack.engine.wake,
            measurement_plans.get_named,
        )

    def _build_services(self, stack: DeliveryStack, rate_limiter: CallerRateLimiter) -> Services:
        settings = self._settings
        return Services(
            egress=stack.egress,
            writer=stack.writer,
            dispatch=stack.dispatch,
            network_queues=stack.network_queues,
            sending_config=stack.sending_config,
            quotas=build_quotas(settings),
            group_deletion_grace_hours=settings.group_deletion_grace_hours,
            sequencer=stack.sequencer,
            ingest=self._ingest,
            computing=self.computing,
            sign_in=self._sign_in.services,
            shares=build_share_services(self.database, rate_limiter, self._share_uses),
        )

    def _build_request_handler(
        self, limits: InputLimits, tracer: Tracer | None
    ) -> RequestHandler[Services]:
        return RequestHandler(
            self.database,
            self._ingest.try_enqueue,
            self.routes,
            self._services,
            _build_handler_settings(self._settings, limits),
            self._prometheus.observe_response,
            self._sign_in.authenticator,
            group_rules,
            tracer,
        )

    def _build_delivery_stack(self, tracer: Tracer | None) -> DeliveryStack:
        role = NodeRole.SERVE if self._settings.delivery else NodeRole.API
        return DeliveryStack(
            self._settings,
            self.database,
            self._prometheus,
            role,
            tracer,
        )

    def _build_live_hub(self) -> LiveHub:
        return LiveHub(
            self.database,
            self._sequencer,
            self.computing,
            on_listeners=self._prometheus.set_live_listeners,
        )

    def _build_job_runner(self, tracer: Tracer | None) -> JobRunner:
        return JobRunner(
            self.database,
            self._dispatch,
            self.computing,
            self._settings.fixed.jobs_running_per_group_max,
            exports.read_rows,
            self._settings.fixed.export_bytes_per_owner_max,
            tracer,
        )

    def _build_ingest(self, stack: DeliveryStack) -> tuple[Ingest, StorageQuota]:
        settings = self._settings
        stack.change_forwarder.on_deferred = self._deferred_matching.notify
        quota = _build_storage_quota(settings)
        ingest = Ingest(
            self.database,
            stack.sequencer,
            waiting_records_max=settings.fixed.ingest_waiting_records_max,
            records_per_commit_max=settings.fixed.ingest_commit_records_max,
            patience_s=settings.fixed.database_patience_s,
            wake=stack.engine.wake if settings.delivery else lambda channels, slot: None,
            budgets=stack.budgets,
            on_deferred=self._deferred_matching.notify,
            storage_quota=quota,
            on_unknown=self._unknown_devices.note_posted,
        )
        return ingest, quota

    def _build_network_callbacks(
        self, downlink_service: DownlinkService, rate_limiter: CallerRateLimiter
    ) -> NetworkCallbacks:
        settings = self._settings
        return NetworkCallbacks(
            self.database,
            self._uplinks,
            self._prometheus,
            downlink_service,
            rate_limiter,
            settings.fixed.trace_body_bytes_max if settings.trace_keep_hours else None,
        )

    def _build_listener(
        self, limits: InputLimits, downlink_service: DownlinkService, tracer: Tracer | None
    ) -> MqttListener | None:
        settings, database = self._settings, self.database
        if not settings.mqtt_url:
            return None
        parse_record = partial(records.parse_published_record, limits)
        messages = MqttMessageHandler(self._uplinks, limits, parse_record, downlink_service, tracer)
        broker = parse_broker_url(
            settings.mqtt_url,
            settings.mqtt_version,
            settings.mqtt_client_id or default_client_id(database),
            settings.mqtt_prefix,
            SubscriberOptions(
                settings.fixed.mqtt_in_flight_max, packet_bytes_max=2 * settings.body_bytes_max
            ),
        )
        return MqttListener(
            database,
            broker,
            messages.handle,
            self._prometheus.count_mqtt_message,
            self._prometheus.set_mqtt_connected,
        )

    def _build_service_endpoints(self) -> ServiceEndpoints:
        settings = self._settings
        base_path = startup.get_base_path(settings)
        return ServiceEndpoints(
            self.database,
            self._ingest,
            self.engine if settings.delivery else None,
            self._prometheus,
            self.listener.describe_state if self.listener is not None else None,
            failing_tasks=self.supervisor.list_failing_critical,
            data_folder=None if settings.database else settings.data,
            metrics_token=settings.metrics_token,
            metrics_connectors_max=settings.fixed.metrics_connectors_max,
            standbys_min=settings.database_standbys_min,
            console=ConsolePage(
                console_page.FOLDER,
                settings.map_tiles if self._map_folder is None else "",
                base_path,
                self._list_embedding_origins,
                self._map_folder,
            ),
            is_leaving=lambda: self._is_leaving,
            guide=GuidePage(guide_page.FOLDER),
            base_path=base_path,
        )

    async def _list_embedding_origins(self, share_id: str) -> Sequence[str]:
        """Of pages that may embed a shared view; of none while the database does not answer."""
        try:
            return await self.database.read(partial(store_shares.list_origins, share_id=share_id))
        except Unavailable:
            return ()

    def _list_bound_routes(self) -> list[Route]:
        """Operations whose handlers need a part of this process."""
        return LiveEndpoint(self._live_hub, self._settings.fixed.live_listeners_max).routes()

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
        """See `web.http_protocol`."""
        return self._request_handler.fast_path(scope, body, send)

    def reload(self, settings: Settings) -> None:
        """Apply the settings that can change in a running process."""
        self._services = replace(self._services, quotas=build_quotas(settings))
        self._request_handler.reload(self._services, logs_requests=settings.log_level == "debug")
        self._job_runner.export_bytes_max = settings.fixed.export_bytes_per_owner_max

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self.on_startup()
        if self._archive is not None:
            self._archive.start()
        try:
            async with self.supervisor.run(self._list_background_tasks()):
                await send({"type": "lifespan.startup.complete"})
                await receive()
        finally:
            for buffer in (self._unknown_devices, self._share_uses):
                with suppress(LongwireError):  # the database is unavailable: these are lost
                    await buffer.flush()
            self._request_handler.close()
            self._uplinks.close()
            if self._archive is not None:
                self._archive.close()
            await self._sign_in.close()
            if self._otel is not None:
                await self._otel.close(self._collect_metrics)
        await send({"type": "lifespan.shutdown.complete"})

    def _list_deleting_tasks(self, summary_work: SummaryWork) -> list[BackgroundTask]:
        settings = self._settings
        return [
            BackgroundTask(
                "cleanup",
                partial(
                    maintenance.run_cleanup,
                    self.database,
                    settings.delivery_keep_days,
                    settings.fixed.job_keep_days,
                    maintenance.TraceRetention(settings.trace_keep_hours, settings.trace_bytes_max),
                    settings.fixed.alarm_keep_days,
                ),
            ),
            BackgroundTask(
                "retention",
                partial(
                    maintenance.run_retention,
                    self.database,
                    summary_work,
                    settings.audit_retention_days,
                    self._archive.drop_expired if self._archive is not None else None,
                ),
            ),
        ]

    def _list_network_tasks(self) -> list[BackgroundTask]:
        database, dispatch = self.database, self._dispatch
        tasks = [
            BackgroundTask(
                "downlink expiry", partial(maintenance.expire_downlinks, database, dispatch)
            ),
            BackgroundTask(
                "pending registrations",
                partial(maintenance.send_pending_registrations, database, dispatch),
                may_finish=True,
            ),
        ]
        if self.queue_watch.is_needed:
            watch = partial(maintenance.watch_queues, database, self.queue_watch)
            tasks.append(BackgroundTask("network queues", watch))
        return tasks

    def _list_background_tasks(self) -> list[BackgroundTask]:
        database, engine, dispatch = self.database, self.engine, self._dispatch
        keep_days = self._settings.fixed.connector_metrics_keep_days
        summary_work = SummaryWork(database, self._prometheus.set_summaries_behind)
        tasks = [
            *list_database_tasks(database),
            *self._list_deleting_tasks(summary_work),
            BackgroundTask(
                "silent devices",
                partial(maintenance.watch_silent_devices, database, self._sequencer, engine.wake),
            ),
            BackgroundTask(
                "summaries",
                partial(maintenance.summarize_values, database, summary_work),
            ),
            BackgroundTask(
                "configuration drift", partial(maintenance.watch_configurations, database)
            ),
            BackgroundTask(
                "connector metrics",
                partial(maintenance.watch_connectors, database, keep_days),
            ),
            BackgroundTask("jobs", self._job_runner.run),
            BackgroundTask("unknown devices", self._unknown_devices.run),
            BackgroundTask("shared views", self._share_uses.run),
            BackgroundTask("deferred matching", self._deferred_matching.run, is_critical=True),
            BackgroundTask(
                "notification monitor",
                partial(
                    monitoring.run_monitor, database, dispatch.take_sequence_numbers, engine.wake
                ),
            ),
            BackgroundTask("alarms", self.alarm_work.run),
            BackgroundTask("reports", ReportRunner(database, dispatch, read_report).run),
            BackgroundTask("sign-in mail", self._sign_in.mailer.run),
            *self._list_network_tasks(),
        ]
        if self._storage_quota.per_owner.are_set:
            watch = partial(self._storage_quota.watch_owners, database)
            tasks.append(BackgroundTask("storage quota", watch))
        watchdog_s = systemd.get_watchdog_interval_s()
        if watchdog_s is not None:
            tasks.append(BackgroundTask("watchdog", partial(notify_watchdog, watchdog_s)))
        if self._settings.delivery:
            tasks.append(BackgroundTask("delivery engine", engine.run, is_critical=True))
        if self.listener is not None:
            tasks.append(BackgroundTask("mqtt listener", self.listener.run))
        if self._otel is not None:
            tasks.append(build_otel_task(self._otel, self._collect_metrics))
        return tasks


def _build_storage_quota(settings: Settings) -> StorageQuota:
    return StorageQuota(
        Limits("group", settings.stored_records_per_group_max, settings.stored_bytes_per_group_max),
        Limits("owner", settings.stored_records_per_owner_max, settings.stored_bytes_per_owner_max),
    )


def _build_handler_settings(settings: Settings, limits: InputLimits) -> RequestHandlerSettings:
    return RequestHandlerSettings(
        limits,
        settings.trusted_proxies,
        bool(settings.tls_cert),
        settings.log_level == "debug",
        request_bytes_max=settings.request_bytes_max,
        base_path=startup.get_base_path(settings),
        cors_origins=parse_origins(settings.cors_origins),
        compresses=settings.compression,
    )


def _build_openapi(
    settings: Settings, routes: Sequence[Route], limits: InputLimits
) -> dict[str, Any]:
    """The OpenAPI document, with URLs as clients reach the service."""
    # Without a public_url, paths are relative to where the document was found.
    server = startup.get_base_url(settings) if settings.public_url else "/"
    issuer = settings.auth_url.rstrip("/") or server.rstrip("/")
    info = api_info(__version__, server, f"{issuer}{tokens.PATH}")
    return build_document(routes, limits, info)
