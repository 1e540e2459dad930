"""nginx and Caddy with the samples of deploy/; only names and places differ."""

import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.certificates import write_certificate
from tests.ports import free_port
from tests.waiting import eventually

DEPLOY = Path(__file__).parents[1] / "deploy"
NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
CADDY = shutil.which("caddy")
PROXIES = [
    pytest.param("nginx", marks=pytest.mark.skipif(NGINX is None, reason="nginx is not installed")),
    pytest.param("caddy", marks=pytest.mark.skipif(CADDY is None, reason="Caddy is not installed")),
]


@contextmanager
def run_nginx(
    folder: Path, upstream: int, *, port: int = 0, base_path: str = ""
) -> Iterator[tuple[str, ssl.SSLContext]]:
    """`base_path` is removed from requests, in the way that the documents describe."""
    certificate, key = write_certificate(folder, "127.0.0.1")
    http, https = free_port(), port or free_port()
    text = (DEPLOY / "nginx" / "longwire.conf").read_text()
    text = re.sub(r"^ *listen \[::\].*\n", "", text, flags=re.MULTILINE)
    for old, new in (
        ("127.0.0.1:8080", f"127.0.0.1:{upstream}"),
        ("listen 80;", f"listen 127.0.0.1:{http};"),
        ("listen 443 ", f"listen 127.0.0.1:{https} "),
        ("/etc/letsencrypt/live/longwire.example.com/fullchain.pem", str(certificate)),
        ("/etc/letsencrypt/live/longwire.example.com/privkey.pem", str(key)),
        ("/var/log/nginx/", f"{folder}/"),
    ):
        assert old in text
        text = text.replace(old, new)
    if base_path:
        before, location, _ = text.partition("    location / {")
        assert location
        text = f"{before}location {base_path}/ {{ proxy_pass http://longwire/; }} }}"
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


def wait_for(http: httpx.Client, folder: Path) -> None:
    """Until the service can be reached through the proxy."""

    def is_up() -> bool:
        try:
            return http.get("/health/ready").status_code == 200
        except httpx.TransportError:
            return False

    try:
        eventually(is_up, 60)
    except AssertionError:
        pytest.fail((folder / "proxy.log").read_text())


RUN: dict[str, Callable] = {"nginx": run_nginx, "caddy": run_caddy}
