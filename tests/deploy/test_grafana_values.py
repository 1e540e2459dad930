"""The dashboard of values asks for what the service has, as the plugin of Grafana asks for it."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.waiting import PATIENCE_S
from tests.world import World, ok, record_of

FOLDER = Path(__file__).parents[2] / "deploy/grafana/values"
CHOSEN = {
    **{"measurement": "litres", "span": "day", "zone": "Europe/Paris"},
    "__from:date:iso": "2026-02-28T00:00:00.000Z",
    "__to:date:iso": "2026-03-02T00:00:00.000Z",
}


def load_build() -> Any:
    spec = importlib.util.spec_from_file_location("build_values", FOLDER / "build.py")
    assert spec and spec.loader
    build: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    return build


def fill_in(text: str, chosen: dict[str, str]) -> str:
    """What Grafana makes of variables."""
    return re.sub(r"\$\{([^}]+)\}|\$(\w+)", lambda found: chosen[found[1] or found[2]], text)


def select(row: Any, selector: str) -> Any:
    for name in selector.split("."):
        row = row[name]
    return row


def test_the_dashboard_is_what_its_script_writes() -> None:
    assert (FOLDER / "dashboard.json").read_text() == load_build().render()


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_every_query_of_the_dashboard_is_answered(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    for number in (1, 2):
        device = ada.device(group, name=f"Meter {number}")
        items = [
            record_of(
                device,
                "data",
                timestamp=f"2026-02-28T{hour:02}:00:00Z",
                data=json.dumps({"litres": hour * number}),
            )
            for hour in range(8, 12)
        ]
        ok(ada.post("/device/data/batch", {"items": items}))
    role = ada.role("device.read", "record.read")
    body = {"groupId": group, "name": "Grafana", "roleId": role}
    client = ok(ada.post("/appClient", body))

    # As oauth2/clientcredentials of Go asks: the client in the header, the grant in the form.
    text = (FOLDER / "datasource.yaml").read_text()
    environment = {"LONGWIRE_URL": world.url, "LONGWIRE_CLIENT_ID": client["appClientId"]}
    environment["LONGWIRE_CLIENT_SECRET"] = client["secret"]
    (source,) = yaml.safe_load(fill_in(text, environment))["datasources"]
    oauth2 = source["jsonData"]["oauth2"]
    secret = source["secureJsonData"]["oauth2ClientSecret"]
    granted = httpx.post(
        oauth2["token_url"],
        data={"grant_type": oauth2["oauth2_type"]},
        auth=(oauth2["client_id"], secret),
        timeout=PATIENCE_S,
    )
    assert granted.status_code == 200, granted.text
    headers = {"Authorization": f"Bearer {granted.json()['access_token']}"}

    chosen = {**CHOSEN, "group": group}
    rows = {}
    for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]:
        (target,) = panel["targets"]
        params = {
            each["key"]: fill_in(each["value"], chosen) for each in target["url_options"]["params"]
        }
        response = httpx.get(
            source["url"] + target["url"], params=params, headers=headers, timeout=PATIENCE_S
        )
        assert response.status_code == 200, response.text
        assert "longwire-ignored" not in response.headers
        root = target["root_selector"]
        found = response.json()[root] if root else response.json()
        columns = [fill_in(each["selector"], chosen) for each in target["columns"]]
        rows[panel["title"]] = [[select(row, name) for name in columns] for row in found]
    begin = "2026-02-27T23:00:00.000Z"
    assert rows == {
        "$measurement of the group": [[begin, (9.5 + 19) / 2]],
        "$measurement of each device": [[begin, "Meter 1", 9.5], [begin, "Meter 2", 19.0]],
        "Now": [
            ["Meter 2", 22, "2026-02-28T11:00:00.000Z"],
            ["Meter 1", 11, "2026-02-28T11:00:00.000Z"],
        ],
    }
