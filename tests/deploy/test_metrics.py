"""Dashboards and alert rules ask for metrics and labels that a running service exports."""

import importlib.util
import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually
from tests.world import World

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
RULES = DEPLOY / "prometheus" / "rules.yml"
TOKEN = "a-token-for-scrapers"
# What Prometheus adds to every series, and its own metrics.
ADDED = {"instance", "job", "alertname", "alertstate", "severity"}
NOT_OURS = {"up", "ALERTS", "ALERTS_FOR_STATE"}
PROMTOOL, PROMETHEUS = shutil.which("promtool"), shutil.which("prometheus")

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
METRIC = re.compile(r"\b((?:longwire|process)_[a-z_]+|up|ALERTS(?:_FOR_STATE)?)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
GROUPING = re.compile(r"\b(?:by|on|ignoring)\s*\(([^)]*)\)")


def list_expressions() -> Iterator[tuple[str, str]]:
    """(where, expression) of every panel and every rule."""
    for path in sorted((DEPLOY / "grafana" / "dashboards").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for each in panel.get("targets", ()):
                yield f"{path.name}: {panel['title']}", each["expr"]
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            yield f"{RULES.name}: {rule['alert']}", rule["expr"]


def list_problems(expr: str, exported: dict[str, dict[str, set[str]]]) -> Iterator[str]:
    """What an expression asks for that is not exported."""
    used: set[str] = set()
    for name, matchers in METRIC.findall(expr):
        if name in NOT_OURS:
            continue
        if name not in exported:
            yield f"{name} is not exported"
            continue
        used |= set(exported[name])
        for label, operator, value in MATCHER.findall(matchers):
            if label not in {*exported[name], *ADDED}:
                yield f"{name} has no label {label}"
            elif label not in ADDED:
                wanted = set(value.split("|") if "~" in operator else [value])
                # A connector beyond the maximum is called so; there is none here.
                if missing := wanted - exported[name][label] - {"other"}:
                    yield f"{name} has no {label} {missing}"
    for labels in GROUPING.findall(expr):
        grouped = {label.strip() for label in labels.split(",") if label.strip()}
        # Alerts have the labels of whatever raised them.
        if "ALERTS" not in expr and (unknown := grouped - used - ADDED):
            yield f"no metric in it has the label {', '.join(sorted(unknown))}"


def test_a_wrong_name_is_noticed() -> None:
    exported = {"longwire_a_total": {"kind": {"data"}}}
    good = 'sum by (kind) (rate(longwire_a_total{kind="data", job="longwire"}[5m]))'
    assert list(list_problems(good, exported)) == []
    for bad in (
        good.replace("_a_", "_b_"),
        good.replace("data", "date"),
        good.replace("by (k", "by (m"),
    ):
        assert list(list_problems(bad, exported)), bad


@pytest.fixture
def troubled(make_world) -> World:
    """A service with a broker that is unreachable, and a connector whose receiver is."""
    world = make_world(metrics_token=TOKEN, mqtt_url="mqtt://127.0.0.1:9")
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    ada.connector(group, "http://127.0.0.1:9/", retryPolicy={"retryDelay": 60, "maxRetry": 9})
    ada.reports(device)
    eventually(lambda: 'longwire_connector_failures{connector="' in scrape(world))
    return world


def scrape(world: World) -> str:
    world.clock.let_pass(seconds=60)  # metrics of the database are cached
    response = httpx.get(
        f"{world.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE_S
    )
    assert response.status_code == 200
    return response.text


def parse(text: str) -> dict[str, dict[str, set[str]]]:
    """The labels of each metric, and the values of each label."""
    exported: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            exported[name]
            # Counters whose labels have no value yet have no sample: their names are known anyway.
            exported[f"{name}_total" if kind == "counter" and not name.endswith("_total") else name]
        elif not line.startswith("#"):
            name, labels, _ = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
            exported[name]
            for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""):
                exported[name][label].add(value)
    return exported


@on_sqlite
def test_every_metric_and_label_in_dashboards_and_rules_is_exported(troubled: World) -> None:
    exported = parse(scrape(troubled))
    exported["longwire_network_decode_failures_total"]["type"]  # has no value before a failure
    problems = [
        f"{where}: {problem}"
        for where, expr in list_expressions()
        for problem in list_problems(expr, exported)
    ]
    assert problems == []


def test_dashboards_are_what_their_script_writes() -> None:
    spec = importlib.util.spec_from_file_location("build", DEPLOY / "grafana" / "build.py")
    assert spec and spec.loader
    build: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    written = {path.name: path.read_text() for path in build.FOLDER.glob("*.json")}
    assert written == {name: build.render(name) for name in build.DASHBOARDS}


def test_every_alert_says_what_to_do_and_is_tested() -> None:
    tested = (RULES.parent / "rules_test.yml").read_text()
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("page", "ticket")
            assert rule["annotations"]["summary"] and rule["annotations"]["action"]
            assert f'alertname="{rule["alert"]}"' in tested


@pytest.mark.slow
@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed; `make deploy-tools`")
def test_rules_fire_when_they_should_and_only_then() -> None:
    for arguments in (["check", "rules", "rules.yml"], ["test", "rules", "rules_test.yml"]):
        ran = subprocess.run(
            [PROMTOOL, *arguments], cwd=RULES.parent, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.slow
@pytest.mark.skipif(PROMETHEUS is None, reason="Prometheus is not installed; `make deploy-tools`")
@on_sqlite
def test_prometheus_scrapes_it_and_evaluates_every_panel(troubled: World, tmp_path: Path) -> None:
    with prometheus(troubled, tmp_path) as http:

        def query(expr: str) -> dict[str, Any]:
            return http.get("/api/v1/query", params={"query": expr}).json()

        eventually(lambda: bool(query("longwire_healthy")["data"]["result"]), 60)
        for where, expr in list_expressions():
            assert query(expr)["status"] == "success", where
        found: list[Any] = []

        def is_there() -> bool:  # not in a scrape that took too long
            failures = 'longwire_connector_failures{connector!="other"}'
            found[:] = query(failures)["data"]["result"]
            return len(found) == 1

        eventually(is_there)
        (failing,) = found
        assert failing["metric"]["type"] == "http"
        rules = http.get("/api/v1/rules").json()["data"]["groups"][0]["rules"]
        assert all(rule["health"] in ("ok", "unknown") for rule in rules)


@contextmanager
def prometheus(world: World, folder: Path) -> Iterator[httpx.Client]:
    """Prometheus with our configuration, of which only places differ."""
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    (folder / "token").write_text(TOKEN)
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(RULES)]
    (job,) = config["scrape_configs"]
    job["authorization"]["credentials_file"] = str(folder / "token")
    job["static_configs"] = [{"targets": [world.url.removeprefix("http://")]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    process = subprocess.Popen(
        [
            PROMETHEUS,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S) as http:

            def is_ready() -> bool:
                try:
                    return http.get("/-/ready").status_code == 200
                except httpx.TransportError:
                    return False

            eventually(is_ready, 60)
            yield http
    finally:
        process.terminate()
        process.wait(60)
