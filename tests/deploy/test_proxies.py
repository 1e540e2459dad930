"""The samples for nginx and Caddy, run in front of a real service; only names and places differ."""

import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path

import httpx
import pytest

from tests.certificates import write_certificate
from tests.delivery.brokers import free_port
from tests.waiting import eventually
from tests.world import World

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
CADDY = shutil.which("caddy")
PROXIES = [
    pytest.param("nginx", marks=pytest.mark.skipif(NGINX is None, reason="nginx is not installed")),
    pytest.param("caddy", marks=pytest.mark.skipif(CADDY is None, reason="Caddy is not installed")),
]


@contextmanager
def run_nginx(folder: Path, upstream: int) -> Iterator[tuple[str, ssl.SSLContext]]:
    certificate, key = write_certificate(folder, "127.0.0.1")
    http, https = free_port(), free_port()
    text = (DEPLOY / "nginx" / "longwire.conf").read_text()
    text = re.sub(r"^ *listen \[::\].*\n", "", text, flags=re.MULTILINE)
    for old, new in (
        ("127.0.0.1:8080", f"127.0.0.1:{upstream}"),
        ("listen 80;", f"listen 127.0.0.1:{http};"),
        ("listen 443 ", f"listen 127.0.0.1:{https} "),
        ("/etc/letsencrypt/live/longwire.example.com/fullchain.pem", str(certificate)),
        ("/etc/letsencrypt/live/longwire.example.com/privkey.pem", str(key)),
    ):
        assert old in text
        text = text.replace(old, new)
    (folder / "longwire.conf").write_text(text)
    (folder / "nginx.conf").write_text(
        # As root, its workers would be another user, who may not enter this folder.
        f"{'user root;' if os.getuid() == 0 else ''} daemon off; worker_processes 1;"
        f" pid {folder}/pid; error_log {folder}/error.log;"
        f" events {{}} http {{ access_log off; include {folder}/longwire.conf;"
        + "".join(
            f" {name}_temp_path {folder}/{name};"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        + " }"
    )
    command = [str(NGINX), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    with running(command, folder):
        yield f"https://127.0.0.1:{https}", ssl.create_default_context(cafile=str(certificate))


@contextmanager
def run_caddy(folder: Path, upstream: int) -> Iterator[tuple[str, ssl.SSLContext]]:
    certificate, key = write_certificate(folder, "127.0.0.1")
    port = free_port()
    text = (DEPLOY / "caddy" / "Caddyfile").read_text()
    for old, new in (
        ("{\n", "{\n\tadmin off\n\tauto_https off\n"),
        ("{$DOMAIN:localhost} {\n", f"https://127.0.0.1:{port} {{\n\ttls {certificate} {key}\n"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "Caddyfile").write_text(text)
    env = {
        **os.environ,
        "UPSTREAM": f"127.0.0.1:{upstream}",
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    with running([str(CADDY), "run", "--config", str(folder / "Caddyfile")], folder, env):
        yield f"https://127.0.0.1:{port}", ssl.create_default_context(cafile=str(certificate))


@contextmanager
def running(command: list[str], folder: Path, env: dict[str, str] | None = None) -> Iterator[None]:
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=env)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


RUN: dict[str, Callable] = {"nginx": run_nginx, "caddy": run_caddy}


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

        def is_up() -> bool:
            try:
                return http.get("/health/ready").status_code == 200
            except httpx.TransportError:
                return False

        try:
            eventually(is_up, 60)
        except AssertionError:
            pytest.fail((tmp_path / "proxy.log").read_text())
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
