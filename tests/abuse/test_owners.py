"""One account that pretends to be many callers: by groups and their app clients.

Both sides of a comparison have as many connections, so that what is compared is not how busy the
machine is, but whose turn it is.
"""

import itertools
import json
import socket
import statistics
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from urllib.parse import urlencode

import pytest

from longwire.api.live import LISTENERS_PER_CALLER_MAX
from longwire.settings.fixed_limits import FixedLimits
from tests.abuse.test_clients import encode_request
from tests.abuse.test_reads import fill, repeat
from tests.abuse.victim import (
    BRIEF,
    Attack,
    AttackLength,
    Latencies,
    Scene,
    attacking,
    measure_slowdown,
    victim_beside,
)
from tests.waiting import PATIENCE_S, eventually
from tests.world import Person, record_of, refused

# As one owner and as one caller.
CONNECTIONS = 12
# The aim is 2. Without common turns it was above 50, on a quiet machine of two cores.
WORSE_THAN_ONE_MAX = 5.0
# Of a victim that is alone, while somebody sends large batches; it was 13, on a quiet machine.
WORSE_THAN_ALONE_MAX = 8.0
# Less is within what such short measurements vary by; without common turns it was half a second.
FEW_S = 0.1

# More than are stored in an attack.
BATCHES = 120
# Together more than the system takes before anybody reads.
EXPORTED_RECORDS, EXPORTED_CHARACTERS = 100, 100_000


@pytest.fixture
def length() -> AttackLength:
    return BRIEF


def create_apps(mallory: Person) -> list[tuple[Person, str, str]]:
    """App clients of groups of their own, each with its group and a device in it."""
    apps = []
    for number in range(CONNECTIONS):
        group, device = fill(mallory, 250)
        apps.append((mallory.app_client(group, f"app {number}"), group, device))
    return apps


def measure(scene: Scene, attacks: Sequence[Attack]) -> Latencies:
    with (
        victim_beside(scene.service, scene.honest, scene.create_victim) as measure,
        attacking(*attacks),
    ):
        return measure(BRIEF)


def assert_no_worse(than: Latencies, found: Latencies, times: float, slowdown: float) -> None:
    for what in ("write", "read"):
        before, after = (statistics.median(getattr(each, what)) for each in (than, found))
        figures = f"{what}: {before:.3f} s, {after:.3f} s, everything {slowdown:.1f} times slower"
        assert after <= max(times * before, FEW_S * slowdown), figures


@pytest.mark.parametrize(
    "what",
    [
        "lists",
        pytest.param("reports", marks=pytest.mark.soak),
        pytest.param("records", marks=pytest.mark.soak),
    ],
)
def test_many_app_clients_of_one_owner_are_no_worse_than_one_caller(
    scene: Scene, what: str
) -> None:
    apps = create_apps(scene.mallory)
    begin = 1_600_000_000_000
    period = {"beginDate": begin, "endDate": begin + 2_000 * 3_600_000, "timeSpan": 3_600}
    numbers = itertools.count(1_650_000_000_000)

    def attack(person: Person, group: str, device: str) -> Attack:
        if what == "lists":
            return repeat(person, "/group/records", groupId=group, limit=1_000)
        if what == "reports":
            return repeat(person, "/group/metrics", groupId=group, subgroups="true", **period)

        def store(stop: threading.Event) -> None:
            person.post("/device/data", record_of(device, timestamp=next(numbers)))

        return store

    slowdown = measure_slowdown()
    one = measure(scene, [attack(*apps[0])] * CONNECTIONS)
    many = measure(scene, [attack(*each) for each in apps])
    assert_no_worse(one, many, WORSE_THAN_ONE_MAX, slowdown)


@pytest.mark.engine_free
def test_large_batches_slow_nobodys_records(scene: Scene) -> None:
    mallory = scene.mallory
    device = mallory.device(mallory.group())
    first = 1_650_000_000_000
    # Encoded beforehand: the victim is in the same process.
    batches = [
        [record_of(device, timestamp=first + 2_000 * batch + number) for number in range(2_000)]
        for batch in range(BATCHES)
    ]
    bodies = iter([json.dumps({"items": items}) for items in batches])

    def store(stop: threading.Event) -> None:
        body = next(bodies, None)
        if body is None:
            stop.wait()
        else:
            headers = {"Content-Type": "application/json"}
            mallory.request("POST", "/device/data/batch", content=body, headers=headers)

    slowdown = measure_slowdown()
    alone = measure(scene, [])
    attacked = measure(scene, [store] * 2)
    assert_no_worse(alone, attacked, WORSE_THAN_ALONE_MAX, slowdown)


@contextmanager
def open_stream(person: Person, path: str, **params: str) -> Iterator[int]:
    """The status of a response that is not read to its end."""
    address = person.world.http.base_url
    with socket.socket() as connection:
        # A small window, so that the system takes little of what nobody reads.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.settimeout(PATIENCE_S)
        connection.connect((address.host, address.port or 80))
        connection.sendall(encode_request(person, f"{path}?{urlencode(params)}"))
        yield int(connection.recv(12).split()[1])


@pytest.mark.engine_free
def test_whoever_has_all_live_streams_leaves_some_to_those_who_have_none(scene: Scene) -> None:
    mallory = scene.mallory
    free_for_one = FixedLimits().live_listeners_max * 3 // 4
    enough = free_for_one // LISTENERS_PER_CALLER_MAX + 1
    apps = [
        (mallory.app_client(group), group) for group in [mallory.group() for _ in range(enough)]
    ]
    victim = scene.service.person(scene.honest)
    home = victim.group()
    with ExitStack() as stack:
        statuses = [
            stack.enter_context(open_stream(app, "/live", groupId=group))
            for app, group in apps * LISTENERS_PER_CALLER_MAX
        ]
        refused_ones = len(statuses) - free_for_one
        assert refused_ones > 0
        assert statuses == [200] * free_for_one + [429] * refused_ones
        assert stack.enter_context(open_stream(victim, "/live", groupId=home)) == 200
        refused(victim.get("/live", groupId=home), 429)


@pytest.mark.engine_free
def test_whoever_has_all_exports_leaves_some_to_those_who_have_none(scene: Scene) -> None:
    mallory = scene.mallory
    group = mallory.group()
    device = mallory.device(group)
    for number in range(EXPORTED_RECORDS):
        data = f'"{"x" * EXPORTED_CHARACTERS}"'
        mallory.reports(device, timestamp=1_600_000_000_000 + number, data=data)
    # An export ends some seconds before the present; without records it is not open for long.
    size = EXPORTED_RECORDS * EXPORTED_CHARACTERS
    eventually(lambda: len(mallory.get("/records/export", groupId=group).content) > size)
    apps = [(mallory.app_client(group, f"app {number}"), group) for number in range(8)]
    victim = scene.service.person(scene.honest)
    home = victim.group()
    with ExitStack() as stack:
        statuses = [
            stack.enter_context(open_stream(app, "/records/export", groupId=group))
            for app, group in apps * 4
        ]
        assert statuses == [200] * 24 + [429] * 8
        assert ok_status(victim, "/records/export", groupId=home) == 200


def ok_status(person: Person, path: str, **params: str) -> int:
    response = person.request("GET", path, params=params)
    assert response.status_code == 200, response.text
    return response.status_code
