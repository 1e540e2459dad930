"""OpenTelemetry: a trace from the callback to the attempt, metrics, a collector that fails."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from longwire.delivery.connectors import replays
from longwire.delivery.engine import engine
from longwire.fleet import downlink_grants
from longwire.model import SYSTEM
from longwire.otel import export
from longwire.spans import TraceContext, format_traceparent, parse_traceparent
from tests.delivery.brokers import Nats, running
from tests.delivery.receiver import HANG, Receiver, StubResponse
from tests.faults.test_delivery_crashes import Delivering
from tests.inbound.test_mqtt_listener import Place, Site, listens, outcomes
from tests.waiting import PATIENCE_S, eventually
from tests.world import Person, World, ok, record_of

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE_ID}-{CALLER}-01"
SERVER, CLIENT, CONSUMER = 2, 3, 5
ERROR = 2

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
MakeWorld = Callable[..., World]


class Collector(Receiver):
    """Takes OTLP over HTTP."""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def resources(self) -> list[dict[str, Any]]:
        return [attributes(each.resource) for each in self._decode("/v1/traces")]

    @property
    def spans(self) -> list[Any]:
        return [
            span
            for resource in self._decode("/v1/traces")
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def metrics(self) -> dict[str, Any]:
        """The last ones, by name."""
        (resource,) = self._decode("/v1/metrics")[-1:]
        return {metric.name: metric for scope in resource.scope_metrics for metric in scope.metrics}

    def _decode(self, path: str) -> list[Any]:
        bodies = [each.body for each in list(self.requests) if each.path == path]
        if path == "/v1/traces":
            requests = [ExportTraceServiceRequest.FromString(each) for each in bodies]
            return [resource for each in requests for resource in each.resource_spans]
        decoded = [ExportMetricsServiceRequest.FromString(each) for each in bodies]
        return [resource for each in decoded for resource in each.resource_metrics]


def attributes(of: Any) -> dict[str, Any]:
    found = {}
    for each in of.attributes:
        kind = each.value.WhichOneof("value")
        found[each.key] = getattr(each.value, kind)
    return found


@pytest.fixture(autouse=True)
def patient_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent at the end of a world arrives, however slow the machine is."""
    monkeypatch.setattr(export, "FLUSH_TIMEOUT_S", PATIENCE_S)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as started:
        yield started


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as started:
        yield started


def vendor_device(ada: Person, group: str) -> dict[str, str]:
    """The headers that its network sends, for a device of the group."""
    ada.device(group, name="crane", network="vendor", originalId="1FD48BE")
    token = ok(ada.get("/group", groupId=group))[0]["token"]
    return {"Authorization": f"Bearer {token}", "traceparent": TRACEPARENT}


def call_back(world: World, headers: dict[str, str], number: int = 1) -> None:
    message = {"deviceId": "1FD48BE", "time": 1_653_666_733, "data": "0a", "seqNumber": number}
    ok(world.http.post("/network/vendor/data?note=secret", json=message, headers=headers))


