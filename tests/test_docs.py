"""What the documents promise is what there is: lists are compared, commands are run.

Tables are read off the Markdown by the names of their columns. Of the commands, the blocks marked
`sh` are run as they are printed, one after another in one shell; a block marked `text` below is
what they print, where `…` stands for anything.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import click
import msgspec
import pytest

from longwire import (
    app,
    cli,
    serve,
    settings,
    startup,
)
from longwire.api import tokens
from longwire.clock import Clock
from longwire.delivery.cel.expressions import Expression, build_cel_message
from longwire.delivery.destinations import catalogue as destinations
from longwire.delivery.destinations.base import DestinationParams
from longwire.delivery.formats import FORMATS
from longwire.fleet import device_types
from longwire.identity import bootstrap
from longwire.notifications.types import catalogue as notification_types
from longwire.notifications.types.base import Params as NotificationParams
from longwire.settings import Settings
from longwire.store.database import Database
from longwire.store.deliveries import Backlog
from longwire.web import errors, server
from longwire.web.prometheus import PrometheusMetrics
from longwire.web.routing import PlainRoute, Route
from tests.process import Service, environment
from tests.world import ok

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "longwire"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


# --- the lists ---


def test_the_interface_lists_every_operation_as_it_is_served(tmp_path):
    listed = {
        (row["Method"], bare(row["Path"])): (row["Takes"], bare(row["Needs"]), row["Answers"])
        for row in tables("docs/interface.md", "Method", "Path", "Takes", "Needs", "Answers")
    }
    assert listed == {
        (route.method, route.path): (parameters(route), route.permission, answer(route))
        for route in served(tmp_path)
        if isinstance(route, Route)
    }


def test_the_interface_lists_everything_served_beside_the_operations(tmp_path):
    listed = {
        (row["Method"], bare(row["Path"]))
        for row in tables("docs/interface.md", "Method", "Path", "What it does")
        if "Takes" not in row
    }
    assert listed == {
        (route.method, route.path) for route in served(tmp_path) if isinstance(route, PlainRoute)
    }


def test_the_interface_says_where_a_missing_thing_is_a_wrong_parameter(tmp_path):
    """`GET /group`, the three `/role` and all `/connector` operations, says the section."""
    operations = [route for route in served(tmp_path) if isinstance(route, Route)]
    exceptions = {
        (route.method, route.path) for route in operations if route.not_found_is_bad_request
    }
    roles = {(method, "/role") for method in ("POST", "PUT", "DELETE")}
    connectors = {
        (route.method, route.path) for route in operations if route.path.startswith("/connector")
    }
    assert exceptions == {("GET", "/group"), *roles, *connectors}


def test_the_interface_lists_every_device_type_that_is_built_in():
    listed = [
        (bare(row["Type"]), row["Display name"], bare(row["Default configuration"]))
        for row in tables("docs/interface.md", "Type", "Display name", "Default configuration")
    ]
    assert listed == [
        (each.name, each.display_name, each.default_configuration) for each in device_types.BUILT_IN
    ]


def test_the_limits_of_the_interface_name_settings_that_exist():
    named = {
        name
        for row in tables("docs/interface.md", "What", "Limit", "Setting")
        for name in re.findall(r"`(\w+)`", row["Setting"])
    }
    assert named
    assert named <= {each.name for each in settings.describe_settings()}


def test_the_operator_finds_every_setting_with_its_default_and_its_reason():
    listed = [
        (bare(row["Setting"]), bare(row["Default"]), row["What it is for"])
        for row in tables("docs/operations.md", "Setting", "Default", "What it is for")
    ]
    assert listed == [
        (each.name, "none" if each.default in ("", ()) else str(each.default), each.reason)
        for each in settings.describe_settings()
    ]


def test_the_operator_finds_every_command_with_its_options():
    listed = {
        bare(row["Command"]): set(re.findall(r"`(--[a-z-]+)`", row["Options"]))
        for row in tables("docs/operations.md", "Command", "Options")
    }
    assert listed == {name: own_options(each) for name, each in every_command(cli.commands)}


def test_the_operator_finds_every_metric_with_its_labels(tmp_path):
    listed = {
        bare(row["Metric"]): (row["Kind"], set(re.findall(r"`(\w+)`", row["Labels"])))
        for row in tables("docs/operations.md", "Metric", "Kind", "Labels")
    }
    metrics = PrometheusMetrics()
    metrics.observe_response("/group", "GET", 200, 0.1)
    metrics.observe_attempt("http", "delivered", 0.1)
    metrics.count_rejected_message("vendor")
    metrics.count_decode_failure("tracker")
    metrics.count_mqtt_message("stored")
    metrics.count_task_failure("cleanup")
    metrics.render(
        open_database(tmp_path), queued_records=0, is_ready=True, backlog=Backlog(0, 0, 0, 0, None)
    )
    assert listed == {
        f"{each.name}_total" if each.type == "counter" else each.name: (
            each.type,
            {label for sample in each.samples for label in sample.labels} - {"le"},
        )
        for each in metrics.registry.collect()
    }


TYPED_PAGES = {
    "docs/connectors.md": (destinations, DestinationParams),
    "docs/notifications.md": (notification_types, NotificationParams),
}


@pytest.mark.parametrize(
    "page, name",
    [
        (page, name)
        for page, (types, _) in TYPED_PAGES.items()
        for name in ("every type", *types.TYPES)
    ],
)
def test_the_page_on_types_lists_every_parameter_of(page, name):
    rows = parameter_tables(page)[name]
    listed = [
        (bare(row["Parameter"]), bare(row["Default"]), row["What it is"].startswith("*Secret.*"))
        for row in rows
    ]
    said = {bare(row["Parameter"]): row["What it is"].removeprefix("*Secret.* ") for row in rows}
    there = list(parameters_of(page, name))
    assert listed == [(each.name, each.default, each.is_secret) for each in there]
    assert all(said[each.name] == each.description for each in there if each.description)
    assert all(said.values())


def test_the_page_on_connectors_lists_every_type_and_every_format():
    types = [bare(row["Type"]) for row in tables("docs/connectors.md", "Type", "Delivered when")]
    assert types == list(destinations.TYPES)
    formats = re.findall(r"^\*\*`(\w+)`\*\*", section("docs/connectors.md", "Formats"), re.M)
    assert tuple(formats) == FORMATS


def test_the_filters_that_are_shown_are_filters():
    shown = [bare(row["Filter"]) for row in tables("docs/connectors.md", "Filter")]
    assert shown
    message = build_cel_message(
        "data",
        '{"deviceId":"dev_1","timestamp":"2026-11-15T18:30:00.000Z","data":"{\\"celsius\\":9}"}',
        {"deviceName": "Cold room 7", "deviceType": "temperature", "tags": ["dairy"]},
    )
    assert {Expression(each).matches(message) for each in shown} == {True, False}


def test_the_operator_finds_the_exit_code_of_a_broken_database():
    codes = {int(row["Code"]) for row in tables("docs/operations.md", "Code", "Meaning")}
    assert serve.EXIT_DATABASE_FAILED in codes


def test_every_error_code_is_explained():
    listed = {
        (int(row["Status"]), bare(row["Code"]))
        for row in tables("docs/errors.md", "Status", "Code", "What it means", "What to do")
    }
    before_a_request = {
        (fault.status, fault.code)
        for fault in vars(server).values()
        if isinstance(fault, server._Rejection)
    }
    assert listed == set(errors.STATUS.values()) | before_a_request


def test_every_error_of_the_token_endpoint_is_explained():
    listed = {bare(row["`error`"]) for row in tables("docs/errors.md", "Status", "`error`")}
    source = Path(tokens.__file__).read_text()
    assert listed == set(re.findall(r'"(invalid_\w+|unsupported_\w+|unauthorized_\w+)"', source))


def test_every_permission_is_listed_with_the_roles_that_hold_it():
    names = [role.name for role in bootstrap.ROLES]
    listed = [
        (bare(row["Permission"]), row["What it allows"], [row[name] for name in names])
        for row in tables("docs/permissions.md", "Permission", "What it allows", *names)
    ]
    assert listed == [
        (
            each.id,
            each.description + (" (platform)" if each.is_platform_wide else ""),
            ["yes" if each.id in role.permissions else "" for role in bootstrap.ROLES],
        )
        for each in bootstrap.PERMISSIONS
    ]


def test_every_built_in_role_is_listed():
    listed = [
        (row["Role"], bare(row["Id"]), row["In a sentence"])
        for row in tables("docs/permissions.md", "Role", "Id", "In a sentence")
    ]
    assert listed == [(role.name, role.id, role.description) for role in bootstrap.ROLES]


def test_the_tree_in_the_architecture_is_the_tree():
    drawn = set(drawing((ROOT / "ARCHITECTURE.md").read_text()))
    modules = {path for path in SOURCE.glob("*.py") if path.name != "__init__.py"}
    folders = {path.parent for path in SOURCE.rglob("*.py")} - {SOURCE}
    folders.add(SOURCE / "web/assets")
    assert names_below(SOURCE, drawn) == names_below(SOURCE, modules | folders)


# --- the commands ---


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """What `make run` starts, in a folder that looks like a fresh checkout."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    running = Service(tmp_path / "longwire-data", "--egress-allow", "127.0.0.0/8,::1/128")
    try:
        yield running.started()
    finally:
        running.clean_up()


