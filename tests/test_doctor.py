"""`longwire doctor`: what is wrong is found and said in one line each, with what to do."""

import json
import socket
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longwire.doctor import machine
from longwire.doctor.findings import Area, run_checks
from longwire.settings import Settings
from tests.certificates import write_certificate
from tests.process import longwire
from tests.world import World

Findings = list[dict[str, Any]]


def examine(cwd: Path, *flags: str, **variables: str) -> Findings:
    result = longwire("doctor", "--json", *flags, cwd=cwd, **variables)
    assert result.stderr == ""
    found: Findings = json.loads(result.stdout)
    has_problem = any(each["severity"] == "problem" for each in found)
    assert result.returncode == (3 if has_problem else 0)
    for each in found:
        assert "\n" not in each["text"] + each["advice"]
        assert bool(each["advice"]) == (each["severity"] != "ok"), "what is wrong says what to do"
    return found


def of(found: Findings, area: str, severity: str) -> list[str]:
    return [each["text"] for each in found if each["area"] == area and each["severity"] == severity]


def is_said(text: str, found: Findings, area: str, severity: str) -> bool:
    return any(text in each for each in of(found, area, severity))


@pytest.mark.slow
@pytest.mark.ordinary_variant("sqlite")
def test_a_healthy_service_is_examined_while_it_runs_and_after(
    world: World, tmp_path: Path
) -> None:
    settings = world.settings
    flags = ["--data", str(settings.data), "--database", settings.database]
    running = examine(tmp_path, *flags, "--port", str(world.port), "--deep")
    assert is_said("is ready", running, "service", "ok")
    assert of(running, "database", "problem") == of(running, "database", "warning") == []
    for text in ("the schema is that", "the secret key is that", "0 messages wait"):
        assert is_said(text, running, "database", "ok")
    world.stop()
    try:
        stopped = examine(tmp_path, *flags, "--port", str(world.port))
        assert is_said("no service runs", stopped, "service", "ok")
        assert is_said("the schema is that", stopped, "database", "ok")
    finally:
        world.start()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)  # which is what is broken here
def test_everything_that_is_wrong_is_found_at_once_and_no_secret_is_shown(
    world: World, tmp_path: Path
) -> None:
    data = world.settings.data
    (data / "operator.json").touch()
    (data / "operator.json").chmod(0o644)
    certificate, key = write_certificate(tmp_path)
    Path(key).chmod(0o640)
    with socket.create_server(("127.0.0.1", 0)) as stranger, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # but it does not listen
        found = examine(
            tmp_path,
            *("--data", str(data), "--port", str(stranger.getsockname()[1])),
            *("--tls-cert", str(certificate), "--tls-key", str(key)),
            *("--public-url", "https://elsewhere.example.org"),
            *("--mqtt-url", "mqtt://ada:hunter2@no-such-host.invalid"),
            *("--chirpstack-api-url", f"http://127.0.0.1:{closed.getsockname()[1]}"),
            *("--smtp-host", "127.0.0.1", "--smtp-port", str(closed.getsockname()[1])),
            *("--smtp-from", "lw@example.com", "--smtp-user", "ada"),
            LONGWIRE_SECRET_KEY="ab" * 32,
            LONGWIRE_SMTP_PASSWORD="hunter3",
            LONGWIRE_CHIRPSTACK_API_KEY="hunter4",
            HTTPS_PROXY="http://proxy:3128",
        )
    assert is_said("not by longwire", found, "service", "problem")
    assert is_said("operator.json (mode 644)", found, "files", "problem")
    assert is_said("(mode 640)", found, "files", "problem")
    assert is_said("another secret key", found, "database", "problem")
    assert is_said("not for elsewhere.example.org", found, "certificate", "warning")
    assert is_said("no-such-host.invalid cannot be resolved", found, "egress", "problem")
    assert is_said("chirpstack_api_url: 127.0.0.1", found, "egress", "problem")
    assert is_said("HTTPS_PROXY is set", found, "egress", "warning")
    assert is_said("cannot be used", found, "mail", "problem")
    assert "hunter" not in json.dumps(found) and "abab" not in json.dumps(found)


@pytest.mark.slow
def test_a_server_that_is_away_and_settings_that_are_wrong_are_findings(tmp_path: Path) -> None:
    url = "postgresql://ada:hunter2@127.0.0.1:1/lw"
    away = examine(tmp_path, "--database", url, "--port", "0", LONGWIRE_SECRET_KEY="0" * 64)
    assert len(of(away, "database", "problem")) == 1
    wrong = examine(tmp_path, "--port", "99999", "--smtp-host", "mail")
    assert is_said("port: must be", wrong, "settings", "problem")
    assert is_said("smtp_host, smtp_from: give both", wrong, "settings", "problem")
    no_names = examine(
        tmp_path,
        *("--port", "0", "--mqtt-url", "mqtt://a..b", "--smtp-host", "a..b"),
        *("--smtp-from", "lw@example.com"),
    )
    assert is_said("mqtt_url: a..b cannot be resolved", no_names, "egress", "problem")
    assert is_said("a..b:587 cannot be used", no_names, "mail", "problem")
    assert "hunter2" not in json.dumps(away)


@pytest.mark.slow
def test_a_damaged_file_is_found(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert longwire("migrate", "--data", str(data), cwd=tmp_path).returncode == 0
    with sqlite3.connect(data / "longwire.db") as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
        # Nothing but a check of the whole file reads the records of a new database.
        find = "select rootpage from sqlite_master where name = 'record_event'"
        (page,) = connection.execute(find).fetchone()
        (size,) = connection.execute("pragma page_size").fetchone()
    connection.close()
    with (data / "longwire.db").open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    found = examine(tmp_path, "--data", str(data), "--port", "0", "--deep")
    assert of(found, "database", "problem")


def test_a_check_that_fails_keeps_no_other_from_running() -> None:
    area = Area("broken")

    def fail() -> list[Any]:
        raise RuntimeError("postgresql://ada:hunter2@db\nis odd")

    (found,) = run_checks([(area, fail)])
    assert found.text == "could not be checked: postgresql://ada:***@db is odd"


def test_memory_is_compared_with_all_that_the_settings_allow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "_read_available_bytes", lambda: 1536 * machine.MIB)
    few = Settings(connections_max=500)
    (found,) = machine.check_memory(Area("memory"), few)
    assert found.severity == "ok", found
    for allowed in ({"connections_max": 10_000}, {"workers": 2}, {"request_bytes_max": 2**30}):
        (found,) = machine.check_memory(Area("memory"), replace(few, **allowed))
        assert found.severity == "warning", found
        assert next(iter(allowed)) in found.advice


@pytest.mark.parametrize(
    "kind, severity",
    [("tmpfs", "problem"), ("nfs4", "problem"), ("overlay", "warning"), ("ext4", "ok")],
)
def test_a_file_system_that_does_not_keep_data_is_named(kind: str, severity: str) -> None:
    (found,) = machine._check_filesystem(Area("disk"), kind)
    assert found.severity == severity and kind in found.text


def test_a_disk_that_lies_or_is_slow_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for median_s, severity in ((1e-7, "problem"), (0.001, "ok"), (0.5, "warning")):
        monkeypatch.setattr(machine, "measure_fsync", lambda folder, median_s=median_s: median_s)
        (found,) = machine._check_fsync(Area("disk"), tmp_path)
        assert found.severity == severity
