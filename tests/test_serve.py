"""`longwire serve` as a process: first start, stop, workers, and invalid settings."""

import asyncio
import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any, cast

import httpx
import psutil
import pytest

from longwire.cli.service import announce
from longwire.process.serve import _defer_hangup, _handle_hangup
from longwire.process.startup import OperatorCredentials, PreparationResult, describe_plain_http
from longwire.settings import Settings
from longwire.settings.fixed_limits import FixedLimits
from tests.certificates import write_certificate
from tests.conftest import PostgresServer
from tests.listening import Listening
from tests.process import Service, longwire
from tests.waiting import PATIENCE_S, eventually
from tests.world import Person, World, ok


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts services, and kills those that still run afterwards."""
    services: list[Service] = []

    def start(data: Path = tmp_path / "data", *flags: str, **how: Any) -> Service:
        services.append(Service(data, *flags, **how))
        return services[-1].started()

    yield start
    for service in services:
        service.clean_up()


def refusal(*flags: str, cwd: Path, **variables: str) -> str:
    """The one-line error of a service that did not start."""
    result = longwire("serve", *flags, cwd=cwd, **variables)
    assert result.returncode == 2, result
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr.removeprefix("longwire: ").strip()


# --- starting ---


# Large, and only some services or some requests need them.
LOADED_LATER = {
    *("aiohttp", "aiokafka", "aiormq", "nats", "psycopg", "pyarrow", "obstore"),
    *("apprise", "numpy", "shapely", "cel"),
    *("webauthn", "OpenSSL", "authlib", "joserfc"),
    *("alembic", "mako", "rich.console", "pygments", "httpx"),
    "sqlalchemy.dialects.postgresql",
}


def test_libraries_of_single_features_are_not_loaded_at_idle(
    serve: Callable[..., Service],
) -> None:
    """Not even by the first start of all, which creates the tables and the operator."""
    service = serve(under=("timeout", "600"), PYTHONPROFILEIMPORTTIME="1")
    ok(service.post_group("first"))
    assert service.stop() == 0
    loaded = {line.rpartition("|")[2].strip() for line in service.err.splitlines()}
    assert {"longwire.process.app", "sqlalchemy", "structlog"} <= loaded
    assert {*loaded, *(name.partition(".")[0] for name in loaded)} & LOADED_LATER == set()


def test_the_first_start_prints_credentials_to_a_terminal_only(
    serve: Callable[..., Service],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    service = serve()
    operator = service.operator
    assert set(operator) == {"baseUrl", "authUrl", "clientId", "clientSecret", "userId"}
    assert operator["baseUrl"] == operator["authUrl"] == service.url
    for name in ("operator.json", "secret.key", "longwire.db"):
        assert (service.data / name).stat().st_mode & 0o777 == 0o600, name
    assert service.data.stat().st_mode & 0o777 == 0o700
    assert f"credentials are in {service.data / 'operator.json'}" in service.out
    assert operator["clientSecret"] not in service.out + service.err
    assert "/sign-in" not in service.out + service.err

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    link = f"{service.url}/console/sign-in#link=lwl_0"
    issued = OperatorCredentials(
        operator["clientId"], operator["clientSecret"], operator["userId"], link
    )
    port = int(service.url.rpartition(":")[2])
    announce(Settings(data=service.data, port=port), PreparationResult([], issued))
    printed = capsys.readouterr().out
    assert f"\n  {link}\n" in printed
    assert f"client id      {operator['clientId']}\n" in printed
    assert f"client secret  {operator['clientSecret']}\n" in printed
    granted = json.loads(run_as_printed(printed))
    assert granted["token_type"] == "Bearer"
    me = ok(
        service.http.get("/user/me", headers={"Authorization": f"Bearer {granted['access_token']}"})
    )
    assert me["id"] == operator["userId"]
    ok(service.post_group("kept"))
    assert service.stop() == 0

    restarted = serve()
    assert restarted.out.count("\n") == 1
    assert operator["clientId"] not in restarted.out + restarted.err
    assert restarted.operator == operator
    assert restarted.group_names() == {"kept"}


@pytest.mark.engine_free
def test_the_last_thing_that_a_first_start_prints_is_the_link_that_signs_in(tmp_path: Path) -> None:
    reader, terminal = pty.openpty()
    command = [sys.executable, "-m", "longwire", "serve", "--data", str(tmp_path), "--port", "0"]
    started = subprocess.Popen(command, stdout=terminal, stderr=terminal)
    os.close(terminal)
    try:
        printed = b""
        while b"Sign in with a browser" not in printed or not printed.endswith(b"\r\n\r\n"):
            printed += os.read(reader, 65_536)
        # Nothing follows, until it is asked to stop.
        assert select.select([reader], [], [], 1.0)[0] == []
    finally:
        started.terminate()
        started.wait(PATIENCE_S)
        os.close(reader)
    lines = [line.strip() for line in printed.decode().splitlines() if line.strip()]
    assert re.fullmatch(r"http://\S+/console/sign-in#link=\S+", lines[-1]), lines[-1]
    assert any(line.startswith("curl ") for line in lines[:-1])


def run_as_printed(out: str) -> str:
    """Run the curl command that the first start prints."""
    (line,) = [line.strip() for line in out.splitlines() if line.strip().startswith("curl ")]
    if shutil.which("curl") is not None:
        return subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, timeout=PATIENCE_S, check=True
        ).stdout
    found = re.fullmatch(r"curl -s -X POST -u '(.+):(.+)' -H '(.+): (.+)' '(.+)'", line)
    assert found, line
    client_id, secret, name, value, url = found.groups()
    return httpx.post(url, auth=(client_id, secret), headers={name: value}, timeout=PATIENCE_S).text


def test_a_port_in_use_is_a_one_line_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = refusal("--port", str(port), "--data", "data", cwd=tmp_path)
    assert result.startswith(f"Cannot listen on 127.0.0.1:{port}: Address already in use.")
    assert "--port" in result
    assert not (tmp_path / "data").exists(), "nothing was made for a service that cannot start"


def test_a_wrong_key_is_refused_and_a_given_one_is_used(
    serve: Callable[..., Service], sqlite_template: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(sqlite_template, data)
    right = (data / "secret.key").read_text().strip()
    (data / "secret.key").write_text("5a" * 32)
    result = refusal("--data", "data", "--port", "0", cwd=tmp_path)
    assert "another secret key" in result
    assert "LONGWIRE_SECRET_KEY" in result
    service = serve(data, LONGWIRE_SECRET_KEY=right)
    assert service.token, "its seals open again"


@pytest.mark.engine_free
def test_several_workers_need_postgresql(tmp_path: Path) -> None:
    result = refusal("--workers", "2", "--data", "data", "--port", "0", cwd=tmp_path)
    assert result.startswith("workers: ")
    assert "PostgreSQL" in result
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("changes", "is_warned"),
    [
        ({}, False),
        ({"host": "localhost"}, False),
        ({"host": "::1"}, False),
        ({"host": "0.0.0.0"}, True),
        ({"host": "::"}, True),
        ({"host": "192.0.2.1"}, True),
        ({"host": "longwire.example.com"}, True),
        ({"host": "0.0.0.0", "tls_cert": "chain.pem", "tls_key": "key.pem"}, False),
        ({"host": "0.0.0.0", "trusted_proxies": (ip_network("10.0.0.0/8"),)}, False),
        ({"host": "0.0.0.0", "auth_url": "https://tokens.example.com"}, False),
    ],
)
def test_a_service_that_can_issue_no_token_to_other_machines_is_described(
    changes: dict[str, Any], is_warned: bool
) -> None:
    text = describe_plain_http(Settings(**changes))
    if not is_warned:
        assert text is None
        return
    assert text is not None
    for name in ("tls_cert", "tls_key", "trusted_proxies"):
        assert name in text


# --- TLS ---


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A self-signed certificate for this machine, and its key."""
    return write_certificate(tmp_path)


