"""What happens where an optional part is not installed: a reason that names it, for everybody."""

import json
import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

from bench.install_size import list_core, measure_core
from longwire import extras
from longwire.errors import OperatorError
from longwire.process.serve import serve
from longwire.settings import Settings
from tests.waiting import eventually
from tests.world import World, ok, refused

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
POLYGON = {"type": "Polygon", "coordinates": [[[0, 0], [9, 0], [9, 9], [0, 9], [0, 0]]]}
CIRCLE = {"lat": 1.0, "lng": 1.0, "radius": 10}
CHAT = {"url": "tgram://123456789:AbCdEf1234567890_kLmNoPqRsTuVwXyZ12/87654321"}
KAFKA = {"brokers": "127.0.0.1:9", "topic": "a"}
AMQP = {"url": "amqp://127.0.0.1:9", "exchange": "a"}

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


@pytest.fixture
def uninstall(monkeypatch: pytest.MonkeyPatch):
    return lambda: monkeypatch.setattr(extras, "is_installed", lambda extra: False)


def test_the_extras_are_those_of_the_package() -> None:
    named = dict(PROJECT["optional-dependencies"])
    everything = named.pop("all")
    assert set(extras.EXTRAS) <= set(named)
    assert everything == [f"longwire[{','.join(named)}]"]


def test_every_extra_is_explained_to_operators() -> None:
    page = (ROOT / "docs" / "operate" / "install.md").read_text()
    explained = re.findall(r"^\| `(\w+)` \|", page.partition("## Extras")[2], re.MULTILINE)
    assert explained == list(PROJECT["optional-dependencies"])


def test_every_dependency_has_a_lower_bound_and_most_have_an_upper_one() -> None:
    optional = PROJECT["optional-dependencies"]
    asked = PROJECT["dependencies"] + [
        each for name in optional if name != "all" for each in optional[name]
    ]
    assert [each for each in asked if ">=" not in each] == ["tzdata"]
    # Versions of these count years or releases: the next one breaks nothing by its number.
    unbounded = {each.split(">=")[0] for each in asked if "<" not in each}
    assert unbounded <= {"tzdata", "cryptography", "pyarrow"}


def test_the_core_stays_small() -> None:
    """What `pip install .` brings: its files, and what Python makes of them."""
    lock = (ROOT / "requirements" / "run.txt").read_text()
    core = list_core()
    others = [name for name in core if f"\n{name}=={distribution(name).version} " not in lock]
    if others:
        pytest.skip(f"not the locked versions: {', '.join(sorted(others))}")
    files, compiled = measure_core()
    assert 80e6 < files < 107e6
    assert files + compiled < 148e6


@on_sqlite
def test_a_tenant_sees_what_the_operator_has_not_installed(world: World, uninstall) -> None:
    uninstall()
    ada = world.person("ada")
    group = ada.group()

    def connect(name: str, params: dict):
        body = {"groupId": group, "type": name, "params": json.dumps(params)}
        return ada.post("/connector", body)

    def notify(name: str, **params):
        body = {"groupId": group, "type": name, "name": "a", "params": json.dumps(params)}
        return ada.post("/notification", {**body, "reason": "geofenceEnter"})

    for name, params in (("kafka", KAFKA), ("amqp", AMQP)):
        assert f"longwire[{name}]" in str(refused(connect(name, params), 400, "type"))
    assert "longwire[chat]" in str(refused(notify("chat", geofence=CIRCLE, **CHAT), 400, "type"))
    hook = {"url": "http://127.0.0.1:9/"}
    refusal = refused(notify("webhook", geofence=POLYGON, **hook), 400, "params.geofence.type")
    assert "longwire[geo]" in str(refusal)
    ok(notify("webhook", geofence=CIRCLE, **hook))
    assert len(ok(ada.get("/connector/connectorTypes"))["items"]) == 5


def test_a_service_with_a_collector_does_not_start_without_its_extra(
    uninstall, tmp_path: Path
) -> None:
    uninstall()
    chosen = Settings(data=tmp_path / "data", port=0, otel_endpoint="http://127.0.0.1:4318")
    with pytest.raises(OperatorError, match=r"pip install '\.\[otel\]' in a clone"):
        serve(chosen, lambda settings, prepared: None, lambda: chosen)
    assert not chosen.data.exists()


@pytest.mark.slow
@on_sqlite
def test_what_needs_a_part_that_was_removed_is_kept_until_it_is_back(
    world: World, uninstall
) -> None:
    ada = world.person("ada")
    group = ada.group()
    body = {
        "groupId": group,
        "type": "kafka",
        "params": json.dumps(KAFKA),
        "retryPolicy": {"maxRetry": 0, "retryDelay": 1},
        "dataFailurePolicy": {"storingDuration": 3600},
    }
    connector = ok(ada.post("/connector", body))["id"]
    fence = {"groupId": group, "type": "webhook", "name": "a", "reason": "geofenceEnter"}
    hook = {"url": "http://127.0.0.1:9/", "geofence": POLYGON}
    ok(ada.post("/notification", {**fence, "params": json.dumps(hook)}))
    device = ada.device(group)

    uninstall()
    world.restart()
    ada.reports(device, "geoloc", lat=1.0, lng=1.0)

    def failed() -> bool:
        return ada.events(group, connector)["stats"]["totalFailed"] == 1

    eventually(failed)
    (event,) = ada.events(group, connector)["items"]
    assert event["message"] == (
        "the connector needs longwire[kafka], which the operator has not installed"
    )
    assert ok(ada.get("/connector", groupId=group, connectorId=connector))["type"] == "kafka"
    ok(ada.put("/connector", {"groupId": group, "connectorId": connector, "enabled": False}))
    health = ok(ada.get("/connector/health", groupId=group, connectorId=connector))
    assert health["deadLetters"] == 1