def test_one_trace_leads_from_the_callback_to_an_attempt_of_another_process(
    collector: Collector, receiver: Receiver, make_world: MakeWorld
) -> None:
    world = make_world(otel_endpoint=f"{collector.endpoint}/", otel_headers="x-key=a%20b")
    ada = world.person("ada")
    group = ada.group()
    network = vendor_device(ada, group)
    connector = ada.connector(group, receiver.url, retryPolicy={"maxRetry": 5, "retryDelay": 60})
    receiver.respond_with(503, 200)
    call_back(world, network)
    receiver.wait_for(1)

    world.restart()
    world.clock.let_pass(seconds=600)
    _, delivered = receiver.wait_for(2)
    world.restart()

    mine = [span for span in collector.spans if span.trace_id.hex() == TRACE_ID]
    (request,) = (span for span in mine if span.kind == SERVER)
    (commit,) = (span for span in mine if span.name == "store records")
    first, second = sorted(
        (span for span in mine if span.kind == CLIENT), key=lambda span: span.start_time_unix_nano
    )
    assert len(mine) == 4
    assert request.name == "POST /network/vendor/data"
    assert request.parent_span_id.hex() == CALLER
    assert {span.parent_span_id for span in (commit, first, second)} == {request.span_id}
    known = attributes(request)
    assert known.pop("longwire.request_id")
    assert known == {
        "http.request.method": "POST",
        "http.route": "/network/vendor/data",
        "http.response.status_code": 200,
    }
    assert attributes(commit) == {"longwire.requests": 1, "longwire.records": 1}
    assert attributes(first) == {
        "longwire.channel.id": connector,
        "longwire.channel.purpose": "connector",
        "longwire.messages": 1,
        "longwire.attempt": 1,
        "longwire.outcome": "refused",
        "error.type": "rejected",
        "http.response.status_code": 503,
    }
    assert (first.status.code, second.status.code) == (ERROR, 0)
    assert attributes(second)["longwire.outcome"] == "delivered"
    assert attributes(second)["longwire.attempt"] == 2
    # The receiver continues it.
    assert delivered.headers["traceparent"] == f"00-{TRACE_ID}-{second.span_id.hex()}-01"
    # Two processes; neither says more than it should.
    assert len({each["service.instance.id"] for each in collector.resources}) == 2
    assert {each["service.name"] for each in collector.resources} == {"longwire"}
    assert {each.headers["x-key"] for each in collector.requests} == {"a b"}
    exported = b"".join(collector.bodies)
    for secret in (network["Authorization"].split()[1], "secret", "1FD48BE", "127.0.0.1:"):
        assert secret.encode() not in exported


@pytest.mark.slow
@on_sqlite
def test_a_process_that_only_delivers_continues_the_trace(
    collector: Collector, receiver: Receiver, make_world: MakeWorld
) -> None:
    world = make_world(otel_endpoint=collector.endpoint, delivery=False)
    ada = world.person("ada")
    group = ada.group()
    ada.connector(group, receiver.url)
    call_back(world, vendor_device(ada, group))
    world.stop()
    try:
        delivering = Delivering(world.settings, "--otel-endpoint", collector.endpoint)
        receiver.wait_for(1)
        assert delivering.stop() == 0
    finally:
        delivering.clean_up()
        world.start()
    mine = [span for span in collector.spans if span.trace_id.hex() == TRACE_ID]
    (request,) = (span for span in mine if span.kind == SERVER)
    (attempt,) = (span for span in mine if span.kind == CLIENT)
    assert attempt.parent_span_id == request.span_id
    assert len({each["service.instance.id"] for each in collector.resources}) == 2
    points = collector.metrics["longwire_delivery_attempts"].sum.data_points
    known = [(attributes(point), point.as_double) for point in points]
    assert ({"type": "http", "outcome": "delivered"}, 1) in known


@on_sqlite
def test_requests_are_traced_whichever_way_they_are_handled(
    collector: Collector, receiver: Receiver, make_world: MakeWorld
) -> None:
    with Receiver(StubResponse(body=b'{"id":"1"}')) as network:
        check_spans_of_all_ways(collector, receiver, network, make_world)


