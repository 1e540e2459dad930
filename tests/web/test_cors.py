"""Pages of other origins that the operator names use the API with a token, never a cookie."""

from collections.abc import Callable

import httpx
import pytest

from longwire.settings.declaration import SettingsError
from longwire.settings.loading import load
from longwire.web.origins import parse_origins
from tests.world import World, record_of

pytestmark = pytest.mark.engine_free

MakeWorld = Callable[..., World]

APP = "https://app.example.com"
OTHER = "https://evil.example.com"


@pytest.fixture
def open_world(make_world: MakeWorld) -> World:
    """A world whose operator allows two other origins."""
    return make_world(cors_origins=f"{APP}, http://localhost:5173")


def preflight(world: World, path: str, method: str, origin: str = APP) -> httpx.Response:
    headers = {"Origin": origin, "Access-Control-Request-Method": method}
    return world.http.options(path, headers=headers)


def is_readable(response: httpx.Response, origin: str = APP) -> bool:
    assert "access-control-allow-credentials" not in response.headers
    return response.headers.get("access-control-allow-origin") == origin


def test_without_the_setting_no_page_of_another_origin_reads_anything(world: World) -> None:
    ada = world.person("ada")
    assert not is_readable(ada.request("GET", "/user/me", headers={"Origin": APP}))
    assert preflight(world, "/device/data", "POST").status_code == 405


def test_an_allowed_origin_uses_the_api_with_a_token(open_world: World) -> None:
    world, ada = open_world, open_world.person("ada")
    device = ada.device(ada.group())
    allowed = preflight(world, "/device/data", "POST")
    assert allowed.status_code == 204 and is_readable(allowed)
    assert "POST" in allowed.headers["access-control-allow-methods"]
    assert "authorization" in allowed.headers["access-control-allow-headers"]

    here = {"Origin": APP}
    stored = ada.request("POST", "/device/data", json=record_of(device), headers=here)
    assert stored.status_code == 200 and is_readable(stored)
    page = ada.request("GET", f"/device/data?deviceId={device}", headers=here)
    assert len(page.json()["items"]) == 1 and is_readable(page)
    assert "origin" in page.headers["vary"]
    refusal = world.http.get("/user/me", headers=here)
    assert refusal.status_code == 401 and is_readable(refusal), "it may read why"
    assert is_readable(world.http.post("/oauth2/token", headers=here))
    export = f"/records/export?deviceId={device}&kind=data"
    assert is_readable(ada.request("GET", export, headers=here)), "a stream"


def test_other_origins_and_what_is_for_the_operator_stay_closed(open_world: World) -> None:
    world, ada = open_world, open_world.person("ada")
    elsewhere = {"Origin": OTHER}
    page = ada.request("GET", "/user/me", headers=elsewhere)
    assert "access-control-allow-origin" not in page.headers
    assert preflight(world, "/user/me", "GET", OTHER).status_code == 405
    assert preflight(world, "/user/me", "GET", "null").status_code == 405
    for path in ("/metrics", "/health/ready", "/console/", "/session"):
        assert preflight(world, path, "GET").status_code == 405
        assert not is_readable(world.http.get(path, headers={"Origin": APP}))


def test_a_cookie_is_refused_from_an_allowed_origin_too(open_world: World) -> None:
    world, ada = open_world, open_world.person("ada")
    signed_in = world.http.post(
        "/session",
        json={"clientId": ada.client_id, "clientSecret": ada.client_secret},
        headers={"X-Longwire-Console": "1"},
    )
    assert signed_in.status_code == 200, signed_in.text
    cookie = {"Cookie": signed_in.headers["set-cookie"].partition(";")[0]}
    assert world.http.get("/user/me", headers=cookie).status_code == 200
    crossed = world.http.get("/user/me", headers={**cookie, "Origin": APP})
    assert crossed.status_code == 403


@pytest.mark.parametrize(
    "text", ["app.example.com", "https://a/b", "null", "https://*.example.com"]
)
def test_what_is_no_origin_is_refused_at_the_start(text: str) -> None:
    with pytest.raises(SettingsError, match="cors_origins"):
        load({"cors_origins": text}, {})
    assert parse_origins(" HTTPS://App.example.com ,*") == {APP, "*"}
