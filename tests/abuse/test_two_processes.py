"""Two processes on one PostgreSQL, raced against each other by the same account."""

import itertools
import json
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import itemgetter
from typing import Any

import httpx
import pytest

from longwire.settings import Settings
from tests.abuse.conftest import create_accounts
from tests.abuse.victim import SharedService
from tests.conftest import PostgresServer
from tests.process import Service
from tests.waiting import PATIENCE_S, eventually
from tests.world import Person, ok, record_of, refused, walk

QUOTA = 10
NOWHERE = json.dumps({"url": "http://127.0.0.1:9/"})
AT_ONCE = 8
MOMENTS = itertools.count(1_600_000_000_000)


@pytest.fixture(scope="module")
def services(
    postgres: PostgresServer,
    postgres_template: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[list[SharedService]]:
    folder, template_name = postgres_template
    data = tmp_path_factory.mktemp("two") / "data"
    shutil.copytree(folder, data)
    name = postgres.create(template_name)
    settings = Settings(data=data, database=postgres.url(name))
    accounts = create_accounts(settings)
    flags = [f"--connectors-per-group-max={QUOTA}"]
    flags += ["--database", settings.database, "--egress-allow", "127.0.0.0/8"]
    processes = [Service(data, "--log-level", "error", *flags) for _ in range(2)]
    try:
        yield [SharedService(process.started(), accounts) for process in processes]
    finally:
        for process in processes:
            process.clean_up()
        postgres.drop(name)


NUMBERS = itertools.count()


@pytest.fixture
def twice(services: list[SharedService]) -> list[Person]:
    """An account at each of the processes."""
    person = services[0].person(f"mallory{next(NUMBERS)}")
    return at_both(person, services)


def at_both(person: Person, services: Sequence[Any]) -> list[Person]:
    return [person.at(service) for service in services]


def race(calls: Sequence[Callable[[], httpx.Response]]) -> Counter[int]:
    """The status codes of requests that begin in the same moment."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], httpx.Response]) -> int:
        gate.wait()
        return call().status_code

    with ThreadPoolExecutor(len(calls)) as threads:
        return Counter(threads.map(run, calls))


def test_a_quota_holds_for_both_processes_together(twice: list[Person]) -> None:
    body = {"groupId": twice[0].group(), "type": "http", "params": NOWHERE}
    calls = [partial(person.post, "/connector", body) for person in twice * AT_ONCE]
    assert race(calls) == {200: QUOTA, 409: 2 * AT_ONCE - QUOTA}


def test_an_original_id_is_given_to_one_device(twice: list[Person]) -> None:
    group = twice[0].group()
    for original_id in ("one", "two", "three"):
        body = {"groupId": group, "name": "x", "type": "generic", "network": "mqtt"}
        body["originalId"] = original_id
        calls = [partial(person.post, "/device", body) for person in twice * 4]
        assert race(calls) == {200: 1, 409: 7}
    assert len(ok(twice[0].get("/group/devices", groupId=group))["items"]) == 3


def test_a_device_goes_to_one_group_and_its_records_with_it(twice: list[Person]) -> None:
    """Transferred by one process while records arrive at both."""
    here, there = twice[0].group("here"), twice[0].group("there")
    device = twice[0].device(here)
    is_over = threading.Event()
    posted: list[dict[str, Any]] = []

    def post(person: Person) -> None:
        while not is_over.is_set():
            record = record_of(device, "event", timestamp=next(MOMENTS))
            posted.append(ok(person.post("/device/event", record)))

    threads = [threading.Thread(target=post, args=(person,)) for person in twice]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            body = {"deviceId": device, "groupId": here, "toGroupId": there}
            calls = [partial(person.put, "/device/transfer", body) for person in twice]
            assert race(calls) == {200: 1, 404: 1}
            here, there = there, here
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    stored = walk(
        lambda **page: twice[0].get("/device/event", **page), deviceId=device, limit=1_000
    )
    by_time = itemgetter("timestamp")
    assert sorted(stored, key=by_time) == sorted(posted, key=by_time)
    assert {record["groupId"] for record in stored} == {here, there}


def test_what_is_revoked_at_one_process_ends_at_the_other(
    twice: list[Person], services: list[SharedService]
) -> None:
    one, _ = twice
    group = one.group()
    device = one.device(group)
    client = at_both(one.app_client(group), services)
    name = f"victim{next(NUMBERS)}"
    guest = at_both(services[0].person(name), services)
    invitation = {"email": f"{name}@example.com", "groupId": group, "roleId": "viewer"}
    ok(one.put("/group/invite", invitation))
    accepts = [partial(person.post, "/group/accept", {"groupId": group}) for person in guest * 3]
    assert race(accepts) == {200: 6}, "accepted by both processes at once"
    for person in client:
        ok(person.get("/group", groupId=group))
    seen: list[str] = []
    has_ended = threading.Event()

    def listen() -> None:
        url = f"{services[1].process.url}/live"
        headers = {"Authorization": f"Bearer {guest[1].token}"}
        where = {"groupId": group}
        with httpx.stream("GET", url, params=where, headers=headers, timeout=PATIENCE_S) as got:
            for line in got.iter_lines():
                seen.append(line)
        has_ended.set()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()

    def report(name: str) -> None:
        event = record_of(device, "event", timestamp=next(MOMENTS), type=name)
        ok(one.post("/device/event", event))

    def is_followed() -> bool:
        report("before")
        return any("before" in line for line in seen)

    eventually(is_followed)
    ok(one.delete("/group/user", groupId=group, userId=guest[0].id))
    ok(one.delete("/appClient", name=group, appClientId=client[0].id))
    assert client[0].get("/group", groupId=group).status_code == 401

    def is_over() -> bool:
        report("after")
        return has_ended.is_set() and client[1].get("/group", groupId=group).status_code == 401

    eventually(is_over)
    refused(guest[1].get("/group/devices", groupId=group), 404)
    count = len(seen)
    report("long after")
    assert len(seen) == count


def test_limits_of_a_group_hold_in_both_processes(
    services: list[SharedService], twice: list[Person]
) -> None:
    one, two = twice
    group = one.group()
    device = one.device(group)
    for moment in range(3):
        two.reports(device, timestamp=str(next(MOMENTS) + moment))

    def limit(**limits: int) -> None:
        body = {"groupId": group, "limits": limits}
        process = services[0].process
        ok(process.http.request("PUT", "/group/limits", json=body, headers=process.bearer))

    def try_at_the_other() -> int:
        body = record_of(device, "data", timestamp=str(next(MOMENTS)))
        return two.post("/device/data", body).status_code

    limit(storedRecordsMax=3)
    eventually(lambda: try_at_the_other() == 409)
    refused(one.post("/device/data", record_of(device, "data", timestamp="1")), 409)
    limit(storedRecordsMax=1_000)
    eventually(lambda: try_at_the_other() == 200)