def test_the_tour_of_the_readme_works_as_printed(service, tmp_path):
    follow(moved(commands("README.md", "A tour in five minutes"), service), tmp_path)


def test_the_page_on_connectors_works_as_printed(service, tmp_path):
    first = commands("README.md", "A tour in five minutes")[:1]
    follow(moved(first + commands("docs/connectors.md"), service), tmp_path)


def test_the_page_on_networks_works_as_printed(service, tmp_path):
    first = commands("README.md", "A tour in five minutes")[:1]
    follow(moved(first + commands("docs/networks.md"), service), tmp_path)


def test_a_backup_made_beside_the_service_restores_what_was_there(service, tmp_path):
    backing_up, restoring = commands("docs/operations.md", "Backups")
    ok(service.post_group("before"))
    follow([backing_up], tmp_path)
    ok(service.post_group("after"))
    assert service.stop() == 0
    follow([restoring], tmp_path)
    restored = Service(service.data)
    try:
        assert restored.started().group_names() == {"before"}
    finally:
        restored.clean_up()


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/operations.md"])
def test_every_make_command_that_is_mentioned_exists(document):
    mentioned = set(re.findall(r"\bmake ([a-z]+)\b", code_in((ROOT / document).read_text())))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert mentioned
    assert mentioned <= targets


