"""What the service counts about itself, in the form that Prometheus reads."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from longwire.clock import SECOND
from longwire.store.database import Database
from longwire.store.deliveries import Backlog

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Instruments:
    def __init__(self, *, shares_counters: bool = False) -> None:
        """Worker processes share their counters through files, so that any of them tells all."""
        self._shares_counters = shares_counters
        self.registry = CollectorRegistry()
        # One histogram tells both how many and how fast; a counter beside it would cost every
        # request a second time.
        self._requests = Histogram(
            "longwire_request_seconds",
            "Requests, by the time from their first byte to their answer",
            ["method", "path", "status"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._waiting = Gauge(
            "longwire_database_waiting",
            "Works that wait for the database",
            ["lane"],
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self._records_waiting = Gauge(
            "longwire_ingest_waiting_records",
            "Records that wait to be stored",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self._healthy = Gauge(
            "longwire_healthy",
            "1 while the service can do its work",
            registry=self.registry,
            # What the worker that is asked finds; the others have set theirs long ago, or never.
            multiprocess_mode="livemostrecent",
        )
        self._tries = Histogram(
            "longwire_delivery_try_seconds",
            "Tries to deliver a message or a batch, by how they ended and how long they took",
            ["type", "outcome"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._deliveries = Gauge(
            "longwire_deliveries",
            "Messages that wait to be delivered, are on their way, or are kept after they failed",
            ["state"],
            registry=self.registry,
            multiprocess_mode="livemostrecent",
        )
        self._oldest = Gauge(
            "longwire_delivery_oldest_seconds",
            "How long the oldest message that is not delivered yet has been waiting",
            registry=self.registry,
            multiprocess_mode="livemostrecent",
        )
        self._nonsense = Counter(
            "longwire_network_nonsense",
            "Messages of networks that were refused because they made no sense",
            ["network"],
            registry=self.registry,
        )
        self._undecoded = Counter(
            "longwire_network_undecoded",
            "Messages of networks that the decoder of the device's type could not read",
            ["type"],
            registry=self.registry,
        )
        self._published = Counter(
            "longwire_mqtt_messages",
            "Messages of the broker, by what became of them",
            ["outcome"],
            registry=self.registry,
        )
        self._listening = Gauge(
            "longwire_mqtt_listening",
            "1 while a process listens to the broker",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        # Looking a label up costs more than counting, so what was looked up is kept.
        self._known: dict[tuple[str, str, int], Histogram] = {}

    def answered(self, path: str, method: str, status: int, seconds: float) -> None:
        known = self._known.get((path, method, status))
        if known is None:
            known = self._requests.labels(method, path, str(status))
            self._known[(path, method, status)] = known
        known.observe(seconds)

    def nonsense(self, network: str) -> None:
        """A message of a network was not understood."""
        self._nonsense.labels(network).inc()

    def undecoded(self, device_type: str) -> None:
        """A message was stored whose payload could not be decoded."""
        self._undecoded.labels(device_type).inc()

    def published(self, outcome: str) -> None:
        """Something became of a message of the broker."""
        self._published.labels(outcome).inc()

    def listening(self, is_listening: bool) -> None:
        self._listening.set(int(is_listening))

    def tried(self, kind: str, outcome: str, seconds: float) -> None:
        self._tries.labels(kind, outcome).observe(seconds)

    def text(
        self,
        database: Database,
        *,
        records_waiting: int,
        is_ready: bool,
        backlog: Backlog | None,
    ) -> bytes:
        if backlog is not None:
            self._deliveries.labels("queued").set(backlog.queued)
            self._deliveries.labels("sending").set(backlog.leased)
            self._deliveries.labels("failed").set(backlog.failed)
            age = 0 if backlog.oldest is None else database.tools.clock.now() - backlog.oldest
            self._oldest.set(max(0, age) / SECOND)
        self._records_waiting.set(records_waiting)
        for lane, waiting in database.waiting.items():
            self._waiting.labels(lane).set(waiting)
        self._healthy.set(int(is_ready))
        if self._shares_counters:
            everyone = CollectorRegistry()
            MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]
            return generate_latest(everyone)
        return generate_latest(self.registry)
