"""The samples for nginx and Caddy, run in front of a real service."""

import ssl
from ipaddress import ip_network
from pathlib import Path

import httpx
import pytest

from tests.ports import free_port
from tests.proxies import PROXIES, RUN, wait_for
from tests.waiting import eventually
from tests.world import World

SECRET = "5d1c1b4e-the-token-of-a-group"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", PROXIES)
def test_a_service_behind_a_proxy(name: str, make_world, tmp_path: Path) -> None:
    world: World = make_world(
        trusted_proxies=(ip_network("127.0.0.1/32"),),
        connections_per_address_max=0,
        token_lifetime_s=3600,
    )
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with (
        RUN[name](tmp_path, world.port) as (url, trust),
        httpx.Client(
            base_url=url,
            transport=client_elsewhere(trust),
            headers={"Authorization": f"Bearer {ada.token}"},
            timeout=60,
        ) as http,
    ):
        wait_for(http, tmp_path)
        assert http.get("/metrics").status_code == 404
        assert http.get("/console/").status_code == 200
        check_stream(world, ada, http, group, device)
        check_sizes(http, device)
        check_address(world, http)


def client_elsewhere(trust: ssl.SSLContext) -> httpx.HTTPTransport:
    """A client whose address is not the trusted one of the proxy."""
    return httpx.HTTPTransport(verify=trust, local_address="127.0.0.2")


def check_stream(world, ada, http: httpx.Client, group: str, device: str) -> None:
    """An event arrives while the stream is open, though nothing follows it."""
    with http.stream("GET", "/live", params={"groupId": group}) as stream:
        assert stream.status_code == 200, stream.read()
        lines = stream.iter_lines()
        next(lines)  # the stream is open
        ada.reports(device, "event")
        assert any(device in line for line in lines if line.startswith("data:"))


def check_sizes(http: httpx.Client, device: str) -> None:
    """What longwire takes goes through, and what is too large is refused."""
    within = http.post("/device/data/batch", content=b" " * (8 * 1024 * 1024))
    assert within.status_code == 400, within.text  # it arrived: it is no JSON
    assert http.post("/device/data/batch", content=b" " * 10_000_000).status_code == 413


def check_address(world: World, http: httpx.Client) -> None:
    """A client cannot choose the address by which its failures are counted."""
    statuses = [
        http.post(
            "/oauth2/token?grant_type=client_credentials",
            auth=("cli_x", "no"),
            headers={
                "X-Forwarded-For": f"203.0.113.{n}",
                "Content-Type": "application/x-www-form-urlencoded",
            },
        ).status_code
        for n in range(8)
    ]
    assert 429 in statuses, statuses


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", PROXIES)
def test_no_log_of_a_proxy_has_a_query_string(name: str, make_world, tmp_path: Path) -> None:
    world: World = make_world(trusted_proxies=(ip_network("127.0.0.1/32"),))
    headers = {"Referer": f"https://elsewhere.example.com/?token={SECRET}"}
    for upstream, status in ((world.port, 401), (free_port(), 502)):
        folder = tmp_path / str(status)
        folder.mkdir()
        with (
            RUN[name](folder, upstream) as (url, trust),
            httpx.Client(base_url=url, verify=trust, headers=headers, timeout=60) as http,
        ):
            eventually(lambda: asks(http) == status, 60)  # noqa: B023 (it is called right here)
        logs = {path.name: path.read_text() for path in folder.glob("*.log")}
        assert [each for each, text in logs.items() if SECRET in text] == []
        if name == "nginx" or status == 502:
            assert any("/network/chirpstack" in text for text in logs.values()), logs


def asks(http: httpx.Client) -> int | None:
    try:
        return http.post("/network/chirpstack", params={"token": SECRET}, json={}).status_code
    except httpx.TransportError:
        return None
