"""The operator's commands: output, effects and errors."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import structlog

from longwire import __version__, cli
from longwire.clock import Clock
from longwire.model import Passkey
from longwire.notifications.webpush import Vapid
from longwire.process import startup
from longwire.settings import MOST_SET, Settings, describe_settings
from longwire.store import instance, schema
from longwire.store.database import Tx
from longwire.store.engines.upgrade import COMPATIBLE_FROM
from longwire.store.identity import external_identities
from longwire.store.identity.passkeys import PASSKEYS
from tests.browser import Browser
from tests.conftest import PostgresServer
from tests.process import longwire, longwire_from_the_shell
from tests.waiting import eventually
from tests.world import World, ok

pytestmark = pytest.mark.engine_free


@dataclass(frozen=True)
class CommandResult:
    """The output of a command, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The one-line error of a failed command."""
        assert self.code == 2, (self.out, self.err)
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("longwire: "), self.err
        return self.err.removeprefix("longwire: ").strip()


Command = Callable[..., CommandResult]


def run_command(
    during: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: Sequence[object],
    variables: Mapping[str, str],
) -> CommandResult:
    """Run a command in this process, with variables of its environment."""
    during.setattr(sys, "argv", ["longwire", *map(str, arguments)])
    for name, value in variables.items():
        during.setenv(name, value)
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    return CommandResult(int(ended.value.code or 0), out, err)


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    """Runs a command in this process, which is faster, and restores process-wide state."""
    handlers, level = logging.getLogger().handlers, logging.getLogger().level
    umask = os.umask(0)
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("LONGWIRE_")]:
        monkeypatch.delenv(variable)

    def run(*arguments: object, **variables: str) -> CommandResult:
        with monkeypatch.context() as during:
            return run_command(during, capsys, arguments, variables)

    yield run
    os.umask(umask)
    structlog.reset_defaults()
    logging.getLogger().handlers, logging.getLogger().level = handlers, level


def where(settings: Settings) -> list[str]:
    """The flags that name a database."""
    return ["--data", str(settings.data), "--database", settings.database]


# --- config ---


@pytest.mark.slow
@pytest.mark.parametrize("given", [["--version"], ["--help"], []])
def test_help_and_completion_load_no_command(given: list[str]) -> None:
    """Whoever types it waits for Python alone; without arguments, a shell asks what to complete."""
    code = (
        "import contextlib, sys\n"
        "before = set(sys.modules)\n"
        "from longwire import cli\n"
        "with contextlib.suppress(SystemExit):\n"
        f"    cli.commands({given}, prog_name='longwire')\n"
        "loaded = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(loaded - set(sys.stdlib_module_names)), file=sys.stderr)"
    )
    asked = {"_LONGWIRE_COMPLETE": "bash_complete", "COMP_WORDS": "longwire ", "COMP_CWORD": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **({} if given else asked)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert given == ["--version"] or "rotate-key" in ran.stdout
    assert ran.stderr.split() == ["click", "longwire", "longwire_cli"]


def test_the_help_says_of_each_command_what_it_says_itself() -> None:
    context = cli.commands.make_context("longwire", ["serve"], resilient_parsing=True)
    said = {}
    for name in cli.COMMANDS:
        found = cli.commands.get_command(context, name)
        assert found is not None
        said[name] = found.get_short_help_str(1_000)
    assert said == cli.SHORT_HELP


def test_config_prints_every_setting_with_value_default_and_reason(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "my.toml").write_text("body_bytes_max = 5000\n")
    rows = command(
        *("config", "--json", "--config", "my.toml", "--port", "9000"),
        LONGWIRE_EGRESS_ALLOW="127.0.0.0/8,::1",
    ).json
    assert {row["name"] for row in rows} == {each.name for each in describe_settings()}
    assert [row["name"] for row in rows][: len(MOST_SET)] == list(MOST_SET)
    assert all(row["reason"] for row in rows)
    row = {each["name"]: each for each in rows}
    assert (row["port"]["value"], row["port"]["default"]) == (9000, 8080)
    assert row["body_bytes_max"]["value"] == 5000
    assert row["egress_allow"]["value"] == ["127.0.0.0/8", "::1/128"]
    assert row["port"]["flag"] == "--port"
    assert row["port"]["variable"] == "LONGWIRE_PORT"

    table = command("config", "--port", "9000")
    assert table.code == 0
    lines = {line.split()[0]: line for line in table.out.splitlines()}
    assert lines["port"].split()[1:3] == ["9000", "8080"]
    assert all(
        each.name in lines and each.reason in lines[each.name] for each in describe_settings()
    )


@pytest.mark.parametrize("form", [["--json"], [], ["--effective"]])
def test_config_shows_no_secret(command: Command, form: list[str]) -> None:
    result = command(
        *(
            "config",
            *form,
            "--database",
            "postgresql://ada:hunter2@hunter5@db/lw?sslpassword=hunter3",
        ),
        *("--mqtt-url", "mqtts://ada:hunter4@broker"),
        LONGWIRE_SECRET_KEY="c0ffee" * 10,
    )
    assert result.code == 0
    assert "c0ffee" not in result.out
    assert "hunter" not in result.out
    assert "***" in result.out
    assert "ada" in result.out, "what is not secret is shown"


def test_config_of_a_setting_that_was_not_given_masks_nothing(command: Command) -> None:
    row = {each["name"]: each for each in command("config", "--json").json}
    assert row["secret_key"]["value"] == ""


def test_generated_web_push_keys_are_valid_settings(command: Command) -> None:
    keys = command("vapid-key", "--json").json
    assert keys != command("vapid-key", "--json").json
    flags = ("--vapid-key", keys["vapidKey"], "--vapid-contact", "mailto:ops@example.com")
    assert command("config", *flags).code == 0
    assert keys["applicationServerKey"] == Vapid(keys["vapidKey"], "").public_key
    shown = command("vapid-key").out
    assert "vapid_key:" in shown and "applicationServerKey:" in shown


# --- credentials ---


def test_credentials_are_issued_listed_and_revoked_while_the_service_runs(
    command: Command, world: World
) -> None:
    at = where(world.settings)
    issued = command(
        *("credentials", "issue", "--email", "eve@example.com", "--first-name", "Eve"),
        *("--last-name", "Adams", "--expires-days", "30", "--json", *at),
    ).json
    assert set(issued) == {"clientId", "clientSecret", "userId"}
    token = world.token(issued["clientId"], issued["clientSecret"])
    bearer = {"Authorization": f"Bearer {token}"}
    me = ok(world.http.get("/user/me", headers=bearer))
    assert (me["id"], me["email"]) == (issued["userId"], "eve@example.com")
    assert (me["firstName"], me["lastName"]) == ("Eve", "Adams")

    again = command("credentials", "issue", "--email", "EVE@example.com", "--json", *at).json
    assert again["userId"] == issued["userId"]
    assert again["clientId"] != issued["clientId"]

    listing = command("credentials", "list", "--json", *at)
    assert issued["clientSecret"] not in listing.out
    of_eve = [each for each in listing.json if each["email"] == "eve@example.com"]
    assert [each["clientId"] for each in of_eve] == [issued["clientId"], again["clientId"]]
    assert [each["expiresAt"] is None for each in of_eve] == [False, True]
    table = command("credentials", "list", *at)
    assert issued["clientId"] in table.out, "an id is printed whole, to be copied"
    assert issued["clientSecret"] not in table.out

    assert command("credentials", "revoke", issued["clientId"], "--json", *at).json == {
        "revoked": issued["clientId"]
    }
    eventually(lambda: world.http.get("/user/me", headers=bearer).status_code == 401)
    assert world.ask_token(issued["clientId"], issued["clientSecret"]).status_code == 401
    assert world.token(again["clientId"], again["clientSecret"])
    left = command("credentials", "list", "--json", *at).json
    assert issued["clientId"] not in {each["clientId"] for each in left}
    second_time = command("credentials", "revoke", issued["clientId"], *at)
    assert "credential" in second_time.error


def test_credentials_of_an_operator_are_issued_for_an_email_address(
    command: Command, world: World
) -> None:
    at = where(world.settings)
    keys = command(
        "credentials", "issue", "--email", "root@example.com", "--operator", "--json", *at
    ).json
    token = world.token(keys["clientId"], keys["clientSecret"])
    body = {"permissionId": "tea.make", "name": "Make tea", "description": "In the kitchen"}
    bearer = {"Authorization": f"Bearer {token}"}
    ok(world.http.post("/permission", json=body, headers=bearer))

    plain = command("credentials", "issue", "--email", "eve@example.com", *at)
    assert plain.code == 0
    assert [line.split()[0] for line in plain.out.splitlines()] == [
        "clientId",
        "clientSecret",
        "userId",
    ]
    promoted = command("credentials", "issue", "--email", "eve@example.com", "--operator", *at)
    assert "ordinary user" in promoted.error


def test_an_invalid_address_is_refused(command: Command, settings: Settings) -> None:
    for email in ("", "eve", "@", "eve@", "x" * 500 + "@example.com"):
        assert command("credentials", "issue", "--email", email, *where(settings)).error, email


# --- groups ---


def test_the_token_of_a_group_is_rotated_while_the_service_runs(
    command: Command, world: World
) -> None:
    at = where(world.settings)
    ada = world.person("ada")
    group = ada.group("home")
    below = ada.group("below", parent=group)
    device = ada.device(below, network="vendor", originalId="AB")

    def token_of(group: str) -> str:
        return str(ok(ada.get("/group", groupId=group))[0]["token"])

    def status(token: str, time: int) -> int:
        message = {"device": "AB", "time": time, "data": "01"}
        bearer = {"Authorization": f"Bearer {token}"}
        response = world.http.post("/network/vendor/data", json=message, headers=bearer)
        return response.status_code

    old, others = token_of(group), token_of(below)
    assert status(old, 1_700_000_000) == 200
    result = command("group", "rotate-token", group, "--json", *at)
    new = result.json["token"]
    assert result.json == {"groupId": group, "token": new}
    # The service has the old one in its cache, and sees the change.
    eventually(lambda: status(old, 1_700_000_001) == 401)
    assert token_of(group) == new != old
    assert status(new, 1_700_000_002) == 200
    assert (token_of(below), status(others, 1_700_000_003)) == (others, 200)
    assert ("system", "group.rotateToken", group) in world.audit()
    assert new not in command("audit", *at).out
    # Rotate once more.
    assert command("group", "rotate-token", group, *at).out.startswith("lwg_")
    eventually(lambda: status(new, 1_700_000_004) == 401)
    assert len(ada.records(device)) >= 3
    assert "is not a known group" in command("group", "rotate-token", "4711", *at).error


def test_the_operator_decides_which_groups_send_through_his_keys(
    command: Command, settings: Settings, world: World
) -> None:
    at = where(settings)
    group = world.person("ada").group("harbour")
    flags = (group, "--network", "loriot", *at)
    for _ in range(2):
        allowed = command("group", "allow-downlinks", *flags, "--json").json
        assert allowed == {"groupId": group, "network": "loriot", "allowed": True}
    (listed,) = command("group", "list-downlinks", "--json", *at).json
    assert (listed["groupId"], listed["network"]) == (group, "loriot")
    assert group in command("group", "deny-downlinks", *flags).out
    assert command("group", "list-downlinks", "--json", *at).json == []
    assert ("system", "group.allowDownlinks", "loriot") in world.audit()
    assert ("system", "group.denyDownlinks", "loriot") in world.audit()
    unknown = command("group", "allow-downlinks", "4711", "--network", "loriot", *at)
    assert "is not a known group" in unknown.error


# --- device types ---


def test_device_types_are_added_updated_listed_and_removed(
    command: Command, settings: Settings, tmp_path: Path
) -> None:
    at = where(settings)
    listed = command("device-type", "list", "--json", *at).json
    built_in = [each["name"] for each in listed]
    assert built_in == ["button", "generic", "meter", "temperature", "tracker"]
    assert all(each["builtIn"] for each in listed)
    assert all(json.loads(each["defaultConfiguration"]) is not None for each in listed)

    added = command(
        *("device-type", "add", "buoy", "--display-name", "[/red] Buoy", "--battery", "D cell"),
        *("--firmware-version", "2.1", "--default-configuration", '{"every": 60}', "--json", *at),
    )
    assert added.json == {"added": ["buoy"]}
    buoy = next(
        each
        for each in command("device-type", "list", "--json", *at).json
        if each["name"] == "buoy"
    )
    assert buoy == {
        "name": "buoy",
        "displayName": "[/red] Buoy",
        "defaultConfiguration": '{"every": 60}',
        "battery": "D cell",
        "firmwareVersion": "2.1",
        "builtIn": False,
        "decoder": None,
        "decoderSource": None,
        "encoderSource": None,
        "decodedLocation": None,
    }
    assert "[/red] Buoy" in command("device-type", "list", *at).out, "shown as it is"

    (tmp_path / "types.json").write_text(
        json.dumps(
            [
                {"name": "buoy", "displayName": "Buoy"},
                {"name": "generic", "displayName": "Anything", "defaultConfiguration": "none"},
                {"name": "gate"},
            ]
        )
    )
    from_file = command("device-type", "add", "--file", tmp_path / "types.json", "--json", *at)
    assert from_file.json == {"added": ["buoy", "generic", "gate"]}
    now = {each["name"]: each for each in command("device-type", "list", "--json", *at).json}
    assert now["buoy"]["displayName"] == "Buoy"
    assert now["generic"]["builtIn"], "a changed one is still built in"
    assert (now["gate"]["displayName"], now["gate"]["defaultConfiguration"]) == ("gate", "{}")

    assert command("device-type", "remove", "buoy", "--json", *at).json == {"removed": "buoy"}
    assert "device type" in command("device-type", "remove", "buoy", *at).error
    assert "built in" in command("device-type", "remove", "generic", *at).error
    left = [each["name"] for each in command("device-type", "list", "--json", *at).json]
    assert left == sorted([*built_in, "gate"])


def test_a_file_of_device_types_is_imported_as_a_whole_or_not_at_all(
    command: Command, settings: Settings, tmp_path: Path
) -> None:
    at = where(settings)
    before = command("device-type", "list", "--json", *at).json
    path = tmp_path / "types.json"
    for content in (
        "",
        "not json",
        "5",
        "[5]",
        '[{"displayName": "nameless"}]',
        '[{"name": "good"}, {"name": ""}]',
        '[{"name": "good"}, {"name": "' + "x" * 129 + '"}]',
        '[{"name": "good", "battery": 5}]',
        '[{"name": "good", "displayName": "with a \\u0000"}]',
        '[{"name": "good", "displayName": "half a \\ud83d"}]',
    ):
        path.write_text(content)
        result = command("device-type", "add", "--file", path, *at)
        assert result.code == 2, content
        assert "Traceback" not in result.err
    assert command("device-type", "list", "--json", *at).json == before


def test_a_device_type_needs_either_a_name_or_a_file(command: Command, settings: Settings) -> None:
    for arguments in ([], ["buoy", "--file", "-"]):
        result = command("device-type", "add", *arguments, *where(settings))
        assert result.code == 2
        assert "give a NAME or --file" in result.err


# --- the audit log ---


def test_a_decoder_is_set_listed_used_and_removed_while_the_service_runs(
    command: Command, world: World, tmp_path: Path
) -> None:
    at = where(world.settings)
    ada = world.person("ada")
    group = ada.group("home")
    device = ada.device(group, type="tracker", network="vendor", originalId="AB")
    token = ok(ada.get("/group", groupId=group))[0]["token"]
    times = iter(range(1_700_000_000, 1_700_001_000))

    def decoded_values(payload: str = "0102") -> dict[str, Any]:
        message = {"device": "AB", "time": next(times), "data": payload}
        bearer = {"Authorization": f"Bearer {token}"}
        ok(world.http.post("/network/vendor/data", json=message, headers=bearer))
        return values_of(ada.records(device)[-1])

    def values_of(record: dict[str, Any]) -> dict[str, Any]:
        data = json.loads(record["data"])
        assert data.pop("radio") == {}
        return dict(data)

    def tracker() -> dict[str, Any]:
        listed = command("device-type", "list", "--json", *at).json
        return next(each for each in listed if each["name"] == "tracker")

    before = tracker()
    assert decoded_values() == {}
    bits = ("device-type", "set-decoder", "tracker", "--decoder", "bits", "--decoder-source")
    result = command(*bits, "high::uint:8", "--json", *at)
    assert result.json == {"name": "tracker", "decoder": "bits"}
    assert tracker() == {**before, "decoder": "bits", "decoderSource": "high::uint:8"}
    assert "bits" in command("device-type", "list", *at).out
    eventually(lambda: decoded_values() == {"high": 1})  # the service sees the change

    # An invalid decoder is refused with its position, and changes nothing.
    wrong = command(*bits, "high::uint:8\n  low::uint:0", *at).error
    assert wrong == "decoder: line 2, column 3: the number of bits must be a number from 1 to 64"
    codec = tmp_path / "codec.js"
    javascript = ("device-type", "set-decoder", "tracker", "--decoder", "javascript")
    for source, reason in (
        (b"function decodeUplink(input) {\n  return 1 +;\n}", "decoder: line 2, column "),
        (b"\xff", "not UTF-8 at byte 0"),
    ):
        codec.write_bytes(source)
        assert reason in command(*javascript, "--decoder-file", codec, *at).err
    missing = command("device-type", "remove-decoder", "sonar", *at).error
    assert "is not a known device type" in missing
    assert tracker()["decoderSource"] == "high::uint:8"
    assert decoded_values() == {"high": 1}

    # Updating other fields of a type keeps its decoder; a file may contain one.
    command("device-type", "add", "tracker", "--display-name", "T", *at)
    assert (tracker()["displayName"], tracker()["decoder"]) == ("T", "bits")
    types = tmp_path / "types.json"
    described = {"name": "tracker", "decoder": "bits", "decoderSource": "low:1:uint:8"}
    types.write_text(json.dumps([{**described, "decoderSource": "x"}]))
    assert "decoder: line 1" in command("device-type", "add", "--file", types, *at).error
    types.write_text(json.dumps([described]))
    command("device-type", "add", "--file", types, *at)
    eventually(lambda: decoded_values() == {"low": 2})

    # An encoder has a source of its own; both are listed, and warnings are shown.
    encodes = "function encodeDownlink({data}) { return {bytes: [data.n]} }"
    encoder = ("device-type", "set-encoder", "tracker", "--encoder-source")
    result = command(*encoder, f"{encodes} if (0) setTimeout()", "--json", *at)
    assert result.json["warnings"] == ["the codec uses setTimeout, which does not exist here"]
    assert "defines no function encodeDownlink" in command(*encoder, "1", *at).error
    command(*bits, "low:1:uint:8", "--location", "low, low", *at)
    assert (tracker()["encoderSource"] or "").startswith(encodes)
    assert (tracker()["decoder"], tracker()["decodedLocation"]) == ("bits", "low, low")
    assert "decoded_location" in command(*bits, "a::uint:8", "--location", "low", *at).error
    command("device-type", "remove-encoder", "tracker", *at)
    assert tracker()["encoderSource"] is None

    # Stored payloads are decoded again while the service runs.
    first = {"deviceId": device, "limit": 1}
    assert values_of(ok(ada.get("/device/data", **first))["items"][0]) == {}
    result = command("redecode", "--device", device, "--end", "1700000002", "--json", *at)
    assert result.json == {
        **{"lookedAt": 2, "changed": 2, "skipped": 0, "failed": 0},
        "failure": None,
    }
    eventually(lambda: values_of(ok(ada.get("/device/data", **first))["items"][0]) == {"low": 2})
    codec.write_text("function decodeUplink({bytes}) { return {data: {sum: bytes[0] + bytes[1]}} }")
    command(*javascript, "--decoder-file", codec, *at)
    text = command("redecode", "--group", group, "--device-type", "tracker", *at).out
    number = len(ada.records(device))
    assert text.startswith(f"{number} records looked at: {number} changed, 0 without")
    assert ("system", "record.redecode", device) in world.audit()

    command("device-type", "remove-decoder", "tracker", *at)
    assert tracker()["decoder"] is None
    assert "has no decoder" in command("redecode", "--device", device, *at).error
    for wrong_use in (
        (),
        ("--device", device, "--group", "4711"),
        ("--device", device, "--device-type", "sonar"),
        ("--device", device, "--begin", "soon"),
    ):
        assert command("redecode", *wrong_use, *at).code == 2
    eventually(lambda: decoded_values() == {})


def test_the_audit_log_shows_the_newest_first(command: Command, world: World) -> None:
    at = where(world.settings)
    ada = world.person("ada")
    group = ada.group("harbour")
    ok(ada.put("/group", {"groupId": group, "name": "port"}))
    rows = command("audit", "--json", *at).json
    assert [row["action"] for row in rows[:2]] == ["group.update", "group.create"]
    newest = rows[0]
    assert (newest["actor_id"], newest["object_id"], newest["group_id"]) == (ada.id, group, group)
    assert newest["address"] == "127.0.0.1"
    assert newest["at"].endswith("Z")
    assert len(command("audit", "--json", "--limit", "1", *at).json) == 1
    here = command("audit", "--json", "--group", group, *at).json
    assert {row["group_id"] for row in here} == {group}
    assert len(here) < len(command("audit", "--json", "--limit", "10000", *at).json)
    table = command("audit", *at)
    assert group in table.out
    assert newest["request_id"] in table.out
    assert command("audit", "--limit", "0", *at).code == 2


def test_a_terminal_obeys_nothing_that_somebody_else_has_written(
    command: Command, settings: Settings, tmp_path: Path
) -> None:
    place = tmp_path / "backups"
    assert command("migrate", "--data", tmp_path / "data").code == 0
    assert command("backup", place, "--data", tmp_path / "data").code == 0
    [manifest] = (place / "backups").iterdir()
    changed = {**json.loads(manifest.read_text()), "createdAt": "\x1b]0;mine\x07\x1b[2J"}
    manifest.write_text(json.dumps(changed))
    listed = command("restore", place, "--list")
    assert "mine" in listed.out and "\x1b" not in listed.out
    refused = command("restore", tmp_path / "\x1b[2J", "--backup", "\x1b[2J")
    assert refused.code == 2 and "[2J" in refused.err and "\x1b" not in refused.err


# --- migrate ---


def test_migrate_creates_a_database_and_is_idempotent(command: Command, tmp_path: Path) -> None:
    first = command("migrate", "--data", "new", "--json").json
    assert first["bootstrapped"] is True
    assert first["steps"]
    kept = json.loads((tmp_path / "new" / "operator.json").read_text())
    assert set(kept) == {"baseUrl", "authUrl", "clientId", "clientSecret", "userId"}
    assert command("migrate", "--data", "new", "--json").json == {
        "steps": [],
        "distributed": [],
        "bootstrapped": False,
    }
    assert command("migrate", "--data", "new").out == "0 migration(s) run\n"
    other = command("migrate", "--data", "another")
    assert kept["clientSecret"] not in other.out
    assert "another/operator.json" in other.out
    for name in ("longwire.db", "secret.key", "operator.json"):
        assert (tmp_path / "new" / name).stat().st_mode & 0o777 == 0o600, name


def test_the_credentials_contain_the_public_url(command: Command, tmp_path: Path) -> None:
    addresses = {
        "plain": ({}, "http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        "six": ({"LONGWIRE_HOST": "::1"}, "http://[::1]:8080", "http://[::1]:8080"),
        "public": (
            {"LONGWIRE_PUBLIC_URL": "https://lw.example/"},
            "https://lw.example",
            "https://lw.example",
        ),
        "elsewhere": (
            {"LONGWIRE_AUTH_URL": "https://id.example"},
            "http://127.0.0.1:8080",
            "https://id.example",
        ),
    }
    for folder, (variables, base_url, auth_url) in addresses.items():
        assert command("migrate", "--data", folder, **variables).code == 0
        kept = json.loads((tmp_path / folder / "operator.json").read_text())
        assert (kept["baseUrl"], kept["authUrl"]) == (base_url, auth_url), folder


# --- refusing ---


def test_a_command_never_creates_a_database_by_accident(
    command: Command, postgres: PostgresServer, tmp_path: Path
) -> None:
    commands = (["credentials", "list"], ["device-type", "list"], ["audit"])
    for arguments in commands:
        result = command(*arguments, "--data", "nowhere").error
        assert "no database in nowhere" in result
        assert "longwire serve" in result
    assert not (tmp_path / "nowhere").exists()

    name = postgres.create()
    for arguments in commands:
        result = command(*arguments, "--data", "nowhere", "--database", postgres.url(name)).error
        assert "longwire migrate" in result
    assert not (tmp_path / "nowhere").exists()
    database, _ = startup.build_database(
        Settings(data=tmp_path / "looking", database=postgres.url(name)), Clock()
    )
    assert database.upgrade(lambda tx: sa.inspect(tx.connection).get_table_names()) == []
    database.close()
    postgres.drop(name)


def test_an_error_that_the_operator_can_fix_is_one_line(
    command: Command, tmp_path: Path, sqlite_template: Path
) -> None:
    (tmp_path / "a-file").write_text("")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "longwire.db").write_bytes(b"a shopping list" * 500)
    (tmp_path / "broken" / "secret.key").write_text("5a" * 32)
    (tmp_path / "short-key").mkdir()
    (tmp_path / "short-key" / "longwire.db").write_bytes(b"")
    (tmp_path / "short-key" / "secret.key").write_text("5a5a")
    cases = {
        ("--data", "a-file"): "a-file",
        ("--data", "broken"): "not a database",
        ("--data", "short-key"): "32 bytes",
        ("--data", str(sqlite_template), "--secret-key", "5a" * 32): "another secret key",
        ("--data", str(sqlite_template), "--secret-key", "not hex"): "secret key",
        ("--config", "missing.toml"): "missing.toml",
        ("--database", "mysql://localhost/x"): "postgresql://",
        ("--database", "postgresql://ada:hunter2@localhost:port/x"): "URL",
        ("--database", f"postgresql://ada:hunter2@/x?host={tmp_path}"): "cannot be used",
    }
    for arguments, word in cases.items():
        result = command("migrate", *arguments).error
        assert word in result, arguments
        assert "hunter2" not in result


def test_all_invalid_settings_are_reported_at_once(command: Command) -> None:
    result = command("migrate", "--database", "mysql://", LONGWIRE_PORT="http", LONGWIRE_PRT="1")
    assert result.code == 2
    assert result.err.startswith("longwire: ")
    for name in ("database", "port", "LONGWIRE_PRT"):
        assert name in result.err


def test_a_database_of_a_newer_release_is_not_touched(command: Command, settings: Settings) -> None:
    database, _ = startup.build_database(settings, Clock())

    def upgrade(tx: Tx) -> None:
        tx.execute(sa.text("update alembic_version set version_num = '9999'"))
        instance.save_fact(tx, COMPATIBLE_FROM, "9999")  # which no older release knows

    database.upgrade(upgrade)
    database.close()
    assert "newer version" in command("credentials", "list", *where(settings)).error
    assert "newer version" in command("migrate", *where(settings)).error


def test_a_missing_key_is_detected_before_anything_is_written(
    command: Command, settings: Settings
) -> None:
    (settings.data / "secret.key").unlink()
    result = command("credentials", "issue", "--email", "eve@example.com", *where(settings))
    assert "Copy secret.key" in result.error
    assert not (settings.data / "secret.key").exists(), "a new one would only hide the loss"
    database, _ = startup.build_database(settings, Clock())
    emails = sa.select(schema.user.c.email)
    found = database.upgrade(lambda tx: {row[0] for row in tx.rows(emails)})
    database.close()
    assert "eve@example.com" not in found


# --- as a process ---


def test_the_command_runs_as_a_process(tmp_path: Path) -> None:
    version = longwire_from_the_shell("--version", cwd=tmp_path)
    assert (version.returncode, version.stdout) == (0, f"longwire {__version__}\n")
    helping = longwire_from_the_shell("serve", "-h", cwd=tmp_path)
    assert helping.returncode == 0
    assert all(each.flag in helping.stdout for each in describe_settings())
    nothing = longwire_from_the_shell("credentials", "list", cwd=tmp_path)
    assert nothing.returncode == 2
    assert nothing.stdout == ""
    assert nothing.stderr.startswith("longwire: There is no database in longwire-data.")
    assert "longwire serve" in nothing.stderr
    assert list(tmp_path.iterdir()) == []
    # Who uses a service elsewhere is not sent to start an empty one here.
    folder = tmp_path / "longwire"
    folder.mkdir()
    elsewhere = {"url": "https://iot.example.com", "session": "canary"}
    profiles = {"current": "work", "profiles": {"work": elsewhere}}
    (folder / "profiles.json").write_text(json.dumps(profiles))
    home = {"XDG_CONFIG_HOME": str(tmp_path)}
    for command, remote in (
        (["connectors"], "`longwire connector list`"),
        (["device-type", "list"], "the Device types in the console"),
        (["audit"], "the Audit log"),
    ):
        ended = longwire(*command, cwd=tmp_path, **home)
        assert ended.returncode != 0
        assert "on the server's machine" in ended.stderr
        assert "https://iot.example.com (profile work)" in ended.stderr
        assert remote in ended.stderr
        assert "longwire serve" not in ended.stderr and "canary" not in ended.stderr
    assert not (tmp_path / "longwire-data").exists()


def test_a_short_command_does_not_wait_for_the_service_to_load(tmp_path: Path) -> None:
    shown = longwire_from_the_shell("config", "--json", cwd=tmp_path, PYTHONPROFILEIMPORTTIME="1")
    assert shown.returncode == 0
    loaded = {line.rpartition("|")[2].strip() for line in shown.stderr.splitlines()}
    assert "longwire.process.startup" in loaded
    assert loaded.isdisjoint({"longwire.process.app", "aiohttp", "aiokafka", "cel", "uvicorn"})
    version = longwire_from_the_shell("--version", cwd=tmp_path, PYTHONPROFILEIMPORTTIME="1")
    loaded = {line.rpartition("|")[2].strip() for line in version.stderr.splitlines()}
    assert "click" in loaded
    assert loaded.isdisjoint(
        {"longwire.settings", "longwire.process.startup", "sqlalchemy", "rich"}
    )


# --- console ---


def test_a_printed_link_signs_in(command: Command, world: World) -> None:
    ada = world.person("ada")
    flags = [*where(world.settings), "--public-url", world.url]
    url = command("console", "link", "--email", "ada@example.com", *flags).out.strip()
    assert url.startswith(f"{world.url}/console/sign-in#link=lwl_")
    with Browser(world) as browser:
        assert ok(browser.sign_in(link=url.partition("=")[2]))["user"]["id"] == ada.id
    printed = command("console", "link", "--json", *flags).json
    assert printed["email"] == "operator@localhost"
    error = command("console", "link", "--email", "nobody@example.com", *flags).error
    assert "email" in error


def test_the_sign_in_of_a_user_is_reset(command: Command, world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    passkey = Passkey("psk_1", b"1", ada.id, "Phone", b"", "localhost", 0, False, 0)
    world.write(lambda tx: PASSKEYS.insert(tx, passkey))
    world.write(lambda tx: external_identities.insert(tx, "https://id.example.com", "s", ada.id))
    with Browser(world) as of_ada, Browser(world) as of_bob:
        of_ada.sign_in_as(ada)
        of_bob.sign_in_as(bob)
        ok(of_ada.http.put("/user/password", json={"new": "correct horse battery"}))
        ok(of_ada.http.post("/user/totp"))
        reset = ("console", "reset-sign-in", "--json", *where(world.settings), "--email")
        printed = command(*reset, "Ada@example.com").json
        counts = {"passkeys": 1, "subjects": 1, "sessions": 1, "passwords": 1}
        assert printed == {"userId": ada.id, **counts, "authenticatorApps": 1}
        eventually(lambda: not of_ada.is_signed_in())
        assert of_bob.is_signed_in()
    assert "email" in command(*reset, "nobody@example.com").error
