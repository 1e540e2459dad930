"""`longwire demo`: a company that is alive in every part, stops clean and is not seeded twice."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from longwire.clock import Clock
from longwire.decoders.catalogue import Decoders
from longwire_cli.demo import physics, plan, receiver
from longwire_cli.demo.plan import Condition, plan_devices
from longwire_cli.demo.seeding import SeedOptions
from tests import test_cli
from tests.browser import OWN_PAGE
from tests.delivery.receiver import Receiver
from tests.demo_world import fill_world
from tests.process import STOP_S, start_command
from tests.test_cli import Command
from tests.waiting import PATIENCE_S, eventually
from tests.world import World, ok, walk

pytestmark = pytest.mark.engine_free

command = test_cli.command
DEVICES = 14
AT_S = 1_794_731_400.0


class RunningDemo:
    """The command in a process, what it has printed, and requests of the operator."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.http = httpx.Client(timeout=60)
        self._out = folder / f"{len(list(folder.iterdir()))}.out"
        self._err = self._out.with_suffix(".err")
        arguments = ["demo", "--json", "--port", "0", *flags]
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = start_command(arguments, folder, out, err, TMPDIR=str(folder))

    @property
    def has_exited(self) -> bool:
        return self.process.poll() is not None

    @property
    def errors(self) -> str:
        """Without what a busy machine does not finish in the two seconds of a stop."""
        lines = self._err.read_text().splitlines(keepends=True)
        return "".join(line for line in lines if "graceful shutdown exceeded" not in line)

    def ready(self) -> "RunningDemo":
        eventually(lambda: "\n" in self._out.read_text() or self.has_exited, 300)
        assert not self.has_exited, self.errors
        self.printed: dict[str, Any] = json.loads(self._out.read_text())
        self.group: str = self.printed["groupId"]
        known = json.loads((Path(self.printed["data"]) / "operator.json").read_text())
        self.http.base_url = self.printed["url"]
        granted = self.http.post(
            "/oauth2/token?grant_type=client_credentials",
            auth=(known["clientId"], known["clientSecret"]),
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )
        self.http.headers["Authorization"] = f"Bearer {ok(granted)['access_token']}"
        return self

    def get(self, path: str, **params: Any) -> Any:
        return ok(self.http.get(path, params=params))

    def names_of_devices(self) -> set[str]:
        found = self.get("/devices", groupId=self.group, subgroups="true", limit=1_000)
        return {device["name"] for device in found["items"]}

    def interrupt(self) -> int:
        """The exit code after Ctrl-C."""
        os.kill(self.process.pid, signal.SIGINT)
        return self.process.wait(STOP_S)


@contextmanager
def running_demo(folder: Path, *flags: str) -> Iterator[RunningDemo]:
    demo = RunningDemo(folder, *flags)
    try:
        yield demo
    finally:
        demo.http.close()
        demo.process.kill()
        demo.process.wait(STOP_S)


def sign_in(url: str, link: str) -> httpx.Response:
    """Follow a link, as the page does."""
    page, _, secret = link.partition("#link=")
    assert page.startswith(url)
    return httpx.post(
        f"{url}/session",
        json={"link": secret},
        headers={**OWN_PAGE, "Origin": url},
        timeout=PATIENCE_S,
    )


def test_a_demo_is_alive_stops_clean_and_continues(tmp_path: Path) -> None:
    data = tmp_path / "kept"
    flags = ("--data", str(data), "--devices", str(DEVICES), "--rate", "20")
    with running_demo(tmp_path, *flags) as demo:
        demo.ready()
        assert demo.printed["devices"] == DEVICES
        names = demo.names_of_devices()
        assert len(names) == DEVICES
        assert {"Weather mast 01", "Energy meter 01", "Noordzee Trader"} <= names

        operator, viewer = demo.printed["operatorLink"], demo.printed["viewerLink"]
        assert ok(sign_in(demo.printed["url"], operator))["isOperator"]
        signed_in = ok(sign_in(demo.printed["url"], viewer))
        assert (signed_in["user"]["email"], signed_in["isOperator"]) == (plan.VIEWER_EMAIL, False)
        assert sign_in(demo.printed["url"], operator).status_code == 401

        def overview(part: str) -> dict[str, int]:
            found = demo.get("/group/overview", groupId=demo.group, subgroups="true")
            return dict(found[part])

        eventually(lambda: overview("connectors")["deadLetters"] > 0)
        eventually(lambda: overview("devices")["silent"] == 1)
        eventually(lambda: overview("devices")["drifting"] == 1)
        failing = demo.get("/connector", groupId=demo.group, connectorId=receiver.FAILING)
        assert failing["dataFailurePolicy"]["hasData"]

        assert_traces_have_receptions(demo)
        assert demo.interrupt() == 0
        assert demo.errors == ""

    with running_demo(tmp_path, *flags, "--seed", "99") as demo:
        demo.ready()
        assert demo.names_of_devices() == names | {"Cold room 01 (fish)"}
        groups = demo.get("/groups")["items"]
        assert [group["id"] for group in groups] == [demo.group]
        before = last_arrival(demo)
        eventually(lambda: last_arrival(demo) != before)  # it goes on
        assert demo.interrupt() == 0
        assert demo.errors == ""


