"""The service's own metrics, in the text format of Prometheus."""

import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from longwire import __version__
from longwire.clock import SECOND, Moment
from longwire.dataclass import dataclass
from longwire.delivery.connectors.backlogs import ConnectorBacklog
from longwire.fleet.unknown_devices import MessageCounts
from longwire.records import KIND_NAMES
from longwire.store.database import Cluster, Database, StandbyStatus
from longwire.store.delivery.backlogs import Backlog, SlotBacklog
from longwire.store.fleet.unknown_devices import UnknownReason

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SHARED_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_OUTCOMES = ("delivered", "refused", "unreachable")
_SERVER_ERRORS = ("500", "503")
_WORKER_FILE = re.compile(r"counter_(\d+)\.db")


@dataclass(frozen=True, slots=True)
class DatabaseStats:
    """What is read from the database for metrics."""

    backlog: Backlog
    connectors: Sequence[ConnectorBacklog]
    slots: Sequence[SlotBacklog]  # none where there is only one
    database_bytes: int
    disk_free_bytes: int | None  # where the database is embedded
    unknown_devices: Mapping[UnknownReason, int] = field(default_factory=dict)
    alarms: Mapping[str, int] = field(default_factory=dict)  # open ones by severity


@dataclass(frozen=True, slots=True)
class CollectedMetrics:
    """The metrics of one process at a moment."""

    at: Moment
    families: Sequence[Metric]


@dataclass(frozen=True, slots=True)
class MetricLabels:
    """The values of labels that are known at the start.

    Counters with them begin at 0: `rate` does not see a counter that begins at 1.
    """

    attempt_types: Iterable[str] = ()
    networks: Iterable[str] = ()
    mqtt_outcomes: Iterable[str] = ()  # none without a broker


NO_LABELS = MetricLabels()


