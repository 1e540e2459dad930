"""The service's own metrics, in the text format of Prometheus."""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from longwire.clock import SECOND
from longwire.store.database import Database
from longwire.store.deliveries import Backlog

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class PrometheusMetrics:
    def __init__(self, *, shares_counters: bool = False) -> None:
        """With `shares_counters`, worker processes share them through files (multiprocess mode)."""
        self._shares_counters = shares_counters
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        histogram = partial(Histogram, buckets=_SECONDS, registry=self.registry)
        total = partial(Gauge, registry=self.registry, multiprocess_mode="livesum")
        # Only the process that is scraped has just evaluated these.
        latest = partial(Gauge, registry=self.registry, multiprocess_mode="livemostrecent")
        # The histogram has a count, too; a separate counter would cost every request twice.
        self._requests = histogram(
            "longwire_request_seconds",
            "Duration of requests, from the parsed head to the response",
            ["method", "path", "status"],
        )
        self._database_queue = total(
            "longwire_database_queued", "Transactions that wait for a database worker", ["queue"]
        )
        self._queued_records = total(
            "longwire_ingest_queued_records", "Records in the ingest queue"
        )
        self._healthy = latest("longwire_healthy", "1 while /health/ready responds 200")
        self._attempts = histogram(
            "longwire_delivery_attempt_seconds",
            "Duration of attempts to deliver a message or a batch, by outcome",
            ["type", "outcome"],
        )
        self._deliveries = latest(
            "longwire_deliveries", "Messages that are queued, in flight, or dead letters", ["state"]
        )
        self._oldest = latest(
            "longwire_delivery_oldest_seconds",
            "Age of the oldest message that is neither delivered nor failed",
        )
        self._messages_rejected = counter(
            "longwire_network_messages_rejected",
            "Messages of networks that were rejected as invalid",
            ["network"],
        )
        self._decode_failures = counter(
            "longwire_network_decode_failures",
            "Payloads that the decoder of the device type failed to decode",
            ["type"],
        )
        self._mqtt_messages = counter(
            "longwire_mqtt_messages",
            "Messages received from the MQTT broker, by outcome",
            ["outcome"],
        )
        self._mqtt_connected = total(
            "longwire_mqtt_connected", "1 while a process is subscribed at the MQTT broker"
        )
        self._task_failures = counter(
            "longwire_background_task_failures",
            "Failures of background tasks, each followed by a restart or the end of the process",
            ["task"],
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

    def observe_response(self, path: str, method: str, status: int, seconds: float) -> None:
        child = self._children.get((path, method, status))
        if child is None:
            child = self._requests.labels(method, path, str(status))
            self._children[(path, method, status)] = child
        child.observe(seconds)

    def count_rejected_connection(self) -> None:
        self._connections_rejected.inc()

    def count_rejected_message(self, network: str) -> None:
        self._messages_rejected.labels(network).inc()

    def count_decode_failure(self, device_type: str) -> None:
        self._decode_failures.labels(device_type).inc()

    def count_mqtt_message(self, outcome: str) -> None:
        self._mqtt_messages.labels(outcome).inc()

    def set_mqtt_connected(self, is_connected: bool) -> None:
        self._mqtt_connected.set(int(is_connected))

    def count_task_failure(self, task: str) -> None:
        self._task_failures.labels(task).inc()

    def set_failing_tasks(self, number: int) -> None:
        self._failing_tasks.set(number)

    def observe_attempt(self, kind: str, outcome: str, seconds: float) -> None:
        self._attempts.labels(kind, outcome).observe(seconds)

    def render(
        self, database: Database, *, queued_records: int, is_ready: bool, backlog: Backlog | None
    ) -> bytes:
        if backlog is not None:
            self._deliveries.labels("queued").set(backlog.queued)
            self._deliveries.labels("sending").set(backlog.leased)
            self._deliveries.labels("failed").set(backlog.failed)
            age = 0 if backlog.oldest is None else database.context.clock.now() - backlog.oldest
            self._oldest.set(max(0, age) / SECOND)
        self._queued_records.set(queued_records)
        for queue, waiting in database.waiting.items():
            self._database_queue.labels(queue).set(waiting)
        self._healthy.set(int(is_ready))
        if self._shares_counters:
            combined = CollectorRegistry()
            MultiProcessCollector(combined)  # type: ignore[no-untyped-call]
            return generate_latest(combined)
        return generate_latest(self.registry)
