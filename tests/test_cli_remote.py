"""The commands that talk to a service: profiles, nouns, tail and listen."""

import csv
import inspect
import io
import json
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from longwire import cli
from longwire.api.records import csv_cells as exported_cells
from longwire.identity import sign_in_links
from longwire.process import logs
from longwire.store.records.arrival_numbers import AFTER_ANY_ARRIVAL
from longwire_cli import commands, csv_cells
from longwire_cli.listen import Local
from longwire_client import Webhook
from longwire_client import models as m
from tests.delivery.receiver import Receiver
from tests.fleet.test_type_imports import CHIRPSTACK, DEVICE, THINGS, write_files
from tests.process import environment
from tests.test_cli import CommandResult, run_command
from tests.waiting import eventually
from tests.world import Person, World, ok, refused

pytestmark = [pytest.mark.engine_free, pytest.mark.slow]

Command = Callable[..., CommandResult]
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for the configuration of the user."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("LONGWIRE_")]:
        monkeypatch.delenv(variable)
    return tmp_path


@pytest.fixture
def command(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    """Runs a command in this process; `given` is its standard input."""
    umask = os.umask(0)
    # The service is in this process, and would say on the standard output which request was slow.
    logs.configure_logging("error", "auto")

    def run(*arguments: object, given: str = "", **variables: str) -> CommandResult:
        with monkeypatch.context() as during:
            during.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
            return run_command(during, capsys, arguments, variables)

    yield run
    os.umask(umask)


@pytest.fixture
def ada(world: World) -> Person:
    return world.person()


@pytest.fixture
def signed_in(command: Command, world: World, ada: Person) -> Command:
    result = command("login", world.url, "--client-id", ada.client_id, given=ada.client_secret)
    assert result.code == 0, result.err
    return command


def test_profiles_are_private_and_none_is_shown_with_its_secret(
    command: Command, world: World, ada: Person, home: Path
) -> None:
    assert "Run longwire login" in command("group", "list").error
    wrong = command("login", world.url, "--client-id", ada.client_id, given="wrong\n")
    assert "invalid_client" in wrong.error
    assert not (home / "longwire" / "profiles.json").exists()

    login = command("login", world.url, "--client-id", ada.client_id, given=ada.client_secret)
    assert login.out == f"Signed in to {world.url} as ada@example.com.\n"
    file = home / "longwire" / "profiles.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    app = ada.app_client(ada.group())
    command("login", world.url, "--profile", "app", "--client-id", app.id, given=app.client_secret)
    known = command("profile", "list", "--json").json
    assert [(each["name"], each["current"]) for each in known] == [
        ("default", False),
        ("app", True),
    ]
    for shown in (command("profile", "list").out, json.dumps(known)):
        assert ada.client_secret not in shown and app.client_secret not in shown

    assert "app client" in known[1]["user"]
    assert len(command("group", "list", "--profile", "default", "--json").json) == 1
    assert command("profile", "use", "default").code == 0
    assert command("logout").code == 0
    assert [each["name"] for each in command("profile", "list", "--json").json] == ["app"]
    # In a pipeline there is no file at all.
    secrets = {"LONGWIRE_CLIENT_ID": ada.client_id, "LONGWIRE_CLIENT_SECRET": ada.client_secret}
    listed = command("group", "list", "--json", LONGWIRE_URL=world.url, **secrets)
    assert len(listed.json) == 1
    assert command("config", "--json", LONGWIRE_URL=world.url, **secrets).code == 0


def test_a_person_signs_in_with_a_link_and_out_again(
    command: Command, world: World, ada: Person
) -> None:
    secret = world.write(lambda tx: sign_in_links.create_for_terminal(tx, "ada@example.com"))
    url = sign_in_links.build_url(world.url, secret, sign_in_links.LinkPurpose.SIGN_IN)
    assert "as ada@example.com" in command("login", world.url, "--link", given=url).out
    group = command("group", "create", "Dairy", "--json").json
    assert [each["id"] for each in command("group", "list", "--json").json] == [group["id"]]
    assert "not_authenticated" in command("login", world.url, "--link", given=url).error
    cookie = json.loads(Path("longwire/profiles.json").read_text())["profiles"]["default"][
        "session"
    ]
    assert command("logout").code == 0
    ended = world.http.get("/session", headers={"Cookie": cookie})
    assert ended.status_code == 401


def test_devices_and_records_from_the_command_line(signed_in: Command, ada: Person) -> None:
    run = signed_in
    group = run("group", "create", "Dairy", "--tag", "cold", "--json").json["id"]
    assert run("group", "update", group, "--name", "Farm", "--json").json["name"] == "Farm"
    arguments = ("--original-id", "A1", "--network", "mqtt", "--name", "=Cold room\x1b[31m")
    device = run("device", "create", group, *arguments, "--json").json["deviceId"]
    table = run("device", "list", group).out.splitlines()
    assert table[0].split()[:3] == ["deviceId", "name", "type"]
    assert device in table[1]
    assert "\x1b" not in table[1]  # a terminal would obey it
    [row] = csv.DictReader(io.StringIO(run("device", "list", group, "--csv").out))
    assert (row["deviceId"], row["name"][:2]) == (device, "'=")  # a spreadsheet would run it
    updated = run("device", "update", device, "--configuration", '{"a":1}', "--json").json
    assert updated["configuration"] == '{"a":1}'
    lines = "originalId,name\nB1,One\nB2,Two\n"
    imported = run(
        "device", "import", group, "-", "--network", "mqtt", "--type", "generic", given=lines
    )
    assert imported.code == 0, imported.err

    stored = run("record", "create", device, "--field", 'data={"celsius":4}', "--json").json
    seen = run("device", "get", device, "--json").json["seenAt"]
    for shown in (run("device", "list", group).out, run("device", "get", device).out):
        assert datetime.fromtimestamp(seen / 1_000, UTC).isoformat(timespec="seconds")[:19] in shown
    assert (stored["data"], stored["deviceType"]) == ('{"celsius":4}', "generic")
    [value] = run("device", "values", device, "--json").json
    assert (value["name"], value["value"], value["class"]) == ("celsius", 4, "gauge")
    [line] = run("device", "values", device).out.splitlines()[1:]
    assert line.split()[:2] == ["celsius", "4.0"]
    [cold] = run("device", "list", group, "--where", "celsius<5", "--json").json
    assert cold["deviceId"] == device
    sorted_by_value = ("--order", "value:celsius", "--descending", "--json")
    assert run("device", "list", group, *sorted_by_value).json[0]["deviceId"] == device
    wrong = run("device", "list", group, "--where", "celsius")
    assert "where[0]" in wrong.err
    run("record", "create", device, "--kind", "geoloc", "--field", "lat=51.9", "--field", "lng=4.1")
    [place] = run("record", "list", device, "--kind", "geoloc", "--json").json
    assert (place["lat"], place["lng"]) == (51.9, 4.1)
    # What was exported can be stored again; the second time it is known.
    exported = ada.get("/records/export", deviceId=device, kind="data").text
    again = run("record", "import", "-", "--spool", "spool.db", "--json", given=exported).json
    assert (again["stored"], again["duplicates"]) == (0, 1)
    poisoned = exported + exported.replace(device, "dev_unknown")
    refused = run("record", "import", "-", given=poisoned)
    assert refused.code == 2
    assert "dev_unknown" in refused.err and "not_found" in refused.err

    assert "give --yes" in run("device", "delete", device).err
    assert run("device", "delete", device, "--yes", "--json").json[0]["deviceId"] == device
    assert "not_found" in run("device", "get", device).error
    tagged = ("tag", "--group", group, "--filter", "{}", "--parameters", '{"addTags":["x"]}')
    job = run("job", "create", *tagged, "--id").out.strip()
    get = ("job", "get", job, "--group", group, "--json")
    eventually(lambda: run(*get).json["state"] == "succeeded")
    assert run("job", "list", group, "--json").json[0]["changed"] == 2


def test_limits_and_retention_of_a_group_from_the_command_line(
    command: Command, world: World
) -> None:
    operator = world.person("boss", operator=True)
    signed = ("login", world.url, "--client-id", operator.client_id)
    assert command(*signed, given=operator.client_secret).code == 0
    group = command("group", "create", "Dairy", "--id").out.strip()
    shown = command("group", "limits", group, "--json").json
    assert (shown["limits"], shown["retentionDays"]) == ({}, {})
    given = ("--records", "5000", "--requests-per-second", "0.5", "--days", "data=90")
    limited = command("group", "set-limits", group, *given, "--json").json["limits"]
    assert limited == {
        **{"storedRecordsMax": 5000, "requestsPerSecond": 0.5},
        "retentionDaysMax": {"data": 90},
    }
    # What is not given stays.
    again = ("group", "set-limits", group, "--bytes", "0", "--records", "none", "--json")
    assert command(*again).json["limits"] == {
        **{"storedBytesMax": 0, "requestsPerSecond": 0.5},
        "retentionDaysMax": {"data": 90},
    }
    kept = command("group", "set-retention", group, "data=30", "summary=365", "--json").json
    assert kept["retentionDays"] == {"data": 30, "summary": 365}
    assert "summary" in command("group", "limits", group).out
    kept = command("group", "set-retention", group, "summary=none", "--json").json
    assert kept["retentionDays"] == {"data": 30}
    assert "90 days" in command("group", "set-retention", group, "data=91").error
    for wrong in ("data", "data=x", "dates=3"):
        assert command("group", "set-retention", group, wrong).code == 2


def test_contact_points_from_the_command_line(
    signed_in: Command, ada: Person, tmp_path: Path
) -> None:
    group = ada.group("home")
    of = ("--group", group, "--json")
    (tmp_path / "hook.json").write_text('{"url": "http://127.0.0.1:9/hook?key=canary"}')
    params = ("--params", f"@{tmp_path / 'hook.json'}")
    create = ("contact-point", "create", group, "--json", "--name")
    made = signed_in(*create, "night", "--type", "webhook", *params).json
    shift = {"contactPoint": made["id"], "days": [1]}
    rota = json.dumps({"timezone": "Europe/Paris", "shifts": [shift], "fallback": made["id"]})
    on_call = signed_in(*create, "on call", "--type", "rota", "--params", rota).json
    assert on_call["onCall"] == [made["id"]]
    renamed = signed_in("contact-point", "update", on_call["id"], "--name", "rota", *of).json
    assert (renamed["name"], renamed["params"]) == ("rota", on_call["params"])
    assert signed_in("contact-point", "get", on_call["id"], *of).json == renamed
    assert signed_in("contact-point", "test", on_call["id"], *of).json["queued"] == 1
    listed = signed_in("contact-point", "list", group, "--json").json
    assert [each["name"] for each in listed] == ["night", "rota"]
    assert "used by rota" in signed_in("contact-point", "delete", made["id"], "--yes", *of).error
    for each in (on_call, made):
        signed_in("contact-point", "delete", each["id"], "--yes", *of)
    assert signed_in("contact-point", "list", group, "--json").json == []


def test_a_job_says_what_it_needs_and_its_file_can_be_had(signed_in: Command, ada: Person) -> None:
    group = ada.group()
    device = ada.device(group)
    wrong = signed_in("job", "create", "rename", "--group", group)
    assert wrong.code == 2 and "transfer" in wrong.err, wrong
    wrong = signed_in("job", "create", "tag", "--group", group, "--parameters", '{"add":["x"]}')
    assert "there is no 'add'; known are toGroupId, addTags, removeTags" in wrong.error
    wanted = ("--filter", "{}", "--parameters", '{"content":"devices","format":"csv"}')
    job = signed_in("job", "create", "export", "--group", group, *wanted, "--id").out.strip()
    get = ("job", "get", job, "--group", group, "--json")
    eventually(lambda: signed_in(*get).json["state"] == "succeeded")
    assert signed_in("job", "result", job, "--group", group, "--output", "devices.csv").code == 0
    [row] = csv.DictReader(io.StringIO(Path("devices.csv").read_text("utf-8-sig")))
    assert row["deviceId"] == device


def test_a_trace_is_a_table_with_every_step(signed_in: Command, ada: Person) -> None:
    group = ada.group()
    device = ada.device(group, name="Cold room")
    with Receiver() as receiver:
        ada.connector(group, receiver.url, name="Store")
        ada.connector(group, receiver.url, name="Alarms", messageFilter="message.kind == 'event'")
        ada.reports(device, data='{"celsius":4}')
        receiver.wait_for(1)
    listed = ("connector", "messages", group, "--json")
    eventually(lambda: signed_in(*listed).json[0]["status"] == "succeed")
    message = signed_in(*listed).json[0]["id"]
    [row] = signed_in("record", "trace", message, "--json").json["connectors"][1:]
    assert row["notTaken"] == "filter_false"
    steps = csv.DictReader(io.StringIO(signed_in("record", "trace", message, "--csv").out))
    seen = [(each["what"], each["outcome"]) for each in steps]
    assert seen[0] == ("stored", "data of Cold room, by api")
    assert seen[1][0] == "connector Store, attempt 1"
    assert seen[1][1].startswith("delivered with status 200")
    assert seen[2] == ("connector Store", f"succeeded, {message}")
    assert seen[3] == ("connector Alarms", "not taken: filter_false")
    table = signed_in("record", "trace", message).out
    assert "not taken: filter_false" in table and "{" not in table


def test_a_proxy_of_the_environment_does_not_get_what_is_for_this_machine(
    ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = ada.group()
    connector = ada.connector(group, "https://example.com", params={"secret": SECRET})
    found = ok(ada.get("/connector", connectorId=connector, groupId=group))
    item = m.PreviewItem(
        device_id="d",
        kind="data",
        timestamp=datetime(2026, 3, 1, tzinfo=UTC),
        matches=True,
        reason="",
        request=m.PreviewRequest(method="POST", url="", headers={"webhook-id": "1"}, body="{}"),
    )
    with Receiver() as proxy, Receiver() as here:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        local = Local(msgspec.convert(found, m.Connector), f"http://127.0.0.1:{here.port}/")
        with closing(local):
            outcome = local.send(item)
        assert outcome is not None and "status" in outcome
        assert len(here.wait_for(1)) == 1
        assert not proxy.requests


def test_what_is_no_url_and_no_operator_file_is_refused_in_a_line(
    command: Command, home: Path
) -> None:
    wrong = home / "operator.json"
    for text in ("x", "{}", "[]", '{"baseUrl":1,"clientId":2,"clientSecret":3}'):
        wrong.write_text(text)
        refused = command("login", "--operator-file", wrong)
        assert refused.code == 2 and "is not an operator.json" in refused.err, refused
    refused = command("login", "localhost:8080", "--client-id", "x", given="secret\n")
    assert refused.code == 2 and "begins with http:// or https://" in refused.err, refused
    refused = command("login", "http://[::1", "--client-id", "x", given="secret\n")
    assert refused.code == 2 and "is invalid" in refused.err, refused


def test_no_argument_and_no_line_ends_in_a_traceback(signed_in: Command, home: Path) -> None:
    refused = signed_in("group", "create", "\udcff")
    assert refused.code == 2 and "not valid UTF-8" in refused.err, refused
    (home / "deep.json").write_bytes(b'{"a":' * 100_000)
    refused = signed_in("record", "import", home / "deep.json")
    assert refused.code == 2 and "Line 1" in refused.err, refused


def test_an_error_is_one_line_with_every_fault(signed_in: Command) -> None:
    wrong = signed_in("record", "create", "1", "--kind", "event", "--field", "typ=opened")
    assert "has no typ; it has data, deviceId" in wrong.err
    wrong = signed_in("device", "create", "1", "--original-id", "x", "--network", "", "--name", "y")
    assert "network must not be empty" in wrong.error
    assert "bad_input, request " in wrong.error
    assert signed_in("device", "list", "1", "--json", "--csv").code == 2


def test_tail_prints_what_arrives(signed_in: Command, ada: Person) -> None:
    group = ada.group()
    device = ada.device(group, name="Cold room")
    for number in range(3):
        ada.reports(device, data=f'{{"celsius":{number}}}')
    first = ada.get("/group/records", groupId=group, ascending="true").json()["items"][0]["id"]
    options = ("--after", first, "--filter", "message.data.celsius > 0", "--limit", 2)
    lines = signed_in("tail", group, *options).out.splitlines()
    assert [line.split("Cold room")[1].split()[0] for line in lines] == [
        'data={"celsius":1}',
        'data={"celsius":2}',
    ]
    found = signed_in("tail", group, *options, "--json").out.splitlines()
    assert [json.loads(line)["record"]["data"] for line in found] == [
        '{"celsius":1}',
        '{"celsius":2}',
    ]
    assert "not_found" in signed_in("tail", "1").error


def has_joined(world: World) -> bool:
    """Whether somebody gets what is stored from now on."""
    listeners = list(world.app._live_hub._listeners)
    return any(each.settled != AFTER_ANY_ARRIVAL for each in listeners)


def test_listen_delivers_to_this_machine_and_nobody_else_notices(
    signed_in: Command, world: World, ada: Person
) -> None:
    group = ada.group()
    device = ada.device(group, name="Cold room")
    with Receiver() as real, Receiver(500, 204) as local:
        params = {"secret": SECRET, "headers": {"X-Key": "k"}}
        connector = ada.connector(
            group, real.url, params=params, messageFilter="message.data.celsius > 8"
        )
        options = (
            "--group",
            group,
            "--connector",
            connector,
            "--port",
            local.port,
            "--path",
            "hook",
        )
        shown = ("--path", "hook", "--limit", 2, "--json")
        results: list[CommandResult] = []
        listening = threading.Thread(
            target=lambda: results.append(signed_in("listen", *options, *shown))
        )
        listening.start()
        eventually(lambda: has_joined(world))
        for number in (9, 1, 10):
            ada.reports(
                device, data=f'{{"celsius":{number}}}', timestamp=f"2026-03-01T12:00:{number:02}Z"
            )
        listening.join(60)
        originals = {each.id: each for each in real.wait_for(2)}
        copies = local.wait_for(2)
    assert results[0].code == 0, results[0].err
    outcomes = [json.loads(line) for line in results[0].out.splitlines()]
    assert [each["status"] for each in outcomes] == [500, 204]
    assert {each.id for each in copies} == set(originals)
    for each in copies:
        assert each.path == "/hook"
        assert Webhook(SECRET).verify(each.body, each.headers) == each.id
        assert each.body == originals[each.id].body
        assert each.headers["x-key"] == "k"
    # What the receiver has is settled a moment later.
    eventually(lambda: ada.events(group, connector)["stats"]["totalSucceed"] == 2)
    assert ada.events(group, connector)["stats"]["totalFailed"] == 0


def test_listen_signs_with_a_new_secret_for_those_who_may_not_see_the_other(
    command: Command, world: World, ada: Person
) -> None:
    group = ada.group()
    device = ada.device(group)
    eve = world.person("eve")
    ada.invite(eve, group, ada.role("record.read", "connector.read", "device.read"))
    command("login", world.url, "--client-id", eve.client_id, given=eve.client_secret)
    with Receiver() as local:
        params = {"secret": SECRET, "bearer": "hidden"}
        connector = ada.connector(group, "http://127.0.0.1:9/", params=params, enabled=False)
        options = ("--group", group, "--connector", connector, "--port", local.port, "--limit", 1)
        results: list[CommandResult] = []
        listening = threading.Thread(target=lambda: results.append(command("listen", *options)))
        listening.start()
        eventually(lambda: has_joined(world))
        ada.reports(device)
        [request] = local.wait_for(1)
        listening.join(60)
    [secret] = re.findall(r"whsec_\S+", results[0].err)
    assert secret != SECRET
    assert Webhook(secret).verify(request.body, request.headers) == request.id
    assert "authorization" not in request.headers
    assert results[0].out.startswith(request.id)


def test_listen_refuses_what_it_cannot_do(signed_in: Command, ada: Person) -> None:
    group = ada.group()
    unknown = signed_in("listen", "--group", group, "--connector", "con_1")
    assert "connectorId" in unknown.error or "bad_input" in unknown.error


def test_the_shell_can_complete_commands(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_LONGWIRE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "longwire device ")
    monkeypatch.setenv("COMP_CWORD", "2")
    monkeypatch.setattr(sys, "argv", ["longwire"])
    with pytest.raises(SystemExit):
        cli.main()
    offered = {line.partition(",")[2] for line in capsys.readouterr().out.splitlines()}
    assert {"list", "get", "create", "update", "delete"} <= offered


# --- where the service is not installed ---

WITHOUT_THE_SERVICE = "import sys; sys.modules['longwire'] = None; from longwire_cli import main; "


def run_without_the_service(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    start = f"sys.argv[0] = 'longwire'; {code}main()"
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_SERVICE + start, *arguments],
        env=environment(),
        capture_output=True,
        text=True,
    )


def test_the_client_has_its_commands_without_the_service() -> None:
    shown = run_without_the_service("--help").stdout
    assert "record" in shown and "serve" not in shown
    assert "rotate-token" not in run_without_the_service("group", "--help").stdout
    context = commands.commands.make_context("longwire", ["login"], resilient_parsing=True)
    for name, text in commands.SHORT_HELP.items():
        found = commands.commands.get_command(context, name)
        assert found is not None and found.get_short_help_str(1_000) == text
    absent = run_without_the_service("--help", code="sys.modules['click'] = None; ")
    assert absent.returncode == 1
    assert "click is missing" in absent.stderr and "Traceback" not in absent.stderr


def test_cells_are_written_as_those_of_exports() -> None:
    for name in ("_FORMULA", "_HERE", "_UNSAFE"):
        assert getattr(csv_cells, name) == getattr(exported_cells, name)
    for name in ("escape_cell", "_is_plain", "format_cell"):
        own, exported = getattr(csv_cells, name), getattr(exported_cells, name)
        assert inspect.getsource(own) == inspect.getsource(exported)


def test_a_folder_is_imported_by_the_command_line(
    world: World,
    ada: Person,
    signed_in: Command,
    tmp_path: Path,
) -> None:
    group = ada.group("Harbour")
    folder = (
        write_files(
            tmp_path / "clone",
            CHIRPSTACK
            | {
                "vendors/acme/devices/radar.toml": DEVICE.replace("Sonar", "Radar"),
                "vendors/acme/codecs/test_decode_radar.json": "[",
                "vendors/other/devices/x.toml": DEVICE,
            },
        )
        / "vendors"
        / "acme"
    )
    profile = signed_in("profile", "list", "--json").json[0]["name"]
    assert "radar, sonar" in signed_in("device-type", "import", folder, "--profile", profile).error
    arguments = ("device-type", "import", folder, "--group", group, "--device", "sonar")
    tried = signed_in(*arguments, "--dry-run", "--profile", profile)
    assert "4 of 4 examples passed" in tried.out
    assert signed_in(*arguments, "--json", "--profile", profile).json["name"] == "acme-sonar"
    assert ok(ada.get("/device/type", type="acme-sonar"))["groupId"] == group
    again = (*arguments, "--replace", "--profile", profile)
    assert "--replace needs --name" in signed_in(*again).err
    assert "acme-sonar was updated" in signed_in(*again, "--name", "acme-sonar").out
    where = ("--data", world.settings.data)
    things = write_files(tmp_path / "things", THINGS) / "acme"
    local = signed_in("device-type", "import", things, "--name", "probe", *where)
    assert local.code == 0, local.err
    assert "3 of 3 examples passed" in local.out
    assert "groupId" not in ok(ada.get("/device/type", type="probe"))
    again = ("device-type", "import", things, "--replace", *where)
    assert "--replace needs --name" in signed_in(*again).err
    assert "probe was updated" in signed_in(*again, "--name", "probe").out
    (things / "probe.js").write_text(THINGS["acme/probe.js"].replace("/ 10", "/ 100"))
    failing = signed_in("device-type", "import", things, "--name", "other", *where)
    assert failing.code == 2
    assert "FAILED On (decodeUplink)" in failing.out
    refused(ada.get("/device/type", type="other"), 404, "type")