class PrometheusMetrics:
    def __init__(self, labels: MetricLabels = NO_LABELS, *, shares_counters: bool = False) -> None:
        """With `shares_counters`, worker processes share them through files (multiprocess mode)."""
        self._shares_counters = shares_counters
        self.registry = CollectorRegistry()
        self._snapshot = _Snapshot()
        self._process = _open_process_collector(shares_counters)
        counter = partial(Counter, registry=self.registry)
        histogram = partial(Histogram, buckets=_SECONDS, registry=self.registry)
        total = partial(Gauge, registry=self.registry, multiprocess_mode="livesum")
        # The histogram has a count, too; a separate counter would cost every request twice.
        self._requests = histogram(
            "longwire_request_seconds",
            "Duration of requests, from the parsed head to the response; those without a route have"
            " the path -",
            ["method", "path", "status"],
        )
        self._server_errors = counter(
            "longwire_server_errors", "Responses with a status of 500 or above", ["status"]
        )
        self._records_stored = counter(
            "longwire_records_stored",
            "Records that were stored, without duplicates: data, event, geoloc, telemetry",
            ["kind"],
        )
        self._database_queue = total(
            "longwire_database_queued",
            "Transactions that wait for a database worker, to read or to write",
            ["queue"],
        )
        self._queued_records = total(
            "longwire_ingest_queued_records", "Records in the ingest queue"
        )
        self._attempt_seconds = histogram(
            "longwire_delivery_attempt_seconds",
            "Duration of attempts to deliver a message or a batch: delivered, refused (an error"
            " response) or unreachable",
            ["type", "outcome"],
        )
        self._attempts = counter(
            "longwire_delivery_attempts",
            "Attempts to deliver a message or a batch, with the same outcomes",
            ["type", "outcome"],
        )
        self._messages_rejected = counter(
            "longwire_network_messages_rejected",
            "Messages of networks that were rejected as invalid, and lost",
            ["network"],
        )
        self._decode_failures = counter(
            "longwire_network_decode_failures",
            "Payloads that the decoder of the device type failed to decode; the records are stored"
            " without values",
            ["type"],
        )
        self._unknown_device_messages = counter(
            "longwire_unknown_device_messages",
            "Messages that came with the token of a group and were not stored, or without values:"
            " the device is unknown, its id malformed, it is in other_group, or the message was"
            " rejected; the network api has records that app clients have posted",
            ["network", "reason"],
        )
        self._task_failures = counter(
            "longwire_background_task_failures",
            "Failures of background tasks, each followed by a restart with backoff or by the end of"
            " the process",
            ["task"],
        )
        self._live_listeners = total(
            "longwire_live_listeners", "Clients that follow what arrives, at GET /live"
        )
        self._summaries_behind = total(
            "longwire_summaries_behind_seconds",
            "How long the present round of summaries has taken, which makes what was due when it"
            " began; 0 between rounds",
        )
        self._failing_tasks = total(
            "longwire_background_tasks_failing",
            "Background tasks that failed and are waiting for their restart",
        )
        self._connections_rejected = counter(
            "longwire_connections_rejected",
            "Connections of clients that exceeded connections_max or connections_per_address_max",
        )
        # Looking up labels costs more than observing, so the children are cached.
        self._children: dict[tuple[str, str, int], Histogram] = {}
        self._attempt_children: dict[tuple[str, str], tuple[Histogram, Counter]] = {}
        self._stored_by_kind = [self._records_stored.labels(kind) for kind in KIND_NAMES]
        self._mqtt = _open_mqtt_metrics(self.registry, labels)
        self._initialize(labels)

    def _initialize(self, labels: MetricLabels) -> None:
        if not self._shares_counters:
            self.registry.register(self._snapshot)
            self.registry.register(self._process)
        for status in _SERVER_ERRORS:
            self._server_errors.labels(status)
        for each in labels.attempt_types:
            for outcome in _OUTCOMES:
                self._attempts.labels(each, outcome)
        for network in labels.networks:
            self._messages_rejected.labels(network)
        for outcome in labels.mqtt_outcomes:
            self.count_mqtt_message(outcome, 0)

    def observe_response(self, path: str, method: str, status: int, seconds: float) -> None:
        child = self._children.get((path, method, status))
        if child is None:
            child = self._requests.labels(method, path, str(status))
            self._children[(path, method, status)] = child
        child.observe(seconds)
        if status >= 500:
            self._server_errors.labels(str(status)).inc()

    def count_stored(self, counts: Mapping[int, int]) -> None:
        """Count records that were committed, by the number of their kind."""
        for kind, count in counts.items():
            self._stored_by_kind[kind].inc(count)

    def count_rejected_connection(self) -> None:
        self._connections_rejected.inc()

    def count_rejected_message(self, network: str) -> None:
        self._messages_rejected.labels(network).inc()

    def count_decode_failure(self, device_type: str) -> None:
        self._decode_failures.labels(device_type).inc()

    def count_unknown_device_messages(self, counts: MessageCounts) -> None:
        for (network, reason), count in counts.items():
            self._unknown_device_messages.labels(network or "api", reason.value).inc(count)

    def count_mqtt_message(self, outcome: str, count: int = 1) -> None:
        if self._mqtt is not None:
            self._mqtt.messages.labels(outcome).inc(count)

    def set_mqtt_connected(self, is_connected: bool) -> None:
        if self._mqtt is not None:
            self._mqtt.connected.set(int(is_connected))

    def register_task(self, task: str) -> None:
        self._task_failures.labels(task)

    def count_task_failure(self, task: str) -> None:
        self._task_failures.labels(task).inc()

    def set_live_listeners(self, number: int) -> None:
        self._live_listeners.set(number)

    def set_summaries_behind(self, seconds: float) -> None:
        self._summaries_behind.set(seconds)

    def set_failing_tasks(self, number: int) -> None:
        self._failing_tasks.set(number)

    def observe_attempt(self, kind: str, outcome: str, seconds: float) -> None:
        children = self._attempt_children.get((kind, outcome))
        if children is None:
            labels = kind, outcome
            children = self._attempt_seconds.labels(*labels), self._attempts.labels(*labels)
            self._attempt_children[labels] = children
        attempt_seconds, attempts = children
        attempt_seconds.observe(seconds)
        attempts.inc()

    def update(
        self,
        database: Database,
        *,
        queued_records: int,
        is_ready: bool,
        stats: DatabaseStats | None,
    ) -> None:
        """Set what is not counted but looked up; without `stats`, the last ones stay."""
        snapshot = self._snapshot
        snapshot.now = database.context.clock.now()
        snapshot.engine_name = database.engine_name
        snapshot.is_ready = is_ready
        snapshot.cluster, snapshot.has_lease = database.cluster, database.held_since is not None
        self.set_standby_status(database.standby_status)
        snapshot.stats = stats or snapshot.stats
        self._queued_records.set(queued_records)
        for queue, waiting in database.waiting.items():
            self._database_queue.labels(queue).set(waiting)

    def set_standby_status(self, standby: StandbyStatus | None) -> None:
        self._snapshot.standby = standby

    def render(self) -> bytes:
        """The text for a scrape; with the counters of all worker processes."""
        if not self._shares_counters:
            return generate_latest(self.registry)
        combined = CollectorRegistry()
        MultiProcessCollector(combined)  # type: ignore[no-untyped-call]
        combined.register(self._snapshot)
        combined.register(self._process)
        return generate_latest(combined)

    def collect(self) -> CollectedMetrics:
        """The same as values; with the counters of this process alone."""
        families = list(self.registry.collect())
        if self._shares_counters:
            families += [*self._snapshot.collect(), *_this_process().collect()]
        return CollectedMetrics(self._snapshot.now, families)