def check_spans_of_all_ways(
    collector: Collector, receiver: Receiver, network: Receiver, make_world: MakeWorld
) -> None:
    api = {"chirpstack_api_url": network.url, "chirpstack_api_key": "canary-key"}
    world = make_world(otel_endpoint=collector.endpoint, **api)
    ada = world.person("ada")
    group = ada.group()
    world.write(lambda tx: downlink_grants.allow(tx, SYSTEM, group, "chirpstack"))
    lamp = ada.device(group, network="chirpstack", originalId="0102030405060708")
    ada.notification(group, receiver.url, reason="opened")
    batch = ada.connector(group, receiver.url, params={"batch": 10})
    device = ada.device(group)
    world.http.get("/health/ready")
    sent = {"traceparent": TRACEPARENT}
    for path, body in (
        ("/device/data", record_of(device, "data", reason="opened")),
        ("/device/data/batch", {"items": [record_of(device, "data", data='{"a":1}')]}),
        ("/device/downlink", {"deviceId": lamp, "payload": "00", "port": 1}),
    ):
        ok(ada.request("POST", path, json=body, headers=sent))
    ada.request("GET", "/device", params={"deviceId": "dev_secret"}, headers=sent)

    def has_received_all() -> bool:
        bodies = [each.json for each in list(receiver.requests)]
        alerts = [each for each in bodies if isinstance(each, dict)]
        batches = [each for each in bodies if isinstance(each, list)]
        # An event about the downlink may be among them.
        kinds = [message["kind"] for messages in batches for message in messages]
        return len(alerts) == 1 and kinds.count("data") == 2

    eventually(has_received_all)
    network.wait_for(1)
    world.restart()

    mine = [span for span in collector.spans if span.trace_id.hex() == TRACE_ID]
    requests = {span.name: span for span in mine if span.kind == SERVER}
    causes = {"POST /device/data", "POST /device/data/batch", "POST /device/downlink"}
    assert requests.keys() == {*causes, "GET /device"}
    assert attributes(requests["GET /device"])["http.response.status_code"] == 404
    assert requests["GET /device"].status.code == 0
    attempts = [span for span in mine if span.kind == CLIENT]
    linked = [link.span_id for span in attempts for link in span.links]
    caused = {*(span.parent_span_id for span in attempts), *linked}
    assert caused == {requests[name].span_id for name in causes}
    purposes = {attributes(span)["longwire.channel.purpose"] for span in attempts}
    assert purposes == {"connector", "notification", "network"}
    assert batch in {attributes(span)["longwire.channel.id"] for span in attempts}
    assert all("/health" not in span.name for span in collector.spans)


@on_sqlite
def test_a_hostile_traceparent_changes_nothing_but_the_trace(
    collector: Collector, make_world: MakeWorld
) -> None:
    world = make_world(otel_endpoint=collector.endpoint)
    ada = world.person("ada")
    device = ada.device(ada.group())
    hostile: list[list[tuple[str, Any]]] = [
        [("traceparent", b"00-" + b"g" * 32 + b"-" + b"0" * 16 + b"-01")],
        [("traceparent", b"\xff\xfe\x80")],
        [("traceparent", b"0" * 12_000)],
        [("traceparent", TRACEPARENT), ("traceparent", TRACEPARENT)],
        [("traceparent", TRACEPARENT[:-2] + "00")],  # not sampled, and so not recorded
    ]
    bearer = ("Authorization", f"Bearer {ada.token}")
    for number, headers in enumerate(hostile):
        body = record_of(device, "data", data=f'{{"a":{number}}}')
        ok(world.http.post("/device/data", json=body, headers=[bearer, *headers]))
        ok(world.http.get("/user/me", headers=[bearer, *headers]))
    world.restart()
    named = ("POST /device/data", "GET /user/me")
    spans = [span for span in collector.spans if span.name in named]
    roots = [span for span in spans if not span.parent_span_id]
    assert len(spans) == len(roots) == 2 * (len(hostile) - 1)
    assert len({span.trace_id for span in spans}) == len(spans)
    assert TRACE_ID not in {span.trace_id.hex() for span in spans}


@pytest.mark.parametrize(
    "text, parsed",
    [
        (TRACEPARENT, TraceContext(int(TRACE_ID, 16), int(CALLER, 16), 1)),
        (f"00-{TRACE_ID}-{CALLER}-ff", TraceContext(int(TRACE_ID, 16), int(CALLER, 16), 3)),
        (f"01-{TRACE_ID}-{CALLER}-00-more", TraceContext(int(TRACE_ID, 16), int(CALLER, 16), 0)),
        (f"00-{TRACE_ID}-{CALLER}-01-more", None),
        (f"ff-{TRACE_ID}-{CALLER}-01", None),
        (f"00-{'0' * 32}-{CALLER}-01", None),
        (f"00-{TRACE_ID}-{'0' * 16}-01", None),
        (f"00-{TRACE_ID.upper()}-{CALLER}-01", None),
        (f"{TRACEPARENT}\n", None),
        (f" {TRACEPARENT}", None),
        (f"{TRACEPARENT}, {TRACEPARENT}", None),
        (f"00-{TRACE_ID}-{CALLER}", None),
        ("", None),
    ],
)
def test_traceparent_is_read_by_the_letter(text: str, parsed: TraceContext | None) -> None:
    assert parse_traceparent(text) == parsed
    if parsed is not None:
        assert parse_traceparent(format_traceparent(parsed)) == parsed


