"""The console below a path of a host, whether or not a proxy removes that path."""

import re
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import expect

from tests.chromium import Driver
from tests.console.browser import Console, open_console
from tests.console.conftest import OpenConsole
from tests.ports import free_port
from tests.proxies import NGINX, run_nginx, wait_for
from tests.waiting import PATIENCE_S
from tests.world import Person, World

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

BELOW = "/longwire"


def walk(console: Console, ada: Person, harbour: str) -> None:
    """Sign in, see what arrives, follow and open links, take a file along, sign out."""
    device = ada.device(harbour, name="Cold room")
    outside: list[str] = []
    console.context.on(
        "request",
        lambda request: (
            None
            if urlsplit(request.url).path.startswith(f"{BELOW}/")
            else outside.append(request.url)
        ),
    )
    console.expected_statuses = {401}  # nobody is signed in yet
    page = console.open(f"/g/{harbour}/live")
    expect(page).to_have_url(f"{console.url}/console/sign-in?next=%2Fg%2F{harbour}%2Flive")
    page.get_by_text("Use a client id and secret").click()
    page.get_by_label("Client id").fill(ada.client_id)
    page.get_by_label("Client secret").fill(ada.client_secret)
    page.get_by_role("button", name="Sign in with the secret").click()
    expect(page).to_have_url(f"{console.url}/console/g/{harbour}/live")
    expect(page.get_by_role("button", name=re.compile("Live updates: live"))).to_be_visible()
    ada.reports(device, data='{"celsius":9.5}')
    expect(page.get_by_role("grid", name="Records")).to_contain_text("celsius 9.5")
    page.get_by_role("link", name="Cold room").click()
    expect(page).to_have_url(f"{console.url}/console/d/{device}")
    page.reload()
    expect(page.get_by_role("heading", name="Cold room")).to_be_visible()
    page.get_by_role("link", name="Map", exact=True).click()
    expect(page.get_by_role("application", name=re.compile("Map|Devices"))).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("Audit")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"^{console.url}/console/g/{harbour}/audit"))
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem").first.click()
    assert "Cold room" in download.value.path().read_text()
    page.get_by_role("link", name="App clients").click()
    expect(page.locator(".state-curl code")).to_contain_text(f"{console.url}/appClient")
    expect(page.get_by_role("link", name="All operations")).to_have_attribute(
        "href", f"{BELOW}/docs"
    )
    page.get_by_role("button", name=re.compile("Signed in as")).click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page).to_have_url(f"{console.url}/console/sign-in")
    assert outside == []


def test_a_path_that_is_passed_on(make_world, browse: OpenConsole) -> None:
    world: World = make_world(public_url=f"https://iot.example.com{BELOW}")
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with browse(world, url=world.url + BELOW) as console:
        walk(console, ada, harbour)
    # Past the proxy there is no such path, and the same console.
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("link", name="Cold room").click()
        expect(page).to_have_url(re.compile(f"^{world.url}/console/d/dev_"))
        expect(page.get_by_role("heading", name="Cold room")).to_be_visible()


@pytest.mark.soak  # tests/web/test_base_path.py has a proxy that removes the path
@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_a_path_that_nginx_removes(make_world, driver: Driver, tmp_path: Path) -> None:
    port = free_port()
    url = f"https://127.0.0.1:{port}{BELOW}"
    world: World = make_world(
        public_url=url,
        trusted_proxies=(ip_network("127.0.0.1/32"),),
        connections_per_address_max=0,
    )
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with run_nginx(tmp_path, world.port, port=port, base_path=BELOW) as (_, trust):
        with httpx.Client(base_url=url, verify=trust, timeout=PATIENCE_S) as http:
            wait_for(http, tmp_path)
        with driver.awake():
            chromium = driver.launch("--ignore-certificate-errors")
            with open_console(chromium, world, url=url) as console:
                walk(console, ada, harbour)
            chromium.close()