def test_with_a_certificate_everything_is_https(
    serve: Callable[..., Service], certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    cert, key = certificate
    service = serve(tmp_path / "data", "--tls-cert", str(cert), "--tls-key", str(key))
    assert service.url.startswith("https://")
    assert service.operator["baseUrl"] == service.url
    default_tls_context = ssl.create_default_context(cafile=str(cert))
    at = service.url.replace("127.0.0.1", "localhost")
    with httpx.Client(base_url=at, verify=default_tls_context, timeout=PATIENCE_S) as http:
        response = http.get("/user/me", headers=service.bearer)
    assert ok(response)["id"] == service.operator["userId"]
    assert "max-age=" in response.headers["strict-transport-security"]
    with pytest.raises(httpx.TransportError):
        httpx.get(service.url.replace("https", "http") + "/health/live", timeout=PATIENCE_S)
    service.http.close()
    assert service.stop() == 0


def test_an_invalid_certificate_is_a_one_line_error(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    cert, key = map(str, certificate)
    (tmp_path / "invalid.pem").write_text("invalid")
    for wrong in (
        ("--tls-cert", cert, "--tls-key", "missing.pem"),
        ("--tls-cert", "invalid.pem", "--tls-key", key),
    ):
        result = refusal(*wrong, "--data", "data", "--port", "0", cwd=tmp_path)
        assert result.startswith("The certificate "), result
    assert "both or neither" in refusal("--tls-cert", cert, "--port", "0", cwd=tmp_path)
    assert not (tmp_path / "data").exists(), "credentials are not shown by what does not start"


# --- reloading ---


def served_certificate(service: Service) -> str:
    return ssl.get_server_certificate(("127.0.0.1", int(service.url.rpartition(":")[2])))


def reloads(service: Service) -> list[dict[str, Any]]:
    return [line for line in service.log if line["event"] == "settings reloaded"]


def test_a_sighup_during_the_start_is_handled_after_it() -> None:
    async def start() -> None:
        reloaded = asyncio.Event()
        _handle_hangup(deferred, reloaded.set)
        assert reloaded.is_set()
        reloaded.clear()
        os.kill(os.getpid(), signal.SIGHUP)
        await reloaded.wait()

    before = signal.getsignal(signal.SIGHUP)
    try:
        deferred = _defer_hangup()
        os.kill(os.getpid(), signal.SIGHUP)
        asyncio.run(start())
    finally:
        signal.signal(signal.SIGHUP, before)


def test_sighup_loads_a_renewed_certificate_and_changed_settings(
    serve: Callable[..., Service], certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    cert, key = certificate
    config = tmp_path / "longwire.toml"
    text = f'tls_cert = "{cert}"\ntls_key = "{key}"\n'
    config.write_text(text)
    service = serve(tmp_path / "data", "--config", str(config))
    group = ok(service.post_group("kept"))["id"]
    assert served_certificate(service) == cert.read_text()

    write_certificate(tmp_path)
    config.write_text(
        text + 'log_level = "debug"\nconnectors_per_group_max = 1\nstop_timeout_s = 5\n'
    )
    service.signal(signal.SIGHUP)
    eventually(lambda: reloads(service))
    assert served_certificate(service) == cert.read_text(), "the renewed one"
    (reload,) = reloads(service)
    assert set(reload["changed"]) == {"log_level", "connectors_per_group_max"}
    assert reload["needs_restart"] == ["stop_timeout_s"]
    body = {"groupId": group, "type": "http", "params": '{"url": "https://example.com"}'}
    ok(service.http.post("/connector", json=body, headers=service.bearer))
    refusal = service.http.post("/connector", json=body, headers=service.bearer)
    assert (refusal.status_code, refusal.json()["code"]) == (409, "limit_reached")
    assert any(line["event"] == "request" for line in service.log), "debug logs every request"

    served = served_certificate(service)
    cert.write_text("broken")
    service.signal(signal.SIGHUP)
    eventually(lambda: "reload failed, nothing was changed" in service.err)
    assert served_certificate(service) == served
    assert len(reloads(service)) == 1
    assert service.stop() == 0


# --- descriptors ---


def test_idle_clients_leave_descriptors_for_the_database_and_are_refused_with_a_word(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    few = ("bash", "-c", 'ulimit -Sn 64; ulimit -Hn 256; exec "$@"', "-")
    service = serve(tmp_path / "data", under=few)
    token = service.bearer
    (line,) = [line for line in service.log if line["event"] == "descriptor limit divided"]
    assert line["limit"] == 256, "the soft limit was raised"
    clients = line["connections_max"]
    assert 0 < clients < 128
    port = int(service.url.rpartition(":")[2])
    with contextlib.ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            for _ in range(400)
        ]
        eventually(lambda: "too many connections" in service.err)
        # The one that was there before is served, and can store.
        ok(service.http.post("/group", json={"name": "kept"}, headers=token))

        def sample(name: str) -> float:
            found = re.search(rf"^{name} (\S+)", service.http.get("/metrics").text, re.M)
            assert found
            return float(found[1])

        eventually(lambda: sample("longwire_connections_rejected_total") >= 400 - clients)
        assert sample("process_open_fds") < 250
        assert len(idle) == 400
    assert "Too many open files" not in service.err


# --- ending ---


class Posting(threading.Thread):
    """One request to create a group, on its own connection."""

    def __init__(self, service: Service, name: str) -> None:
        super().__init__()
        self.name = name
        self.status: int | None = None
        self.is_sent = False
        self._service = service
        self._headers = service.bearer
        self.start()

    def run(self) -> None:
        with httpx.Client(base_url=self._service.url, timeout=PATIENCE_S) as http:
            response = http.post(
                "/group",
                json={"name": self.name},
                headers=self._headers,
                extensions={"trace": self._trace},
            )
        self.status = response.status_code

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        self.is_sent |= event == "http11.send_request_body.complete"


def queue_requests(service: Service, count: int) -> list[Posting]:
    """Requests that the service has read and that wait for the locked database."""
    requests = [Posting(service, f"group {number}") for number in range(count)]
    eventually(lambda: have_arrived(service, *requests))
    return requests


def have_arrived(service: Service, *requests: Posting) -> bool:
    """Whether they are sent, and nothing that the service was sent is unread."""
    if not all(request.is_sent for request in requests):
        return False
    port = int(service.url.rpartition(":")[2])
    table = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return not any(
        int(queues.partition(":")[2], 16)
        for _, local, _, state, queues, *_ in table
        if int(local.partition(":")[2], 16) == port and state == "01"
    )


class Supervisor:
    """The socket of systemd."""

    def __init__(self, folder: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.path = folder / "notify"
        self._socket.bind(str(self.path))
        self._socket.settimeout(60)

    def next_message(self) -> dict[str, str]:
        """The next one that says more than that the process is alive."""
        while True:
            lines = self._socket.recv(4096).decode().splitlines()
            message = dict(line.split("=", 1) for line in lines)
            if message != {"WATCHDOG": "1"}:
                return message

    def next_sign_of_life(self) -> None:
        while self._socket.recv(4096) != b"WATCHDOG=1":
            pass

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with contextlib.closing(Supervisor(tmp_path)) as listening:
        yield listening


def test_systemd_is_notified_of_start_reload_life_and_stop(
    serve: Callable[..., Service], supervisor: Supervisor, tmp_path: Path
) -> None:
    notified = {"NOTIFY_SOCKET": str(supervisor.path), "WATCHDOG_USEC": "2000000"}
    service = serve(tmp_path / "data", "--lame-duck-s", "3600", **notified)
    ready = supervisor.next_message()
    assert ready["READY"] == "1" and service.url in ready["STATUS"]
    supervisor.next_sign_of_life()
    supervisor.next_sign_of_life()
    service.signal(signal.SIGHUP)
    reloading = supervisor.next_message()
    assert reloading["RELOADING"] == "1" and int(reloading["MONOTONIC_USEC"]) > 0
    assert supervisor.next_message()["READY"] == "1"
    service.signal(signal.SIGTERM)
    stopping = supervisor.next_message()
    assert stopping["STOPPING"] == "1"
    assert int(stopping["EXTEND_TIMEOUT_USEC"]) > 3_600_000_000

    # The lame duck: unready for the load balancer, still there for those who have not noticed.
    unready = service.http.get("/health/ready")
    assert unready.status_code == 503 and unready.json()["reason"] == "the service is stopping"
    assert service.http.get("/health/live").status_code == 200
    assert ok(service.post_group("late"))["name"] == "late"
    service.signal(signal.SIGTERM)  # a second signal cuts it short
    assert service.ended() == 0
    started = [line for line in service.log if line["event"] == "started"]
    assert [(each["command"], each["url"], each["pid"]) for each in started] == [
        ("serve", service.url, service.pid)
    ]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_completes_every_request_that_had_arrived(
    serve: Callable[..., Service], how: signal.Signals
) -> None:
    service = serve(TEST_PATIENT="1")
    assert service.token
    holder = sqlite3.connect(service.data / "longwire.db", isolation_level=None)
    holder.execute("begin immediate")
    requests = queue_requests(service, 5)
    service.signal(how)
    eventually(lambda: not service.is_live())
    assert not service.has_exited, "the stop must wait for the requests in progress"
    holder.execute("rollback")
    holder.close()
    for request in requests:
        request.join(PATIENCE_S)
    assert [request.status for request in requests] == [200] * len(requests)
    assert service.ended() == 0
    assert service.log[-1]["event"] == "stopped"
    assert not (service.data / "longwire.db-wal").exists(), "the WAL was not checkpointed"
    assert serve().group_names() == {request.name for request in requests}


def listen_as_two_callers(service: Service, group: str) -> list[Listening]:
    """Ten listeners: each caller may have eight."""
    body = {"groupId": group, "name": "screen"}
    client = ok(service.http.post("/appClient", json=body, headers=service.bearer))
    granted = service.http.post(
        "/oauth2/token?grant_type=client_credentials",
        auth=(client["appClientId"], client["secret"]),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    tokens = (service.token, ok(granted)["access_token"])
    # It has an address and a client, which is all that a person needs of a world.
    callers = [Person(cast(World, service), token, "", ("", "")) for token in tokens]
    return [Listening(callers[number % 2], groupId=group) for number in range(10)]


def test_a_stop_ends_listeners_before_it_waits_for_requests(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    service = serve(tmp_path / "data", "--stop-timeout-s", "3600", TEST_PATIENT="1")
    listeners = listen_as_two_callers(service, ok(service.post_group("quay"))["id"])
    holder = sqlite3.connect(service.data / "longwire.db", isolation_level=None)
    holder.execute("begin immediate")
    request = Posting(service, "pier")
    eventually(lambda: have_arrived(service, request))
    service.signal(signal.SIGTERM)
    assert [each.wait_for_end()["code"] for each in listeners] == ["stopping"] * 10
    assert not service.has_exited, "the request is not completed"
    holder.execute("rollback")
    holder.close()
    request.join(PATIENCE_S)
    assert (request.status, service.ended()) == (200, 0), "although no listener has hung up"
    for each in listeners:
        each.close()


def test_a_stop_waits_no_longer_than_its_timeout(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    service = serve(tmp_path / "data", "--stop-timeout-s", "1")
    half = socket.create_connection(("127.0.0.1", int(service.url.rpartition(":")[2])))
    half.sendall(
        f"POST /group HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {service.token}\r\nContent-Length: 100\r\n\r\n{{".encode()
    )
    eventually(service.is_live)
    service.signal(signal.SIGTERM)
    signalled_at = time.monotonic()
    assert service.ended() == 0
    waited_s = time.monotonic() - signalled_at
    assert waited_s < FixedLimits().request_timeout_s, "so long the request might have arrived"
    half.close()


# --- several workers ---


@pytest.fixture
def engine() -> str:
    return "postgresql"


def workers_of(service: Service) -> set[int]:
    return {child.pid for child in psutil.Process(service.pid).children()}


def test_several_workers_share_one_port_are_replaced_and_stop_together(
    serve: Callable[..., Service], settings: Settings
) -> None:
    database = ("--database", settings.database)
    service = serve(settings.data, *database, "--workers", "2", "--database-connections", "2")
    assert "client secret" not in service.out, "it was bootstrapped before"
    first = workers_of(service)
    assert len(first) == 2
    requests = [Posting(service, f"group {number}") for number in range(20)]
    for request in requests:
        request.join(PATIENCE_S)
    assert [request.status for request in requests] == [200] * 20
    eventually(lambda: counted(service, "/group") == 20)

    # One worker may have taken all requests before the other has started.
    eventually(lambda: [line["event"] for line in service.log].count("started") == 2)
    service.signal(signal.SIGHUP)
    eventually(lambda: len(reloads(service)) == 3)  # the parent and its workers
    assert workers_of(service) == first
    metrics = service.http.get("/metrics").text
    memory = re.search(r"^process_resident_memory_bytes (\S+)", metrics, re.M)
    assert memory
    used = sum(psutil.Process(pid).memory_info().rss for pid in first)
    assert float(memory[1]) == pytest.approx(used, rel=0.3), "of both workers"
    assert "longwire_build_info{" in metrics

    killed = min(first)
    psutil.Process(killed).kill()
    eventually(lambda: len(workers_of(service) - {killed}) == 2)
    assert len(first & workers_of(service)) == 1, "the other one went on"
    for number in range(10):
        ok(service.post_group(f"later {number}"))

    last = workers_of(service)
    assert service.stop() == 0
    assert not any(psutil.pid_exists(pid) for pid in last)
    assert "longwire serves" not in service.err
    with pytest.raises(httpx.ConnectError):
        httpx.get(service.url + "/health/live", timeout=PATIENCE_S)


def test_a_first_start_with_workers_names_the_credentials_once_and_they_end_with_their_parent(
    serve: Callable[..., Service], postgres: PostgresServer, tmp_path: Path
) -> None:
    name = postgres.create()
    service = serve(tmp_path / "new", "--database", postgres.url(name), "--workers", "2")
    assert service.out.count("operator.json") == 1
    assert service.token

    orphans = [psutil.Process(pid) for pid in workers_of(service)]
    service.kill()
    _, alive = psutil.wait_procs(orphans, timeout=PATIENCE_S)
    for orphan in alive:
        orphan.kill()
    assert alive == [], "they would keep the port"
    postgres.drop(name)


def counted(service: Service, path: str) -> float:
    """Successful POSTs over all workers, from whichever worker responds."""
    text = service.http.get("/metrics").text
    pattern = rf'longwire_request_seconds_count\{{method="POST",path="{path}",status="200"\}} (\S+)'
    found = re.search(pattern, text)
    return float(found[1]) if found else 0.0