class _MqttMetrics:
    """Only with a broker: a connection that is never wanted must not look lost."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.messages = Counter(
            "longwire_mqtt_messages",
            "Messages received from the MQTT broker: stored; dropped as unknown_token,"
            " unknown_device, invalid, too_large or limit_reached; retained, from before the"
            " subscription; failed, which is worth a report. What the broker sends again counts"
            " again",
            ["outcome"],
            registry=registry,
        )
        self.connected = Gauge(
            "longwire_mqtt_connected",
            "1 while a process is subscribed at the MQTT broker; only with mqtt_url",
            registry=registry,
            multiprocess_mode="livesum",
        )


def _open_mqtt_metrics(registry: CollectorRegistry, labels: MetricLabels) -> _MqttMetrics | None:
    return _MqttMetrics(registry) if labels.mqtt_outcomes else None


@dataclass(slots=True, eq=False)
class _Snapshot(Collector):
    """What the process that is scraped has just read, about the whole service."""

    now: Moment = 0
    engine_name: str = ""
    is_ready: bool = False
    cluster: Cluster = field(default_factory=partial(Cluster, 0))
    has_lease: bool = False
    standby: StandbyStatus | None = None
    stats: DatabaseStats | None = None
    _build: tuple[str, ...] = field(default=(__version__, platform.python_version()))

    def collect(self) -> Iterator[Metric]:
        yield _gauge("longwire_healthy", "1 while /health/ready responds 200", int(self.is_ready))
        build = GaugeMetricFamily(
            "longwire_build_info", "Always 1", labels=("version", "python", "database")
        )
        build.add_metric((*self._build, self.engine_name), 1)
        yield build
        yield from _describe_cluster(self.cluster, self.has_lease)
        if self.standby is not None:
            yield from _describe_standby(self.standby)
        if self.stats is not None:
            yield from _describe_backlog(self.stats.backlog, self.now)
            yield from _describe_connectors(self.stats.connectors)
            yield from _describe_slots(self.stats.slots, self.now)
            yield from _describe_disk(self.stats)
            yield _describe_unknown_devices(self.stats.unknown_devices)
            yield _describe_alarms(self.stats.alarms)


def _describe_cluster(cluster: Cluster, has_lease: bool) -> Iterator[Metric]:
    yield _gauge("longwire_nodes", "Processes with a valid lease", len(cluster.roles))
    yield _gauge("longwire_node_lease_held", "1 while this process has its lease", int(has_lease))
    yield _gauge("longwire_standbys", "Synchronous standbys of PostgreSQL", cluster.standbys or 0)
    yield _gauge(
        "longwire_commit_wait_seconds",
        "How long a commit has waited for a standby, at most",
        cluster.commit_wait_s,
    )


def _describe_standby(status: StandbyStatus) -> Iterator[Metric]:
    yield _gauge(
        "longwire_read_standby_up",
        "1 while reads go to a standby, 0 while it is unreachable or behind; only with"
        " database_read_standbys",
        int(status.state == "ok"),
    )
    yield _gauge(
        "longwire_read_standby_lag_seconds",
        "How old the last transaction is that this standby has replayed, if there are newer ones",
        status.lag_s,
    )
    reads = CounterMetricFamily(
        "longwire_read_standby_reads",
        "Reads of this process that may lag: served by a standby, or declined and served by the"
        " primary",
        labels=("outcome",),
    )
    reads.add_metric(("served",), status.served)
    reads.add_metric(("declined",), status.declined)
    yield reads


def _describe_backlog(backlog: Backlog, now: Moment) -> Iterator[Metric]:
    deliveries = GaugeMetricFamily(
        "longwire_deliveries",
        "Messages that are queued, sending (in flight) or failed (dead letters)",
        labels=("state",),
    )
    deliveries.add_metric(("queued",), backlog.queued)
    deliveries.add_metric(("sending",), backlog.leased)
    deliveries.add_metric(("failed",), backlog.failed)
    yield deliveries
    age = 0 if backlog.oldest is None else max(0, now - backlog.oldest)
    yield _gauge(
        "longwire_delivery_oldest_seconds",
        "Age of the oldest message that is neither delivered nor failed",
        age / SECOND,
    )


def _describe_connectors(connectors: Sequence[ConnectorBacklog]) -> Iterator[Metric]:
    labels = ("connector", "type")
    queued = GaugeMetricFamily(
        "longwire_connector_queued", "Messages of a connector, queued or in flight", labels=labels
    )
    dead_letters = GaugeMetricFamily(
        "longwire_connector_dead_letters", "Dead letters of a connector", labels=labels
    )
    failures = GaugeMetricFamily(
        "longwire_connector_failures", "Attempts of a connector that failed in a row", labels=labels
    )
    for each in connectors:
        queued.add_metric((each.id, each.type), each.queued)
        dead_letters.add_metric((each.id, each.type), each.dead_letters)
        failures.add_metric((each.id, each.type), each.failures)
    yield from (queued, dead_letters, failures)


def _describe_slots(slots: Sequence[SlotBacklog], now: Moment) -> Iterator[Metric]:
    queued = GaugeMetricFamily(
        "longwire_slot_queued", "Messages that are queued in a slot", labels=("slot",)
    )
    lag = GaugeMetricFamily(
        "longwire_slot_lag_seconds",
        "For how long a slot has had a due message for an enabled channel, 0 if none",
        labels=("slot",),
    )
    for each in slots:
        queued.add_metric((str(each.slot),), each.queued)
        due_for = 0 if each.due_at is None else max(0, now - each.due_at)
        lag.add_metric((str(each.slot),), due_for / SECOND)
    yield from (queued, lag)


def _describe_disk(stats: DatabaseStats) -> Iterator[Metric]:
    yield _gauge(
        "longwire_database_bytes",
        "Size of the database, on SQLite without the write-ahead log",
        stats.database_bytes,
    )
    if stats.disk_free_bytes is not None:
        yield _gauge(
            "longwire_disk_free_bytes",
            "Free space on the disk of the embedded database; not with PostgreSQL",
            stats.disk_free_bytes,
        )


def _describe_unknown_devices(counts: Mapping[UnknownReason, int]) -> Metric:
    devices = GaugeMetricFamily(
        "longwire_unknown_devices",
        "Ids that such messages of the last days were about, by the reason of the last one",
        labels=("reason",),
    )
    for reason in UnknownReason:
        devices.add_metric((reason.value,), counts.get(reason, 0))
    return devices


def _describe_alarms(counts: Mapping[str, int]) -> Metric:
    alarms = GaugeMetricFamily(
        "longwire_alarms_open",
        "Alarms that are raised and not resolved, acknowledged or not",
        labels=("severity",),
    )
    for severity in ("info", "warning", "critical"):
        alarms.add_metric((severity,), counts.get(severity, 0))
    return alarms


def _gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(name, documentation, value)


# --- the process itself ---


def _open_process_collector(shares_counters: bool) -> Collector:
    return _WorkerProcesses() if shares_counters else _this_process()


def _this_process() -> Collector:
    return ProcessCollector(registry=None)


class _WorkerProcesses(Collector):
    """All workers together, known by their files of counters."""

    def collect(self) -> Iterator[Metric]:
        summed: dict[str, Metric] = {}
        for pid in self._list_workers():
            for metric in ProcessCollector(pid=partial(int, pid), registry=None).collect():
                found = summed.setdefault(metric.name, metric)
                if found is not metric:
                    _merge_process_metric(found, metric)
        yield from summed.values()

    def _list_workers(self) -> list[int]:
        names = os.listdir(os.environ[SHARED_FOLDER_VARIABLE])
        pids = {int(found[1]) for name in names if (found := _WORKER_FILE.fullmatch(name))}
        return sorted(pid for pid in pids if Path(f"/proc/{pid}").exists())


def _merge_process_metric(total: Metric, other: Metric) -> None:
    values = (total.samples[0].value, other.samples[0].value)
    # The start and the limit are of each process, not of all of them.
    is_own = total.name in ("process_start_time_seconds", "process_max_fds")
    total.samples[0] = total.samples[0]._replace(value=min(values) if is_own else sum(values))