@on_sqlite
def test_a_caller_cannot_raise_the_ratio(collector: Collector, make_world: MakeWorld) -> None:
    world = make_world(otel_endpoint=collector.endpoint, otel_sample_ratio=0.5)
    ada = world.person("ada")
    low, high = "1" * 16 + "0" * 15 + "1", "1" * 16 + "f" * 16  # decided by the last 64 bits
    for trace_id in (low, high):
        ada.request("GET", "/user/me", headers={"traceparent": f"00-{trace_id}-{CALLER}-01"})
    world.restart()
    exported = {span.trace_id.hex() for span in collector.spans}
    assert low in exported
    assert high not in exported


@on_sqlite
def test_the_collector_gets_the_metrics_that_are_scraped(
    collector: Collector, make_world: MakeWorld
) -> None:
    world = make_world(otel_endpoint=collector.endpoint, otel_sample_ratio=0)
    ada = world.person("ada")
    device = ada.device(ada.group())
    for number in range(3):
        ada.reports(device, data=f'{{"a":{number}}}')
    scraped = {
        family.name: family
        for family in text_string_to_metric_families(world.http.get("/metrics").text)
        if not family.name.endswith("_created")
    }
    world.restart()

    exported = collector.metrics
    assert exported.keys() == {name for name, family in scraped.items() if family.samples}
    stored = exported["longwire_records_stored"].sum
    assert stored.is_monotonic
    assert {attributes(point)["kind"]: point.as_double for point in stored.data_points} == {
        "data": 3,
        "event": 0,
        "geoloc": 0,
        "telemetry": 0,
    }
    (posts,) = (
        point
        for point in exported["longwire_request_seconds"].histogram.data_points
        if attributes(point) == {"method": "POST", "path": "/device/data", "status": "200"}
    )
    assert (posts.count, sum(posts.bucket_counts)) == (3, 3)
    assert len(posts.bucket_counts) == len(posts.explicit_bounds) + 1
    assert 0 < posts.start_time_unix_nano < posts.time_unix_nano
    assert exported["longwire_healthy"].gauge.data_points
    assert collector.spans == []


OUTAGE = ("otel export failed", "otel export works again")


@pytest.mark.slow
@on_sqlite
def test_a_dead_collector_is_one_line_of_the_log(
    collector: Collector, make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
    # As long as it is retried; and longer than a busy machine takes for an export.
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "5")
    collector.down()
    with structlog.testing.capture_logs() as logged:

        def list_logged(event: str) -> list[Any]:
            return [each for each in list(logged) if each["event"] == event]

        world = make_world(otel_endpoint=collector.endpoint)
        ada = world.person("ada")
        device = ada.device(ada.group())
        for number in range(10):
            ada.reports(device, data=f'{{"a":{number}}}')
        eventually(lambda: bool(list_logged("otel export failed")))
        for number in range(10, 20):
            ada.reports(device, data=f'{{"a":{number}}}')
        collector.up()
        eventually(lambda: bool(list_logged("otel export works again")))
    # A busy machine may be too slow for the time limit: then that is an outage of its own.
    changes = [each["event"] for each in logged if each["event"] in OUTAGE]
    assert changes == [OUTAGE[number % 2] for number in range(len(changes))]
    failed = list_logged("otel export failed")[0]
    assert failed["endpoint"] == collector.endpoint
    assert failed["reason"]
    assert [each for each in logged if each.get("logger", "").startswith("opentelemetry")] == []
    assert len(ada.records(device)) == 20


def test_a_system_that_takes_traces_alone_gets_no_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    def posts_metrics() -> bool:
        exporter = export.OtlpExporter("http://127.0.0.1:9", {}, sample_ratio=0.0, started_at=0)
        return exporter._metric_exporter is not None

    assert posts_metrics()
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    assert not posts_metrics()


