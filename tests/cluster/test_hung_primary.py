"""A primary that hangs keeps its connections open and says nothing."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from longwire.store.engines import postgres_connections
from tests.cluster.pair import Pair
from tests.waiting import eventually
from tests.world import World, ok, record_of, refused


@pytest.fixture
def shorter_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_connections, "SLOW_S", 0.5)
    monkeypatch.setattr(postgres_connections, "CONNECT_TIMEOUT_S", 2)
    monkeypatch.setattr(postgres_connections, "PROBE_TIMEOUT_S", 2)


@pytest.mark.usefixtures("shorter_waits")
def test_a_hung_primary_is_left_and_the_standby_serves_once_it_is_promoted(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    node = make_node()
    ada = node.person()
    group = ada.group()
    device = ada.device(group)
    stored = [ada.reports(device, timestamp=f"2026-03-01T12:00:0{n}Z") for n in range(3)]
    pair.primary.hang()
    with ThreadPoolExecutor() as pool:
        requests: list[Callable[[], httpx.Response]] = [
            lambda: ada.post("/device/data", record_of(device, timestamp="2026-03-01T13:00:00Z")),
            lambda: ada.post("/group", {"name": "during"}),
            lambda: ada.get("/user/groups"),
        ]
        # It hangs until the end of the test: that they are answered means that it was left.
        answers = [each.result() for each in [pool.submit(request) for request in requests]]
    assert {answer.status_code for answer in answers} == {503}
    assert node.http.get("/health/ready").status_code == 503
    pair.standby.promote()
    eventually(lambda: ada.post("/group", {"name": "after"}).status_code == 200)
    late = ada.reports(device, timestamp="2026-03-01T14:00:00Z")
    assert {each["timestamp"] for each in [*stored, late]} <= {
        each["timestamp"] for each in ada.records(device)
    }
    eventually(lambda: node.http.get("/health/ready").status_code == 200)


@pytest.mark.usefixtures("shorter_waits")
def test_a_commit_that_a_server_hangs_in_has_an_unknown_outcome(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    node = make_node()
    ada = node.person()
    device = ada.device(ada.group())
    body = record_of(device)
    answers: list[httpx.Response] = []
    with pair.stalled_standby():
        sender = threading.Thread(target=lambda: answers.append(ada.post("/device/data", body)))
        sender.start()
        pair.wait_for_commits()
        pair.primary.hang()
        sender.join()
    assert refused(answers[0], 503)["code"] == "outcome_unknown"
    pair.standby.promote()
    eventually(lambda: ada.post("/device/data", body).status_code == 200)
    assert len(ada.records(device)) == 1


def test_a_commit_that_takes_longer_than_the_deadline_has_an_unknown_outcome(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    """The server responds, so it is not left; but its standby does not."""
    ada = make_node().person()
    device = ada.device(ada.group())
    body = record_of(device)
    hurried = ada.at(make_node())
    hurried.world.database._timeout_s = 3.0  # type: ignore[attr-defined]

    def outcome_is_unknown() -> bool:
        # What takes as long before the commit has changed nothing, and says so.
        problem = refused(hurried.post("/device/data", body), 503)
        return bool(problem["code"] == "outcome_unknown")

    with pair.stalled_standby():
        eventually(outcome_is_unknown)
    eventually(lambda: ada.post("/device/data", body).status_code == 200)
    assert len(ok(ada.get("/device/data", deviceId=device))["items"]) == 1