# --- the pages themselves ---


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(document):
    for link in re.findall(r"\]\(([^)\s]+)\)", without_blocks(document.read_text())):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{link} leads nowhere"
        assert target.is_relative_to(ROOT), f"{link} leaves the project"
        if anchor:
            assert anchor in anchors(target.read_text()), f"{link}: no such heading"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_is_mentioned_exists(document):
    mentioned = re.findall(
        r"`((?:src|tests|docs|bench|requirements|api|identity|store|fleet|delivery|networks)/[\w./-]*|\w+\.py)`",
        without_blocks(document.read_text()),
    )
    for name in mentioned:
        there = any((base / name).exists() for base in (ROOT, SOURCE))
        assert there or any(SOURCE.rglob(name)), f"there is no {name}"


def test_no_file_knows_the_machine_it_was_written_on():
    folders = [ROOT / name for name in ("src", "tests", "bench", "docs", "requirements", ".ci")]
    files = [*ROOT.glob("*"), *(path for folder in folders for path in folder.rglob("*"))]
    # Of a second working tree, .git is a file that tells where the first one is.
    ours = (path for path in files if path.is_file() and path.name != ".git")
    texts = {path: path.read_text() for path in ours if path.suffix != ".pyc"}
    assert len(texts) > len(DOCUMENTS)
    for path, text in texts.items():
        found = re.findall(r"(?<![\w.$/-])/(?:home|root|work|Users)/\S*", text)
        assert not found, f"{path}: {found}"


def test_every_page_is_within_reach_of_the_readme():
    reached, new = set(), {ROOT / "README.md"}
    while new:
        page = new.pop()
        reached.add(page)
        links = re.findall(r"\]\(([^)#\s]+\.md)", page.read_text())
        new |= {(page.parent / link).resolve() for link in links if "://" not in link} - reached
    assert reached == set(DOCUMENTS)


