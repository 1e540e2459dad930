"""A public URL with a path: a proxy serves the service below it, and all links lead there."""

import re
from collections.abc import Callable

import pytest

from tests.world import World, ok, record_of

pytestmark = pytest.mark.engine_free

MakeWorld = Callable[..., World]


@pytest.fixture
def below(make_world: MakeWorld) -> World:
    return make_world(public_url="https://iot.example.com/longwire/")


@pytest.mark.parametrize("prefix", ["", "/longwire"], ids=["removed by the proxy", "passed on"])
def test_everything_is_served_whether_or_not_the_proxy_removes_the_path(
    below: World, prefix: str
) -> None:
    ada, http = below.person("ada"), below.http
    device = ada.device(ada.group())
    ok(ada.request("POST", f"{prefix}/device/data", json=record_of(device)))
    assert len(ok(ada.request("GET", f"{prefix}/device/data?deviceId={device}"))["items"]) == 1
    root = ok(http.get(f"{prefix}/"))
    assert root["documentation"] == "/longwire/docs" and root["openapi"] == "/longwire/openapi.json"
    page = http.get(f"{prefix}/docs").text
    for address in re.findall(r'(?:src|href)="([^"#:]+)"', page):
        assert not address.startswith("/"), "relative to the page, wherever that is"
        assert http.get(f"{prefix}/{address}").status_code == 200, address
    assert http.get(f"{prefix}/console", follow_redirects=False).headers["location"] == "console/"
    for path in {f"{prefix}/", prefix or "/"}:
        start = http.get(path, headers={"Accept": "text/html"}, follow_redirects=False)
        assert start.headers["location"] == "/longwire/console/"


def test_a_path_that_is_also_that_of_an_operation_is_the_operation(make_world: MakeWorld) -> None:
    world = make_world(public_url="https://iot.example.com/device")
    ada = world.person("ada")
    device = ada.device(ada.group())
    for path in ("/device/data", "/device/device/data"):
        ok(ada.request("POST", path, json=record_of(device, data=path)))
    assert len(ada.records(device)) == 2


def test_services_below_two_paths_of_a_host_have_a_cookie_each(make_world: MakeWorld) -> None:
    names = set()
    for url in (
        "https://iot.example.com",
        "https://iot.example.com/a",
        "https://iot.example.com/b",
    ):
        world = make_world(public_url=url)
        ada = world.person("ada")
        body = {"clientId": ada.client_id, "clientSecret": ada.client_secret}
        own = {"X-Longwire-Console": "1"}
        cookie = world.http.post("/session", json=body, headers=own).headers["set-cookie"]
        assert "; Path=/;" in cookie
        assert ok(world.http.get("/session", headers={"Cookie": cookie.partition(";")[0]}))
        names.add(cookie.partition("=")[0])
    assert len(names) == 3 and "longwire" in names