@on_sqlite
def test_a_stop_does_not_wait_for_a_collector_that_hangs(
    collector: Collector, make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "FLUSH_TIMEOUT_S", 0.2)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    collector.respond_with(HANG)
    world = make_world(otel_endpoint=collector.endpoint)
    ada = world.person("ada")
    ada.reports(ada.device(ada.group()))
    eventually(lambda: len(collector.requests) > 0)
    world.restart()


@pytest.mark.slow
def test_nothing_of_it_is_loaded_while_it_is_off() -> None:
    code = (
        "import sys, longwire.process.serve, longwire.cli\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'google'))])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


@on_sqlite
def test_a_message_by_mqtt_has_a_trace_of_its_own(
    collector: Collector, receiver: Receiver, make_world: MakeWorld, tmp_path: Path
) -> None:
    with running(Nats(tmp_path)) as broker:
        place = Place(broker, "3.1.1")
        world = make_world(otel_endpoint=collector.endpoint, **place.settings())
        site = Site(world)
        site.ada.connector(site.home, receiver.url)
        eventually(lambda: listens(world))
        with place.publisher() as devices:
            devices.says(site.token, "pump-7", "data", {"data": '{"a":1}'})
            devices.says(site.token, "nobody", "data", {"data": '{"a":2}'})
            (delivered,) = receiver.wait_for(1)
            eventually(lambda: sum(outcomes(world).values()) == 2)
        world.restart()
    stored, dropped = sorted(
        (span for span in collector.spans if span.name == "process mqtt"),
        key=lambda span: "error.type" in attributes(span),
    )
    assert stored.kind == CONSUMER
    assert attributes(stored) == {
        "messaging.system": "mqtt",
        "messaging.operation.type": "process",
        "messaging.message.body.size": 21,
    }
    assert attributes(dropped)["error.type"] == "NotFound"
    children = [span for span in collector.spans if span.parent_span_id == stored.span_id]
    assert {span.name for span in children} == {"store records", "deliver http"}
    assert delivered.headers["traceparent"].split("-")[1] == stored.trace_id.hex()
    assert site.token.encode() not in b"".join(collector.bodies)


def _is_done(person: Person, **named: str) -> bool:
    latest = ok(person.get("/connector/replays", **named))["items"][0]
    return bool(latest["status"] == "done")


def test_messages_of_a_replay_belong_to_its_steps(
    collector: Collector,
    receiver: Receiver,
    make_world: MakeWorld,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replays, "RECORDS_PER_STEP_MAX", 2)
    monkeypatch.setattr(engine, "MAINTENANCE_INTERVAL_S", 0.05)
    world = make_world(otel_endpoint=collector.endpoint)
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    for number in range(5):
        ada.reports(device, data=f'{{"a":{number}}}')
    world.clock.let_pass(seconds=60)
    connector = ada.connector(group, receiver.url)
    named = {"groupId": group, "connectorId": connector}
    period = {"beginDate": "2020-01-01", "endDate": "2100-01-01"}
    for count in (5, 10):  # the second time, all have been sent before
        ok(ada.post("/connector/replay", {**named, **period}))
        receiver.wait_for(count)
        eventually(lambda: _is_done(ada, **named))
        world.clock.let_pass(seconds=60)
    body = {"kind": "replay", "groupId": group, "deviceIds": [device]}
    parameters = {"connectorId": connector, **period}
    ok(ada.post("/job", {**body, "parameters": parameters}))
    receiver.wait_for(15)
    eventually(lambda: _is_done(ada, **named))
    world.restart()
    spans = {span.span_id: span for span in collector.spans}
    attempts = [span for span in spans.values() if span.kind == CLIENT]
    causes = [spans[span.parent_span_id] for span in attempts]
    assert len(attempts) == 15
    assert {span.name for span in causes} == {
        "POST /connector/replay",
        "replay",
        "job replay",
    }
    assert {name for span in causes if span.kind != SERVER for name in attributes(span)} == {
        "longwire.replay.id",
        "longwire.job.id",
    }