# --- reading Markdown ---


def tables(document: str, *columns: str) -> Iterator[dict[str, str]]:
    """The rows of every table of a document that has all these columns."""
    return rows_in((ROOT / document).read_text(), *columns)


def rows_in(text: str, *columns: str) -> Iterator[dict[str, str]]:
    header: list[str] | None = None
    for line in text.splitlines():
        if not line.startswith("|"):
            header = None
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if header is None:
            header = cells
        elif set(columns) <= set(header) and not set(line) <= set("|-: "):
            yield dict(zip(header, cells, strict=True))


def bare(cell: str) -> str:
    return cell.strip("`")


def section(document: str, heading: str) -> str:
    text = (ROOT / document).read_text()
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert found, f"{document} has no section {heading}"
    return found[1]


def commands(document: str, heading: str | None = None) -> list[tuple[str, str]]:
    """Each block of commands in a section or a document, with what is printed below it."""
    text = section(document, heading) if heading else (ROOT / document).read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)
    steps: list[tuple[str, str]] = []
    for kind, text in blocks:
        if kind == "sh":
            steps.append((text, ""))
        elif kind == "text":
            steps[-1] = (steps[-1][0], text)
    assert steps
    return steps


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def code_in(text: str) -> str:
    """What is in backticks or in blocks."""
    return "\n".join(re.findall(r"^```.*?^```$|`[^`\n]+`", text, re.M | re.S))


def anchors(text: str) -> set[str]:
    """The names of the headings as a link spells them."""
    headings = re.findall(r"^#+ (.+)$", without_blocks(text), re.M)
    return {re.sub(r"[^\w -]", "", each.lower()).strip().replace(" ", "-") for each in headings}


def drawing(text: str) -> Iterator[Path]:
    """The paths in the tree of the architecture, two spaces deeper for each folder."""
    found = re.search(r"^```text\nsrc/longwire/\n(.*?)^```$", text, re.M | re.S)
    assert found, "there is no tree"
    folders = [SOURCE]
    for line in found[1].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        path = folders[depth - 1] / line.split()[0]
        folders[depth:] = [path]
        yield path


def names_below(folder: Path, paths: set[Path]) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in paths)


# --- what there is ---


def open_database(folder: Path) -> Database:
    return startup.build_database(Settings(data=folder), Clock())[0]


def served(folder: Path) -> list[Route | PlainRoute]:
    return app.App(Settings(data=folder), open_database(folder)).routes


def parameters(route: Route) -> str:
    """As the column `Takes` has it."""
    parts: list[str] = []
    for place, struct in (("query", route.query), ("body", route.body)):
        if struct is not None:
            names = (
                f"`{each.encode_name}{'' if each.required else '?'}`"
                for each in msgspec.structs.fields(struct)
            )
            parts.append(f"{place} {' '.join(names)}")
    return " ".join(parts)


def answer(route: Route) -> str:
    """As the column `Answers` has it."""
    spelled = getattr(route.reply, "__name__", "") if isinstance(route.reply, type) else ""
    if spelled and spelled != "list":
        return spelled
    words = re.sub(r"[\w.]+\.", "", str(route.reply))
    return words.replace("list[", "[").replace(" | ", " or ")


def every_command(group: click.Group, above: str = "longwire") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from every_command(command, f"{above} {name}")
        else:
            yield f"{above} {name}", command


def own_options(command: click.Command) -> set[str]:
    """The options beside those that find the database; `every setting` stands for all others."""
    options = {name for each in command.params for name in each.opts if name.startswith("--")}
    flags = {each.flag for each in settings.describe_settings()}
    if flags <= options:
        return options - flags
    return options - flags - {"--config"}


class Parameter(NamedTuple):
    name: str
    default: str
    is_secret: bool
    description: str


def parameter_tables(page: str) -> dict[str, list[dict[str, str]]]:
    """The tables of a page on types: of every type first, then one for each."""
    text = section(page, "Types and their parameters")
    parts = re.split(r"^### (\w+)$", text, flags=re.M)
    named = dict(zip(["every type", *parts[1::2]], parts[::2], strict=True))
    return {name: list(rows_in(part, "Parameter")) for name, part in named.items()}


