"""Assembles what sends: the delivery engine, for `serve` and for a process that only delivers."""

import asyncio
import socket
from collections.abc import Callable, Collection
from functools import partial

from longwire import extras
from longwire.api.service import ServiceEndpoints
from longwire.change_forwarding import ChangeForwarder
from longwire.delivery.channels import DispatchContext
from longwire.delivery.connectors.handler import ConnectorHandler
from longwire.delivery.engine.engine import Engine
from longwire.delivery.http.egress import Egress
from longwire.delivery.http.proxies import Proxy, parse_proxy
from longwire.delivery.mail.invitations import MailHandler
from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.fleet import network_channels
from longwire.fleet.downlink_queues import NetworkQueues, QueueWatch
from longwire.fleet.network_apis import NetworkApis, configured_networks
from longwire.ingest.sequencer import Sequencer
from longwire.ingest.storing import store_service_events
from longwire.model import ChannelPurpose
from longwire.notifications.sending import ContactPointHandler, NotificationHandler
from longwire.otel import CollectMetrics, OtelExporter
from longwire.process import maintenance, systemd
from longwire.process.app_config import (
    build_network_apis,
    build_sending_config,
    list_attempt_types,
)
from longwire.process.supervisor import BackgroundTask, Supervisor
from longwire.prometheus import MetricLabels, PrometheusMetrics
from longwire.reports.sending import ReportHandler
from longwire.settings import Settings
from longwire.settings.loading import parse_headers
from longwire.spans import Tracer
from longwire.store.database import Database, NodeRole, Tx
from longwire.store.instance import hold_writer_number
from longwire.web.status_server import StatusServer


class DeliveryProcess:
    """The delivery engine without the API, with health and metrics on a port of their own."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._database = database
        self._stopping = asyncio.Event()
        prometheus = PrometheusMetrics(MetricLabels(attempt_types=list_attempt_types()))
        self._supervisor = Supervisor(self._stopping.set, prometheus)
        self._otel = open_otel(settings, database)
        tracer = self._otel.tracer if self._otel is not None else None
        stack = DeliveryStack(settings, database, prometheus, NodeRole.DELIVER, tracer)
        self._engine = stack.engine
        self._endpoints = endpoints = ServiceEndpoints(
            database,
            None,
            self._engine,
            prometheus,
            failing_tasks=self._supervisor.list_failing_critical,
            data_folder=None if settings.database else settings.data,
            metrics_token=settings.metrics_token,
            metrics_connectors_max=settings.fixed.metrics_connectors_max,
            standbys_min=settings.database_standbys_min,
        )
        self._status_server = StatusServer(endpoints.status_routes())

    def stop(self) -> None:
        self._stopping.set()

    async def run(self, listener: socket.socket | None) -> None:
        """Deliver until stopped, or until the database fails."""
        tasks = [
            BackgroundTask("delivery engine", self._engine.run, is_critical=True),
            *list_database_tasks(self._database),
        ]
        watchdog_s = systemd.get_watchdog_interval_s()
        if watchdog_s is not None:
            tasks.append(BackgroundTask("watchdog", partial(notify_watchdog, watchdog_s)))
        if listener is not None:
            # Each run gets its own duplicate: the server closes its socket when it ends.
            tasks.append(
                BackgroundTask("status server", lambda: self._status_server.serve(listener.dup()))
            )
        otel, collect = self._otel, self._endpoints.collect_metrics
        if otel is not None:
            tasks.append(build_otel_task(otel, collect))
        async with self._supervisor.run(tasks):
            await self._stopping.wait()
        if otel is not None:
            await otel.close(collect)


class DeliveryStack:
    """What both processes need to send: sequence numbers, dispatch and the delivery engine."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        prometheus: PrometheusMetrics,
        role: NodeRole,
        tracer: Tracer | None,
    ) -> None:
        self.writer = hold_writer_number(database, role)
        self.egress = Egress(
            [str(network) for network in settings.egress_allow],
            connections_max=settings.fixed.attempts_in_flight_max,
            proxies=_list_proxies(settings),
        )
        self.sequencer = Sequencer(self.writer, prometheus.count_stored)
        self.budgets = ComputeBudgets(
            database.context.clock,
            ms_per_s=settings.compute_ms_per_group_per_s,
            burst_ms=round(settings.compute_ms_per_group_per_s * settings.fixed.compute_burst_s),
        )
        self.sending_config = build_sending_config(settings)
        self.change_forwarder = ChangeForwarder(
            self.writer,
            self.sequencer.take,
            self.budgets,
            lambda numbers: self.engine.wake_threadsafe(numbers),
        )
        database.context.forward_changes = self.change_forwarder.forward
        apis = build_network_apis(settings)
        self.network_queues = NetworkQueues(apis, self.egress)
        self.dispatch = _build_dispatch(
            self.sequencer, apis, lambda numbers: self.engine.wake_threadsafe(numbers)
        )
        self.queue_watch = QueueWatch(database, self.dispatch, self.network_queues)
        self.engine = Engine(
            database,
            self.writer,
            self.egress,
            handlers={
                ChannelPurpose.CONNECTOR: ConnectorHandler(
                    keeps_exchanges=settings.trace_keep_hours > 0
                ),
                **network_channels.network_handlers(database, self.dispatch, apis),
                ChannelPurpose.NOTIFICATION: NotificationHandler(database, self.sending_config),
                ChannelPurpose.CONTACT_POINT: ContactPointHandler(database, self.sending_config),
                ChannelPurpose.MAIL: MailHandler(self.sending_config.mail),
                ChannelPurpose.REPORT: ReportHandler(database, self.sending_config.mail),
            },
            in_flight_max=settings.delivery_in_flight_max,
            attempts_in_flight_max=settings.fixed.attempts_in_flight_max,
            budgets=self.budgets,
            resend_per_s=settings.fixed.resend_per_s,
            on_attempt=prometheus.observe_attempt,
            tracer=tracer,
        )


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


def _list_proxies(settings: Settings) -> list[Proxy]:
    """The operator's own, if there is one."""
    url = settings.egress_proxy
    return [parse_proxy(url, is_operators=True)] if url else []


def open_otel(settings: Settings, database: Database) -> OtelExporter | None:
    """What exports traces and metrics; nothing of it is loaded unless it is wanted."""
    if not settings.otel_endpoint:
        return None
    opened: OtelExporter = extras.load("otel", "longwire.otel.export").OtlpExporter(
        settings.otel_endpoint,
        parse_headers(settings.otel_headers),
        sample_ratio=settings.otel_sample_ratio,
        started_at=database.context.clock.now(),
    )
    return opened


def build_otel_task(otel: OtelExporter, collect: CollectMetrics) -> BackgroundTask:
    return BackgroundTask("otel", partial(otel.run, collect))


async def notify_watchdog(interval_s: float) -> None:
    """Say that the event loop turns, until it does not."""
    while True:
        systemd.notify_alive()
        await asyncio.sleep(interval_s)


def list_database_tasks(database: Database) -> list[BackgroundTask]:
    return [
        BackgroundTask(
            "database watcher", partial(maintenance.watch_database, database), is_fatal=True
        ),
        BackgroundTask(
            "epoch watcher", partial(maintenance.watch_cache_epochs, database), is_critical=True
        ),
        BackgroundTask("write probe", partial(maintenance.probe_writes, database)),
    ]