def last_arrival(demo: RunningDemo) -> str:
    page = demo.get("/group/records", groupId=demo.group, subgroups="true", ascending="false")
    return str(page["items"][0]["id"])


def assert_traces_have_receptions(demo: RunningDemo) -> None:
    """Of each network something has arrived, with the callback that it came in by."""
    for network in ("chirpstack", "ttn", "vendor"):
        found: list[dict[str, Any]] = []

        def has_arrived(network: str = network, found: list[dict[str, Any]] = found) -> bool:
            latest = demo.get(
                "/group/records",
                groupId=demo.group,
                subgroups="true",
                ascending="false",
                kinds="data",
            )
            # Some are truncated, as in the field, and cannot be decoded.
            found[:] = [
                each
                for each in latest["items"]
                if each["source"] == network and each["record"].get("decodedNames")
            ]
            return bool(found)

        eventually(has_arrived)
        trace = demo.get("/record/trace", recordId=found[0]["id"])
        assert "rssi" in trace["reception"]["body"]
        assert trace["decoding"]["names"]


def test_a_demo_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    with running_demo(tmp_path) as demo:
        eventually(lambda: any(tmp_path.glob("longwire-demo-*/demo.json")) or demo.has_exited)
        assert demo.interrupt() == 0, demo.errors
        assert demo.errors == ""
    assert not list(tmp_path.glob("longwire-demo-*"))


@pytest.mark.parametrize(
    "file, content, reason",
    [
        ("longwire.db", "", "another service"),
        ("demo.json", '{"devices": 60, "seed": 1}', "while it was being filled"),
    ],
)
def test_a_demo_refuses_a_folder_that_is_not_its_own(
    command: Command, tmp_path: Path, file: str, content: str, reason: str
) -> None:
    (tmp_path / file).write_text(content)
    assert reason in command("demo", "--port", "0", "--data", tmp_path).error
    assert os.listdir(tmp_path) == [file]


def test_a_service_is_filled_through_its_api(world: World) -> None:
    with Receiver() as hooks:
        options = SeedOptions(hooks.url, f"{hooks.url}/downlinks", devices=20, history_days=0.25)
        fleet = fill_world(world, options)
    operator, root = world.operator, fleet.group_id

    def list_by_group(path: str, name: str) -> list[dict[str, Any]]:
        found = []
        for group in fleet.groups.values():
            found += ok(operator.get(path, groupId=group))[name]
        return found

    assert set(fleet.groups) == {plan.ROOT, *plan.GROUPS}
    assert len(fleet.devices) == 20
    assert {each["id"] for each in list_by_group("/connector/connectors", "test")} == {
        *(receiver.WORKING, receiver.FAILING, receiver.SLOW, receiver.LAKE),
        *("warm-goods", "weather-service", "old-broker"),
    }
    roles = {each["role"]["name"] for each in list_by_group("/group/users", "items")}
    assert roles == {"Administrator", "Manager", "Viewer", "Member", plan.DISPATCHER}
    jobs = {(each["kind"], each["state"]) for each in list_by_group("/jobs", "items")}
    assert jobs == {("redecode", "succeeded"), ("tag", "succeeded"), ("undo", "succeeded")}
    changes = walk(
        lambda **page: operator.get("/group/audit", groupId=root, **page), subgroups=True
    )
    assert any("before" in each and "after" in each for each in changes)
    assert {"Anna Visser", "Joris Bakker"} <= {each.get("actorName") for each in changes}
    cold = fleet.of_type(plan.COLD_ROOM)[0]
    oldest, *_ = operator.records(cold.id)
    assert {"celsius", "humidity"} <= set(oldest["decodedNames"])
    states = {
        downlink["state"]
        for each in fleet.devices
        for downlink in ok(operator.get("/device/downlinks", deviceId=each.id))["items"]
    }
    assert {"acknowledged", "queued", "cancelled"} <= states
    positions = ok(operator.get("/group/positions", groupId=root, subgroups=True))
    assert positions["total"] >= len(fleet.devices) - 1


# --- the plan ---


def test_the_same_seed_plans_the_same_fleet() -> None:
    assert plan_devices(60, 7) == plan_devices(60, 7)
    assert plan_devices(60, 7) != plan_devices(60, 8)
    for number in (plan.DEVICES_MIN, 60, 5_000):
        devices = plan_devices(number, 1)
        assert len(devices) == number
        assert len({(each.network, each.original_id) for each in devices}) == number
        conditions = {each.condition for each in devices}
        assert {Condition.SILENT, Condition.BATTERY_LOW, Condition.DRIFTING} <= conditions


def test_decoders_restore_what_devices_have_measured() -> None:
    decoders = {each["name"]: each for each in plan.DEVICE_TYPES if "decoder" in each}
    seen, known = set(), Decoders()
    for device in plan_devices(60, 1):
        if device.type not in decoders:
            continue
        measured = physics.measure(device, AT_S)
        kind = decoders[device.type]
        decoder = known.get(kind["decoder"], kind.get("decoderSource", ""))
        decoded = decoder.decode(physics.encode(device, measured), 2, Clock().now())
        assert decoded.values == pytest.approx(measured), device
        seen.add(device.type)
    assert seen == set(decoders)
