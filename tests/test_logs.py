"""Logs: one format, searchable by request id, without secrets."""

import io
import json
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from longwire.process import logs
from tests.process import Service
from tests.world import copy_data_folder, ok, refused


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def restore_logging() -> Iterator[None]:
    """Configuring logging changes the whole process; restore it."""
    handlers, level = logging.getLogger().handlers, logging.getLogger().level
    yield
    structlog.reset_defaults()
    logging.getLogger().handlers, logging.getLogger().level = handlers, level


def logged(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


# --- format ---


@pytest.mark.parametrize(
    "form, stream, is_json",
    [
        ("auto", io.StringIO, True),
        ("auto", Terminal, False),
        ("json", Terminal, True),
        ("human", io.StringIO, False),
    ],
)
def test_people_get_lines_and_machines_get_json(
    form: str, stream: type[io.StringIO], is_json: bool
) -> None:
    out = stream()
    logs.configure_logging("info", form, out)
    structlog.get_logger().info("a boat came in", boat="Anna")
    assert "a boat came in" in out.getvalue()
    assert "Anna" in out.getvalue()
    assert out.getvalue().count("\n") == 1
    assert out.getvalue().startswith("{") == is_json
    if is_json:
        (line,) = logged(out)
        assert line["level"] == "info"
        assert line["timestamp"].endswith("Z")


@pytest.mark.parametrize("accepted_max", [100_000, 10_000])
def test_a_line_is_one_write_and_whole_also_after_a_short_one(accepted_max: int) -> None:
    writes: list[bytes] = []

    class Standard(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            writes.append(bytes(data[:accepted_max]))
            return len(writes[-1])

    # As Python opens the standard error stream.
    out = io.TextIOWrapper(io.BufferedWriter(Standard()), line_buffering=True)
    logs.configure_logging("info", "json", out)
    structlog.get_logger().info("a boat came in", boat="Anna" * 10_000)
    assert len(writes) == 1 or len(writes[0]) == accepted_max
    assert json.loads(b"".join(writes))["boat"] == "Anna" * 10_000


@pytest.mark.parametrize(
    "level, logged_levels",
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_the_log_level_is_applied(level: str, logged_levels: list[str]) -> None:
    out = io.StringIO()
    logs.configure_logging(level, "json", out)
    for each in ("debug", "info", "warning", "error"):
        getattr(structlog.get_logger(), each)("something")
    assert [line["level"] for line in logged(out)] == logged_levels


def test_logs_of_libraries_have_the_same_format_from_level_warning() -> None:
    out = io.StringIO()
    logs.configure_logging("debug", "json", out)
    library = logging.getLogger("some.library")
    library.debug("chatter")
    library.info("chatter")
    library.warning("%d boats are late", 2)
    (line,) = logged(out)
    assert line["event"] == "2 boats are late"
    assert line["level"] == "warning"
    assert line["logger"] == "some.library"


@pytest.mark.parametrize("form", ["json", "human"])
def test_a_traceback_shows_no_local_variables(form: str) -> None:
    out = io.StringIO()
    logs.configure_logging("info", form, out)

    def fail(client_secret: str) -> None:
        raise RuntimeError("the mast broke")

    try:
        fail("canary-" + "in-a-variable")
    except RuntimeError:
        structlog.get_logger().exception("unexpected")
        logging.getLogger("library").exception("unexpected too")
    assert out.getvalue().count("RuntimeError: the mast broke") == 2
    assert "in fail" in out.getvalue()
    assert "canary-in-a-variable" not in out.getvalue()
    if form == "json":
        assert len(logged(out)) == 2, "one line each"


# --- secrets ---


@pytest.mark.parametrize(
    "name",
    [
        "secret",
        "clientSecret",
        "client_secret",
        "password",
        "Authorization",
        "token",
        "access_token",
        "pushToken",
        "pac",
        "params",
    ],
)
def test_a_value_under_a_sensitive_key_is_masked(name: str) -> None:
    out = io.StringIO()
    logs.configure_logging("info", "json", out)
    structlog.get_logger().info("something", **{name: "canary", "boat": "Anna"})
    (line,) = logged(out)
    assert line[name] == "***"
    assert line["boat"] == "Anna"


@pytest.mark.parametrize("form", ["json", "human"])
def test_no_secret_is_logged_even_at_the_debug_level(
    sqlite_template: Path, tmp_path: Path, form: str
) -> None:
    data = copy_data_folder(sqlite_template, tmp_path / "data")
    service = Service(data, "--log-level", "debug", "--log-format", form)
    try:
        service.started()
        secrets = send_secrets(service)
        assert service.stop() == 0
        written = service.out + service.err
        assert "/user/vendorToken" in written, "every request is logged"
        assert "unexpected error" in written, "the failure is logged too"
        leaked = {name for name, secret in secrets.items() if secret in written}
        assert leaked == set()
    finally:
        service.clean_up()


def send_secrets(service: Service) -> dict[str, str]:
    """Send valid and invalid requests that carry or return secrets; the secrets by name."""
    operator = service.operator
    http, bearer = service.http, service.bearer
    group = ok(service.post_group("harbour"))
    client = ok(
        http.post("/appClient", json={"groupId": group["id"], "name": "app"}, headers=bearer)
    )
    secrets = {
        "client secret": operator["clientSecret"],
        "access token": service.token,
        "network token": group["token"],
        "app client secret": client["secret"],
        "secret key": (service.data / "secret.key").read_text().strip(),
        "push token": "canary-push-1f0c",
        "push token that failed": "canary-push-2a9d",
        "wrong secret": "canary-wrong-3b8e",
        "wrong token": "canary-token-4c7f",
        "token in the query": "canary-query-5d60",
        "text of a broken body": "canary-body-6e51",
    }
    ok(http.put("/user/vendorToken", json={"token": secrets["push token"]}, headers=bearer))
    http.post(
        "/oauth2/token?grant_type=client_credentials",
        auth=(operator["clientId"], secrets["wrong secret"]),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    http.post(f"/oauth2/token?client_secret={secrets['wrong secret']}")
    http.get("/user/me", headers={"Authorization": f"Bearer {secrets['wrong token']}"})
    http.get(f"/user/me?token={secrets['token in the query']}")
    http.put("/user/vendorToken", content=secrets["text of a broken body"], headers=bearer)
    fail_inside(service, secrets["push token that failed"])
    return secrets


def fail_inside(service: Service, push_token: str) -> None:
    """Rename a table, so that the service fails while it handles the secret."""
    database = sqlite3.connect(service.data / "longwire.db")
    database.execute("alter table push_token rename to hidden")
    database.close()
    response = service.http.put(
        "/user/vendorToken", json={"token": push_token}, headers=service.bearer
    )
    assert response.status_code == 500
    assert push_token not in response.text


# --- request ids ---


def test_a_request_is_logged_under_the_id_that_its_client_received(
    sqlite_template: Path, tmp_path: Path
) -> None:
    service = Service(
        copy_data_folder(sqlite_template, tmp_path / "data"), "--log-level", "debug"
    ).started()
    try:
        ours = service.http.get("/user/me").headers["x-request-id"]
        theirs = service.http.get("/nowhere", headers={"X-Request-Id": "trace-me-7"})
        assert theirs.headers["x-request-id"] == "trace-me-7"
        forged = 'x"} {"event":"forged"'
        service.http.get("/nowhere", headers={"X-Request-Id": forged})
        unread = refused(service.http.get("/user/me", headers={"X-Long": "x" * 20_000}), 431)
        assert service.stop() == 0
    finally:
        service.clean_up()
    requests = {line["request_id"]: line for line in service.log if line["event"] == "request"}
    assert (requests[ours]["path"], requests[ours]["status"]) == ("/user/me", 401)
    assert (requests["trace-me-7"]["method"], requests["trace-me-7"]["status"]) == ("GET", 404)
    assert requests[ours]["address"] == "127.0.0.1"
    assert requests[ours]["seconds"] >= 0
    assert forged not in requests
    rejected = {
        line["request_id"]: line for line in service.log if line["event"] == "connection rejected"
    }
    assert rejected[unread["requestId"]]["code"] == "head_too_large"


def is_slow_request(line: dict[str, Any]) -> bool:
    """Which is logged at any level, as on a busy machine."""
    return line["event"] == "request" and float(line["seconds"]) > 1


def test_at_the_default_level_a_successful_request_is_not_logged(
    sqlite_template: Path, tmp_path: Path
) -> None:
    service = Service(copy_data_folder(sqlite_template, tmp_path / "data")).started()
    try:
        ok(service.post_group("harbour"))
        service.http.get("/nowhere")
        assert service.stop() == 0
    finally:
        service.clean_up()
    events = [line["event"] for line in service.log if not is_slow_request(line)]
    assert events == [
        "memory bounded",
        "descriptor limit divided",
        "started",
        "stopping",
        "stopped",
    ]
