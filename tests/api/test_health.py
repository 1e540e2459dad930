"""Health and metrics endpoints, which need no token."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

import longwire
from longwire.api import service
from longwire.errors import Unavailable
from longwire.prometheus import DatabaseStats
from longwire.store.database import Tx
from longwire.store.delivery import backlogs as store_backlogs
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import KINDS, NOON, World, ok, refused

PAGES = ("/health/live", "/health/ready", "/metrics", "/openapi.json", "/docs")


WAITING = "longwire_database_queued"


def counters(world: World) -> dict[tuple[str, ...], float]:
    """Every sample of /metrics, by name and labels."""
    token = {"Authorization": f"Bearer {world.settings.metrics_token}"}
    response = world.http.get("/metrics", headers=token if world.settings.metrics_token else {})
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return {
        (sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items()))): (
            sample.value
        )
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def answered(numbers: dict[tuple[str, ...], float], method: str, path: str, status: int) -> float:
    labels = (f"method={method}", f"path={path}", f"status={status}")
    return numbers.get(("longwire_request_seconds_count", *labels), 0)


def waiting(world: World) -> dict[str, float]:
    """Tasks waiting for the database, by queue."""
    numbers = counters(world)
    return {key[1].removeprefix("queue="): numbers[key] for key in numbers if key[0] == WAITING}


@pytest.mark.engine_free
def test_a_running_service_is_alive_and_ready(world: World) -> None:
    for path in ("/health/live", "/health/ready"):
        assert ok(world.nobody.get(path)) == {"status": "ok"}
    assert counters(world)["longwire_healthy",] == 1
    assert counters(world)["longwire_ingest_queued_records",] == 0
    # What a service does by itself may be waiting for a moment.
    eventually(lambda: waiting(world) == dict.fromkeys(world.database.waiting, 0))


@pytest.mark.engine_free
@pytest.mark.slow
def test_health_and_metrics_need_no_token_and_ignore_an_invalid_one(world: World) -> None:
    for path in PAGES:
        plain = world.nobody.get(path)
        with_wrong_token = world.http.get(path, headers={"Authorization": "Bearer wrong"})
        assert plain.status_code == with_wrong_token.status_code == 200, path


@pytest.mark.slow
@pytest.mark.engine_free
def test_the_root_leads_browsers_to_the_docs_and_programs_to_the_paths(world: World) -> None:
    browser = world.http.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert browser.status_code == 302
    landed = httpx.URL(world.url).join("/").join(browser.headers["location"])
    assert world.http.get(landed).headers["content-type"].startswith("text/html")
    links = ok(world.nobody.get("/"))
    assert links.pop("service") == "longwire"
    assert links.pop("version")
    assert all(world.nobody.get(path).status_code == 200 for path in links.values())


@pytest.mark.engine_free
def test_stored_records_are_counted_by_kind_without_duplicates(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())

    def stored() -> dict[str, float]:
        return {
            kind: counters(world)["longwire_records_stored_total", f"kind={kind}"] for kind in KINDS
        }

    assert stored() == dict.fromkeys(KINDS, 0), "from the start, for rate() to see the first one"
    ada.reports(device, "geoloc")
    for _ in range(2):
        ada.reports(device, timestamp=NOON)
    assert stored() == {"data": 1, "event": 0, "geoloc": 1, "telemetry": 0}


@pytest.mark.slow
@pytest.mark.engine_free
def test_every_label_that_is_known_has_a_counter_from_the_start(world: World) -> None:
    numbers = counters(world)
    for outcome in ("delivered", "refused", "unreachable"):
        key = ("longwire_delivery_attempts_total", f"outcome={outcome}", "type=kafka")
        assert numbers[key] == 0
    assert numbers["longwire_server_errors_total", "status=500"] == 0
    assert numbers["longwire_network_messages_rejected_total", "network=chirpstack"] == 0
    assert numbers["longwire_background_task_failures_total", "task=cleanup"] == 0
    assert not any(key[0].startswith("longwire_mqtt_") for key in numbers), "there is no broker"
    (build,) = [key for key in numbers if key[0] == "longwire_build_info"]
    assert f"version={longwire.__version__}" in build
    assert f"database={world.database.engine_name}" in build
    assert 0 < numbers["process_open_fds",] < numbers["process_max_fds",]
    assert numbers["process_resident_memory_bytes",] > 1e6
    assert numbers["longwire_database_bytes",] > 100_000
    is_embedded = world.database.engine_name == "sqlite"
    assert (numbers.get(("longwire_disk_free_bytes",), 0) > 0) == is_embedded


@pytest.mark.engine_free
def test_the_worst_connectors_have_metrics_of_their_own_and_the_others_are_one(
    make_world: Callable[..., World],
) -> None:
    world = make_world(metrics_token="scraper", metrics_connectors_max=1)
    refused(world.nobody.get("/metrics"), 401)
    ada = world.person("ada")
    group = ada.group()
    with Receiver(500) as failing:
        connectors = {
            ada.connector(group, failing.url, retryPolicy={"retryDelay": 1, "maxRetry": 0})
            for _ in range(3)
        }
        for _ in range(2):
            ada.reports(ada.device(group))
        eventually(lambda: world.read(store_backlogs.get_total_backlog).failed == 6)
    world.clock.let_pass(seconds=11)  # longer than the numbers are kept

    def dead_letters() -> dict[str, float]:
        name = "longwire_connector_dead_letters"
        found = {key[1]: value for key, value in counters(world).items() if key[0] == name}
        return {key.removeprefix("connector="): value for key, value in found.items()}

    eventually(lambda: sum(dead_letters().values()) == 6)
    found = dead_letters()
    assert found.pop("other") == 4, "of two connectors"
    assert set(found) < connectors
    assert list(found.values()) == [2]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_connections_beyond_the_limit_are_counted_and_logged_once(
    make_world: Callable[..., World],
) -> None:
    world = make_world(connections_max=2)
    with capture_logs() as logs, contextlib.ExitStack() as stack:
        # One is the client of the world.
        for _ in range(4):
            sock = socket.create_connection(("127.0.0.1", world.port), timeout=60)
            stack.enter_context(sock)
        eventually(lambda: counters(world)["longwire_connections_rejected_total",] == 3)
    (line,) = [line for line in logs if line["event"] == "too many connections"]
    assert line["log_level"] == "warning"


@pytest.mark.slow
@pytest.mark.engine_free
def test_head_returns_the_headers_of_get_without_the_body(world: World) -> None:
    for path in PAGES:
        shown, head = world.nobody.get(path), world.nobody.request("HEAD", path)
        assert head.status_code == 200, path
        assert head.content == b"", path
        assert head.headers["content-type"] == shown.headers["content-type"], path
        assert int(head.headers["content-length"]) > 0, path
        response = world.nobody.post(path, {})
        refused(response, 405)
        assert response.headers["allow"] == "GET, HEAD", path


@pytest.mark.engine_free
def test_every_request_is_counted_under_its_route_and_never_under_its_path(world: World) -> None:
    ada = world.person("ada")
    before = counters(world)
    group = ada.group()
    for _ in range(3):
        ok(ada.get("/group", groupId=group))
    refused(ada.get("/group", groupId="1"), 400)
    refused(world.nobody.get("/group", groupId=group), 401)
    for path in ("/nowhere/secret-word", "/group/"):
        refused(ada.get(path), 404)
    refused(ada.request("PATCH", "/group"), 405)
    after = counters(world)

    def more(method: str, path: str, status: int) -> float:
        return answered(after, method, path, status) - answered(before, method, path, status)

    assert more("POST", "/group", 200) == 1
    assert more("GET", "/group", 200) == 3
    assert more("GET", "/group", 400) == 1
    assert more("GET", "/group", 401) == 1
    assert more("GET", "/metrics", 200) == 1
    assert more("-", "-", 404) == 2
    assert more("-", "-", 405) == 1
    # Each is in a bucket as well: the last one holds all, however long they took.
    labels = ("le=+Inf", "method=GET", "path=/group", "status=200")
    assert after["longwire_request_seconds_bucket", *labels] == 3
    assert after["longwire_request_seconds_sum", *labels[1:]] > 0
    text = world.nobody.get("/metrics").text
    for word in ("secret-word", group, ada.id, str(ada.token)):
        assert word not in text


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_service_without_its_database_is_live_but_not_ready(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(work: Callable[..., object]) -> object:
        raise Unavailable

    monkeypatch.setattr(world.database, "read", fail)
    assert ok(world.nobody.get("/health/live")) == {"status": "ok"}
    response = world.nobody.get("/health/ready")
    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "reason": "the database does not respond"}
    assert counters(world)["longwire_healthy",] == 0
    monkeypatch.undo()
    assert ok(world.nobody.get("/health/ready")) == {"status": "ok"}
    assert counters(world)["longwire_healthy",] == 1
    assert counters(world)["longwire_ingest_queued_records",] == 0


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_database_that_takes_too_long_is_not_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_ended = threading.Event()

    async def hang(work: Callable[..., object]) -> object:
        await asyncio.to_thread(has_ended.wait)
        raise Unavailable

    with monkeypatch.context() as hung:
        hung.setattr(service, "READY_TIMEOUT_S", 0.1)
        hung.setattr(world.database, "read", hang)
        try:
            response = world.nobody.get("/health/ready")
        finally:
            has_ended.set()
    assert response.status_code == 503
    assert response.json()["reason"] == "the database does not respond"
    eventually(lambda: world.nobody.get("/health/ready").status_code == 200)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_broken_database_is_reported_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.database, "broken", "OperationalError: disk I/O error")
    response = world.nobody.get("/health/ready")
    assert response.status_code == 503
    assert response.json()["reason"] == "the database failed; the service is stopping"
    assert "disk I/O" not in response.text


@pytest.mark.engine_free
def test_however_many_callers_ask_for_metrics_the_backlog_is_counted_once_in_ten_seconds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[Tx] = []
    may_count = threading.Event()
    (route,) = [route for route in world.app.routes if route.path == "/metrics"]
    stats = route.handler.__self__._stats  # type: ignore[attr-defined]
    count = stats._work

    def count_slowly(tx: Tx) -> DatabaseStats:
        counts.append(tx)
        assert may_count.wait(60)
        return count(tx)

    monkeypatch.setattr(stats, "_work", count_slowly)
    world.clock.freeze()
    with ThreadPoolExecutor(8) as callers:
        first = [callers.submit(world.nobody.get, "/metrics")]
        eventually(lambda: len(counts) == 1)
        first += [callers.submit(world.nobody.get, "/metrics") for _ in range(7)]
        ok(world.nobody.get("/health/ready"))  # one read is under way, and others are not held up
        may_count.set()
        assert {each.result().status_code for each in first} == {200}
    world.nobody.get("/metrics")
    assert len(counts) == 1
    may_count.clear()
    world.clock.let_pass(seconds=10)
    before = counters(world)  # nobody waits for the next count
    assert before["longwire_deliveries", "state=queued"] == 0
    may_count.set()
    eventually(lambda: len(counts) == 2)


@pytest.mark.engine_free
def test_metrics_are_rendered_ten_times_a_second_at_most(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    monkeypatch.setattr(service, "monotonic", lambda: now)
    (route,) = [route for route in world.app.routes if route.path == "/metrics"]
    metrics = route.handler.__self__._metrics  # type: ignore[attr-defined]
    render, rendered = metrics.render, []

    def count(*args: Any, **kwargs: Any) -> bytes:
        rendered.append(render(*args, **kwargs))
        return bytes(rendered[-1])

    monkeypatch.setattr(metrics, "render", count)
    texts = [world.nobody.get("/metrics").content for _ in range(15)]
    assert len(rendered) == 10
    assert texts == [*rendered, *[rendered[-1]] * 5]
    now += 1
    assert world.nobody.get("/metrics").content == rendered[10]
