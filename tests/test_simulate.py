"""`longwire simulate`: a demo fleet, created and reporting over HTTP like a customer's."""

import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from longwire.settings import Settings
from tests import test_cli
from tests.ports import free_port
from tests.process import Service, longwire
from tests.reports import KINDS, counted, list_records
from tests.test_cli import Command
from tests.world import Person, World, ok, walk

pytestmark = pytest.mark.engine_free

command = test_cli.command

LINE = re.compile(
    r"(\d+) records in \d+\.\d s, \d+ a second; latency \d+\.\d ms \(p50\), "
    r"\d+\.\d ms \(p99\); (\d+) failed\n"
)


def simulate(cwd: Path, *arguments: str) -> CompletedProcess[str]:
    return longwire("simulate", *arguments, cwd=cwd)


def where_is(world: World, person: Person) -> list[str]:
    client = ["--client-id", person.client_id, "--client-secret", person.client_secret]
    return ["--url", world.url, *client]


def fleet_of(person: Person) -> dict[str, Any]:
    """The groups that a simulation has created, by name, and the devices in each."""
    groups = walk(lambda **page: person.get("/user/groups", **page))
    return {
        group["name"]: (
            group,
            walk(lambda g=group["id"], **page: person.get("/group/devices", groupId=g, **page)),
        )
        for group in groups
    }


def test_a_simulation_creates_groups_with_devices_that_report(world: World, tmp_path: Path) -> None:
    ada = world.person("ada")
    done = simulate(
        tmp_path,
        *("--devices", "30", "--rate", "150", "--seconds", "2", "--seed", "7", "--json"),
        *where_is(world, ada),
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    result = json.loads(done.stdout)
    assert set(result) == {"sent", "failed", "seconds", "rate", "p50Ms", "p99Ms"}
    assert (result["sent"], result["failed"]) == (300, 0)
    assert result["seconds"] >= 1.9
    assert 0 < result["p50Ms"] <= result["p99Ms"]
    assert result["rate"] == pytest.approx(300 / result["seconds"], rel=0.01)

    fleet = fleet_of(ada)
    roots = [group for group, _ in fleet.values() if "parent" not in group]
    assert len(roots) == 1
    assert roots[0]["name"].startswith("Simulated fleet ")
    assert roots[0]["tags"] == ["simulated"]
    branches = {name: devices for name, (group, devices) in fleet.items() if "parent" in group}
    assert set(branches) == {"North", "South", "Harbour"}
    assert {group["parent"] for group, _ in fleet.values() if "parent" in group} == {roots[0]["id"]}
    sensors = [sensor for devices in branches.values() for sensor in devices]
    assert len(sensors) == 30
    assert Counter(sensor["type"] for sensor in sensors) == {
        "tracker": 15,
        "meter": 9,
        "button": 6,
    }
    assert all(each for each in branches.values())
    result = {
        kind: [list_records(ada, kind, each["deviceId"]) for each in sensors] for kind in KINDS
    }
    numbers = {kind: sum(len(each) for each in result[kind]) for kind in KINDS}
    assert sum(numbers.values()) == 300
    assert min(numbers.values()) > 0, "records of all four kinds"
    now = world.clock.now()
    assert counted(ada, roots[0]["id"], now, subgroups="true") == numbers
    seen = [sensor for sensor in sensors if "seenAt" in sensor]
    assert {each["deviceId"] for each in seen} == {
        record["deviceId"] for kind in KINDS for each in result[kind] for record in each
    }
    for record in (record for each in result["data"] for record in each):
        assert {"battery", "sequence"} <= set(json.loads(record["data"]))

    # The same seed creates the same fleet again; without --json the output is one line.
    repeated = simulate(
        tmp_path,
        *("--devices", "1", "--rate", "10", "--seconds", "0.5", "--seed", "7"),
        *where_is(world, ada),
    )
    assert repeated.returncode == 0
    line = LINE.fullmatch(repeated.stdout)
    assert line, repeated.stdout
    assert line.groups() == ("5", "0")
    names = [
        group["name"]
        for group in walk(lambda **page: ada.get("/user/groups", **page))
        if "parent" not in group
    ]
    assert len(names) == 2
    assert len(set(names)) == 1


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_simulation_finds_url_and_credentials_in_the_data_folder(
    settings: Settings, tmp_path: Path
) -> None:
    """`longwire simulate` needs no arguments next to a service."""
    port = free_port()
    service = Service(settings.data, port=port).started()
    try:
        kept = service.operator
        kept["baseUrl"] = service.url
        (settings.data / "operator.json").write_text(json.dumps(kept))
        done = simulate(
            tmp_path,
            *("--devices", "3", "--rate", "20", "--seconds", "0.5", "--json"),
            *("--data", str(settings.data)),
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["sent"] == 10
        assert {"North", "South", "Harbour"} <= service.group_names()

        # A duration too short for even one record is rounded up, and the output stays JSON.
        short = simulate(
            tmp_path,
            *("--devices", "1", "--rate", "0.1", "--seconds", "0.1", "--json"),
            *("--data", str(settings.data)),
        )
        assert short.returncode == 0, short.stderr
        strictly = json.loads(short.stdout, parse_constant=lambda name: pytest.fail(name))
        assert (strictly["sent"], strictly["failed"]) == (1, 0)

        for wrong in (["--devices", "0"], ["--rate", "0"]):
            result = simulate(tmp_path, *wrong, "--data", str(settings.data))
            assert result.returncode == 2, wrong
            assert "Traceback" not in result.stderr
    finally:
        service.clean_up()


# --- servers that are not longwire ---


@contextmanager
def server_sending(content: bytes) -> Iterator[str]:
    """A server that sends this to every client."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65_536)
                connection.sendall(content)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(120)


def assert_one_line_error(result: CompletedProcess[str], *words: str) -> None:
    assert result.returncode == 2, (result.returncode, result.stdout, result.stderr)
    assert result.stdout == ""
    assert result.stderr.startswith("longwire: "), result.stderr
    assert result.stderr.count("\n") == 1, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr


def test_a_failing_service_is_a_one_line_error(command: Command, tmp_path: Path) -> None:
    client = ["--client-id", "someone", "--client-secret", "something"]

    def simulate_at(url: str, *more: str) -> str:
        return command("simulate", "--url", url, *client, *more).error

    nowhere = f"http://127.0.0.1:{free_port()}"
    assert nowhere in simulate_at(nowhere, "--json")
    with server_sending(b"") as url:  # closes the connection
        simulate_at(url)
    with server_sending(b"220 mail.example.com ESMTP\r\n\r\n") as url:  # speaks another protocol
        simulate_at(url)
    with server_sending(
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    ) as url:  # another service
        simulate_at(url)
    with server_sending(b"HTTP/1.1 200 OK\r\n\r\n<html>") as url:  # a web page
        simulate_at(url)
    assert "operator.json" in command("simulate").err
    in_a_process = simulate(tmp_path, "--url", nowhere, *client)
    assert_one_line_error(in_a_process, nowhere, "cannot be reached")


def test_an_error_response_of_the_service_is_printed(
    make_world: Callable[..., World], tmp_path: Path
) -> None:
    world = make_world(bulk_ids_max=2)
    ada = world.person("ada")
    wrong = Person(world, None, ada.id, (ada.client_id, "guessed"))
    assert_one_line_error(simulate(tmp_path, *where_is(world, wrong)), "no token", "401")
    result = simulate(tmp_path, "--devices", "40", *where_is(world, ada))
    assert_one_line_error(result, "POST /devices", "400")
    assert ok(ada.get("/user/groups"))["items"], "it came as far as the groups"
