"""Health and metrics endpoints, which need no token."""

import contextlib
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from longwire.errors import Unavailable
from longwire.store.database import Tx
from longwire.store.deliveries import Backlog
from tests.waiting import eventually
from tests.world import World, ok, refused

PAGES = ("/health/live", "/health/ready", "/metrics", "/openapi.json", "/docs")


WAITING = "longwire_database_queued"


def counters(world: World) -> dict[tuple[str, ...], float]:
    """Every sample of /metrics, by name and labels."""
    response = world.nobody.get("/metrics")
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


def test_a_running_service_is_alive_and_ready(world: World) -> None:
    for path in ("/health/live", "/health/ready"):
        assert ok(world.nobody.get(path)) == {"status": "ok"}
    assert counters(world)["longwire_healthy",] == 1
    assert counters(world)["longwire_ingest_queued_records",] == 0
    # What a service does by itself may be waiting for a moment.
    eventually(lambda: waiting(world) == dict.fromkeys(world.database.waiting, 0))


def test_health_and_metrics_need_no_token_and_ignore_an_invalid_one(world: World) -> None:
    for path in PAGES:
        plain = world.nobody.get(path)
        with_wrong_token = world.http.get(path, headers={"Authorization": "Bearer wrong"})
        assert plain.status_code == with_wrong_token.status_code == 200, path


def test_the_root_leads_browsers_to_the_docs_and_programs_to_the_paths(world: World) -> None:
    browser = world.http.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert browser.status_code == 302
    landed = httpx.URL(world.url).join("/").join(browser.headers["location"])
    assert world.http.get(landed).headers["content-type"].startswith("text/html")
    links = ok(world.nobody.get("/"))
    assert links.pop("service") == "longwire"
    assert links.pop("version")
    assert all(world.nobody.get(path).status_code == 200 for path in links.values())


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


def test_head_returns_the_headers_of_get_without_the_body(world: World) -> None:
    for path in PAGES:
        shown, told = world.nobody.get(path), world.nobody.request("HEAD", path)
        assert told.status_code == 200, path
        assert told.content == b"", path
        assert told.headers["content-type"] == shown.headers["content-type"], path
        assert int(told.headers["content-length"]) > 0, path
        response = world.nobody.post(path, {})
        refused(response, 405)
        assert response.headers["allow"] == "GET, HEAD", path


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
    async def away(work: Callable[..., object]) -> object:
        raise Unavailable

    monkeypatch.setattr(world.database, "read", away)
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
def test_a_broken_database_is_reported_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.database, "broken", "OperationalError: disk I/O error")
    response = world.nobody.get("/health/ready")
    assert response.status_code == 503
    assert response.json()["reason"] == "the database failed; the service is stopping"
    assert "disk I/O" not in response.text


def test_however_many_callers_ask_for_metrics_the_backlog_is_counted_once_in_ten_seconds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[Tx] = []
    may_count = threading.Event()
    (route,) = [route for route in world.app.routes if route.path == "/metrics"]
    backlog = route.handler.__self__._backlog  # type: ignore[attr-defined]
    count = backlog._work

    def count_slowly(tx: Tx) -> Backlog:
        counts.append(tx)
        assert may_count.wait(60)
        return count(tx)

    monkeypatch.setattr(backlog, "_work", count_slowly)
    world.clock.freeze()
    with ThreadPoolExecutor(8) as callers:
        first = [callers.submit(world.nobody.get, "/metrics") for _ in range(8)]
        eventually(lambda: len(counts) == 1)
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