def parameters_of(page: str, name: str) -> Iterator[Parameter]:
    """What the JSON Schema of a type says, without what every type has; or that."""
    types, common = TYPED_PAGES[page]
    some_type = next(iter(types.TYPES)) if name == "every type" else name
    schema = json.loads(types.expected_parameters(some_type))
    shared = {each.encode_name for each in msgspec.structs.fields(common)}
    for each in spelled_out(schema, schema.get("$defs", {})):
        if (each.name.partition(".")[0] in shared) == (name == "every type"):
            yield each


def spelled_out(schema: Any, parts: Any, above: str = "") -> Iterator[Parameter]:
    for name, each in schema["properties"].items():
        choices = [one for one in each.get("anyOf", [each]) if one.get("type") != "null"]
        refers = next((one["$ref"] for one in choices if "$ref" in one), None)
        part = parts[refers.rpartition("/")[2]] if refers else {}
        held = each.get("additionalProperties", {})
        default = "required" if name in schema["required"] else each["default"] or "none"
        yield Parameter(
            above + name,
            str(default if each.get("default") is not False else "false"),
            any(one.get("writeOnly", False) for one in [*choices, held]),
            next(
                (one["description"] for one in [each, *choices, part] if "description" in one), ""
            ),
        )
        if part:
            yield from spelled_out(part, parts, f"{above}{name}.")


# --- running commands ---

BETWEEN = "=== the next block ==="
SERVICE, RECEIVER = "127.0.0.1:8080", 8090


def moved(steps: list[tuple[str, str]], service: Service) -> list[tuple[str, str]]:
    """The blocks with the addresses at which service and receiver are here."""
    assert SERVICE in steps[0][0]
    there = service.url.removeprefix("http://")
    port = str(free_port())
    return [
        (
            step.replace(SERVICE, there).replace(str(RECEIVER), port),
            printed.replace(str(RECEIVER), port),
        )
        for step, printed in steps
    ]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def follow(steps: list[tuple[str, str]], folder: Path) -> None:
    """Run the blocks in one shell that gives up at the first failure; compare what they print."""
    script = "".join(f"{step}\necho '{BETWEEN}'\n" for step, _ in steps)
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    if shutil.which("curl") is None:
        stand_in_for_curl(folder / "bin")
    shell = subprocess.Popen(
        ["sh", "-eu"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**environment(), "PATH": path},
        text=True,
        start_new_session=True,
    )
    try:
        out, err = shell.communicate(script, timeout=120)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)  # also what it left behind
    assert (shell.returncode, err) == (0, ""), out + err
    outputs = out.split(f"{BETWEEN}\n")[:-1]
    for (step, printed), output in zip(steps, outputs, strict=True):
        pattern = ".*".join(re.escape(part) for part in printed.split("…"))
        # Without DOTALL: what is left out is left out of a line.
        assert re.fullmatch(pattern, output), f"{step}\nprinted\n{output}\nand not\n{printed}"


def stand_in_for_curl(folder: Path) -> None:
    """As much of curl as the documents use, for machines that have only Python and make."""
    program = """\
        #!/usr/bin/env python3
        import argparse, base64, sys, urllib.error, urllib.request

        parser = argparse.ArgumentParser()
        parser.add_argument("url")
        parser.add_argument("-s", action="store_true")
        parser.add_argument("-S", action="store_true")
        parser.add_argument("-X", dest="method")
        parser.add_argument("-H", dest="headers", action="append", default=[])
        parser.add_argument("-d", dest="data")
        parser.add_argument("-u", dest="user")
        given = parser.parse_args()
        headers = dict(each.split(": ", 1) for each in given.headers)
        if given.user:
            headers["Authorization"] = "Basic " + base64.b64encode(given.user.encode()).decode()
        data = None if given.data is None else given.data.encode()
        request = urllib.request.Request(given.url, data, headers, method=given.method)
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            answer = error
        sys.stdout.write(answer.read().decode())
    """
    folder.mkdir(exist_ok=True)
    (folder / "curl").write_text(dedent(program))
    (folder / "curl").chmod(0o755)
