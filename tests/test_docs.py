"""The documents agree with the code: tables are compared, commands are executed.

Tables are found by the names of their columns. Blocks marked `sh` are executed in order and in one
shell; a block marked `text` is the expected output, where `…` stands for anything.
"""

import dataclasses
import functools
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from longwire import settings
from longwire.api import service
from longwire.api.identity import tokens
from longwire.delivery.cel.expressions import Expression, build_cel_message
from longwire.delivery.connectors.formats import FORMATS
from longwire.delivery.destinations import catalogue as destinations
from longwire.delivery.destinations import connections, mqtt_connection, nats
from longwire.delivery.destinations.base import DestinationParams
from longwire.delivery.destinations.parameters import schema_text
from longwire.delivery.http import http_limits
from longwire.fleet import device_types
from longwire.inbound import mqtt_session
from longwire.notifications.types import catalogue as notification_types
from longwire.notifications.types.base import Params as NotificationParams
from longwire.process import app, delivery_process, maintenance, serve
from longwire.process.descriptors import divide_descriptors
from longwire.quotas import Quotas
from longwire.records import DataRecord
from longwire.settings import Settings
from longwire.settings.fixed_limits import FixedLimits
from longwire.web import errors, rejections
from longwire.web.routing import Route
from scripts.guide import reference
from scripts.guide.interface import is_operation, list_routes
from tests.console import screenshots

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "longwire"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


# --- tables ---


def test_the_interface_lists_every_other_route():
    listed = {
        (row["Method"], bare(row["Path"]))
        for row in tables("docs/reference/interface.md", "Method", "Path", "What it does")
        if "Parameters" not in row
    }
    assert listed == {(route.method, route.path) for route in served() if not is_operation(route)}


def test_the_interface_lists_the_operations_without_404():
    operations = served()
    exceptions = {
        (route.method, route.path) for route in operations if route.not_found_is_bad_request
    }
    roles = {(method, "/role") for method in ("POST", "PUT", "DELETE")}
    connectors = {
        (route.method, route.path) for route in operations if route.path.startswith("/connector")
    }
    assert exceptions == {("GET", "/group"), *roles, *connectors}


def test_the_interface_lists_every_built_in_device_type():
    listed = [
        (bare(row["Type"]), row["Display name"], bare(row["Default configuration"]))
        for row in tables(
            "docs/reference/interface.md", "Type", "Display name", "Default configuration"
        )
    ]
    assert listed == [
        (each.name, each.display_name, each.default_configuration) for each in device_types.BUILT_IN
    ]


def test_the_limits_name_existing_settings():
    named = {
        name
        for row in tables("docs/reference/interface.md", "What", "Limit", "Setting")
        for name in re.findall(r"`(\w+)`", row["Setting"])
    }
    assert named
    assert named <= {each.name for each in settings.describe_settings()}


@pytest.mark.parametrize("page", reference.PARTS)
def test_what_is_generated_is_what_the_code_says(page):
    text = (reference.DOCS / page).read_text()
    assert reference.write_parts(page, text) == text, "run `make reference`"


# What a name of a limit ends with: an amount, a rate or a burst.
LIMIT_NAME = re.compile(r"_max$|_burst$|_per_s$|_per_group$")


def test_limits_lists_every_limit():
    defaults = {each.name: str(each.default) for each in settings.describe_settings()}
    fixed = {name: str(value) for name, value in dataclasses.asdict(FixedLimits()).items()}
    listed = {
        name: default
        for row in tables("docs/operate/limits.md", "Setting", "Default", "What it limits")
        for name, default in zip(
            *(re.findall(r"`([\w.]+)`", row[column]) for column in ("Setting", "Default")),
            strict=True,
        )
    }
    assert listed == {name: (defaults | fixed)[name] for name in listed}
    quotas = {each.name for each in dataclasses.fields(Quotas)}
    limits = {name for name in defaults if LIMIT_NAME.search(name)}
    assert quotas | limits <= set(listed)


def test_limits_marks_exactly_those_that_are_fixed():
    marked = {
        name
        for row in tables("docs/operate/limits.md", "Setting", "Default", "What it limits")
        for name in re.findall(r"fixed: `(\w+)`", row["Setting"])
    }
    assert marked == {each.name for each in dataclasses.fields(FixedLimits)} & marked
    assert not marked & {each.name for each in settings.describe_settings()}


def test_there_are_at_most_a_hundred_settings_and_fifteen_limits():
    names = {each.name for each in settings.describe_settings()}
    assert len(names) <= 100
    assert len({name for name in names if LIMIT_NAME.search(name)}) <= 15


def in_kib(size: int) -> str:
    return f"{size // 1024} KiB"


# What a page says about limits that are no settings, with the numbers of the code.
SENTENCES = (
    (
        "docs/guides/connectors.md",
        f"beyond {in_kib(http_limits.RESPONSE_BYTES_MAX)} it is not even read. "
        f"More than {http_limits.INTERIM_HEADS_MAX} interim responses (1xx), "
        f"more than {in_kib(http_limits.HEAD_BYTES_MAX)} before the end of the final head, "
        f"or more than {in_kib(http_limits.ATTEMPT_BYTES_MAX)} altogether abort the attempt. "
        f"An idle connection is kept open for {http_limits.KEEP_ALIVE_S:.0f} seconds.",
    ),
    (
        "docs/guides/connectors.md",
        f"more than {in_kib(mqtt_connection.PACKET_IN_BYTES_MAX)} with MQTT, "
        f"{in_kib(nats.UNPARSED_BYTES_MAX)} with NATS, "
        f"{in_kib(connections.RESPONSE_BYTES_MAX)} with AMQP and Kafka",
    ),
    (
        "docs/operate/networks.md",
        f"up to {FixedLimits().mqtt_in_flight_max} messages, "
        f"or {mqtt_session.IN_FLIGHT_BYTES_MAX >> 20} MiB, are in flight.",
    ),
    (
        "docs/operate/retention.md",
        f"every {'hour' if maintenance.RETENTION_INTERVAL_S == 3_600 else '…'} on SQLite and "
        f"every {maintenance.POSTGRES_RETENTION_INTERVAL_FACTOR} hours on PostgreSQL",
    ),
)


@pytest.mark.parametrize("page, sentence", SENTENCES)
def test_a_page_has_the_limits_of_the_code(page, sentence):
    assert sentence in " ".join((ROOT / page).read_text().split())


def test_start_and_stop_lists_every_setting_that_can_be_reloaded():
    listed = [
        name
        for row in tables("docs/operate/start-stop.md", "Changes at once", "What happens")
        for name in re.findall(r"`(\w+)`", row["Changes at once"])
    ]
    assert sorted(listed) == sorted(settings.RELOADABLE)


def test_limits_shows_how_descriptors_are_divided():
    rows = list(tables("docs/operate/limits.md", "Descriptors", "`connections_max`"))
    assert rows
    for row in rows:
        budget = divide_descriptors(
            int(row["Descriptors"].split()[0]),
            connections_max=Settings().connections_max,
            attempts_in_flight_max=Settings().fixed.attempts_in_flight_max,
            database_connections=Settings().database_connections,
        )
        assert row["`connections_max`"] == str(budget.connections_max)
        assert row["`attempts_in_flight_max`"] == str(budget.attempts_in_flight_max)


def test_monitoring_lists_every_reason_of_an_unready_service():
    listed = {
        bare(row["`reason`"]).replace("…", "{}")
        for row in tables("docs/operate/monitoring.md", "`reason`", "Cause")
    }
    source = inspect.getsource(service.ServiceEndpoints._unready_reason)
    returned = re.findall(r'return f?"([^"]+)"', source)
    assert listed == {re.sub(r"\{[^}]+\}", "{}", each) for each in returned}


def test_monitoring_lists_every_background_task():
    listed = {
        bare(row["Task"])
        for row in tables(
            "docs/operate/monitoring.md", "Task", "Runs", "What it does", "On failure"
        )
    }
    source = "".join(Path(each.__file__).read_text() for each in (app, delivery_process))
    assert listed == set(re.findall(r'BackgroundTask\(\s*"([^"]+)"', source))


def test_monitoring_lists_existing_log_events():
    listed = {bare(row["Event"]) for row in tables("docs/operate/monitoring.md", "Event", "Level")}
    sources = [path.read_text() for path in SOURCE.rglob("*.py")]
    assert listed
    assert {each for each in listed if not any(f'"{each}"' in text for text in sources)} == set()


TYPED_PAGES = {
    "docs/guides/connectors.md": (destinations, DestinationParams),
    "docs/guides/notifications.md": (notification_types, NotificationParams),
}


@pytest.mark.parametrize(
    "page, name",
    [
        (page, name)
        for page, (types, _) in TYPED_PAGES.items()
        for name in ("every type", *types.TYPES)
    ],
)
def test_a_page_lists_every_parameter_of_its_types(page, name):
    rows = parameter_tables(page)[name]
    listed = [
        (bare(row["Parameter"]), bare(row["Default"]), row["What it is"].startswith("*Secret.*"))
        for row in rows
    ]
    descriptions = {
        bare(row["Parameter"]): row["What it is"].removeprefix("*Secret.* ") for row in rows
    }
    known = list(parameters_of(page, name))
    assert listed == [(each.name, each.default, each.is_secret) for each in known]
    assert all(descriptions[each.name] == each.description for each in known if each.description)
    assert all(descriptions.values())


def test_connectors_lists_every_type_and_format():
    types = [
        bare(row["Type"]) for row in tables("docs/guides/connectors.md", "Type", "Delivered when")
    ]
    assert types == list(destinations.TYPES)
    formats = re.findall(r"^\*\*`(\w+)`\*\*", section("docs/guides/connectors.md", "Formats"), re.M)
    assert tuple(formats) == FORMATS


def test_the_example_filters_are_valid():
    shown = [bare(row["Filter"]) for row in tables("docs/guides/connectors.md", "Filter")]
    assert shown
    message = build_cel_message(
        DataRecord(
            device_id="dev_1",
            timestamp="2026-11-15T18:30:00.000Z",
            data='{"celsius":9}',
            configuration="{}",
            raw="",
            device_type="temperature",
        ),
        {"deviceName": "Cold room 7", "deviceType": "temperature", "tags": ["dairy"]},
    )
    assert {Expression(each, is_filter=True).matches(message) for each in shown} == {True, False}


def test_start_and_stop_lists_the_exit_code_of_a_failed_database():
    codes = {int(row["Code"]) for row in tables("docs/operate/start-stop.md", "Code", "Meaning")}
    assert serve.EXIT_DATABASE_FAILED in codes


def test_errors_lists_every_code():
    listed = {
        (int(row["Status"]), bare(row["Code"]))
        for row in tables(
            "docs/reference/errors.md", "Status", "Code", "What it means", "What to do"
        )
    }
    rejected = {
        (fault.status, fault.code)
        for fault in vars(rejections).values()
        if isinstance(fault, rejections.Rejection)
    }
    assert listed == set(errors.STATUS.values()) | rejected


def test_errors_lists_every_error_of_the_token_endpoint():
    listed = {
        bare(row["`error`"]) for row in tables("docs/reference/errors.md", "Status", "`error`")
    }
    source = Path(tokens.__file__).read_text()
    assert listed == set(re.findall(r'"(invalid_\w+|unsupported_\w+|unauthorized_\w+)"', source))


def test_the_architecture_lists_every_package():
    drawn = set(list_drawn_paths((ROOT / "ARCHITECTURE.md").read_text()))
    modules = {path for path in SOURCE.glob("*.py") if path.name != "__init__.py"}
    folders = {path.parent for path in SOURCE.rglob("*.py")} - {SOURCE}
    folders |= {SOURCE / "web/assets", SOURCE / "web/console", SOURCE / "web/guide"}
    assert relative_names(SOURCE, drawn) == relative_names(SOURCE, modules | folders)


def find_lost_lines(document: str) -> Iterator[str]:
    """The lines of the examples in a document that their files do not have, in this order."""
    for block in re.findall(r"^```diff\n(.*?)^```$", (ROOT / document).read_text(), re.M | re.S):
        for part in block.split("--- ")[1:]:
            name, *shown = part.splitlines()
            lines = iter((ROOT / name).read_text().splitlines())
            for line in shown:
                if line != "…" and line[1:] not in lines:
                    yield f"{name}: {line}"


def test_the_examples_of_how_to_add_something_are_the_code():
    assert "### A network" in (ROOT / "CONTRIBUTING.md").read_text()
    assert list(find_lost_lines("CONTRIBUTING.md")) == []


# --- commands ---

# Setting one of these breaks a shell: zsh gives them a meaning or a type.
SHELL_NAMES = {"PERIOD", "SECONDS", "RANDOM", "LINENO", "UID", "EUID", "IFS", "status"}


def test_no_printed_command_sets_a_variable_of_the_shell():
    texts = [path.read_text() for path in DOCUMENTS]
    names = {name for text in texts for name in re.findall(r"^(?:export )?(\w+)=", text, re.M)}
    assert names
    assert SHELL_NAMES.isdisjoint(names)


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/operate/install.md"])
def test_every_make_target_exists(document):
    mentioned = set(re.findall(r"\bmake ([a-z-]+)\b", extract_code((ROOT / document).read_text())))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert mentioned
    assert mentioned <= targets


# --- pages ---


def test_every_page_begins_with_its_only_title():
    for document in DOCUMENTS:
        titles = re.findall(r"^# .+$", strip_blocks(document.read_text()), re.M)
        assert len(titles) == 1, document
        assert document.read_text().startswith(titles[0]), document


@pytest.mark.engine_free
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_has_a_target(document):
    for link in re.findall(r"\]\(([^)\s]+)\)", strip_blocks(document.read_text())):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{link} does not exist"
        assert target.is_relative_to(ROOT), f"{link} leaves the project"
        if anchor:
            assert anchor in anchors(target.read_text()), f"{link}: no such heading"


@pytest.mark.engine_free
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_mentioned_file_exists(document):
    mentioned = re.findall(
        r"`((?:src|tests|docs|bench|requirements|api|web|inbound|identity|store|fleet|delivery|networks)/[\w./-]*|\w+\.py)`",
        strip_blocks(document.read_text()),
    )
    for name in mentioned:
        exists = any((base / name).exists() for base in (ROOT, SOURCE))
        assert exists or any(SOURCE.rglob(name)), f"{name} does not exist"


def test_the_tour_is_short():
    assert len(section("README.md", "A tour in five minutes").splitlines()) <= 60


# Words of our own that once stood for event, uplink, batch, channel, request, retry, invalid, cache
# and worker.
PRIVATE_WORDS = re.compile(
    r"\b(told|heard|hears?|bites?|parcels?|outlets?|errands?|anew|nonsense|in vain|desk|glance"
    r"|shelf|lanes?)\b"
)
OLD_NAMES = {ROOT / "CHANGELOG.md", Path(__file__)}


def find_private_words(text: str) -> list[str]:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)
    return PRIVATE_WORDS.findall(" ".join(words).lower())


def test_private_words_are_found_in_identifiers():
    text = "is_told isTold TOLD_AT toldAt Told in_vain; HEARTBEAT plane unheard"
    assert find_private_words(text) == ["told"] * 5 + ["in vain"]


def test_the_words_are_those_of_the_field():
    folders = {
        "src/longwire": ("*.py", "*.toml"),
        "clients": ("src/**/*.py", "src/**/*.ts"),
        "tests": ("*.py",),
        "bench": ("*.py",),
        "scripts": ("*.py",),
    }
    sources = {
        path
        for folder, patterns in folders.items()
        for pattern in patterns
        for path in (ROOT / folder).rglob(pattern)
    }
    assert all((ROOT / folder).is_dir() for folder in folders)
    for path in {*DOCUMENTS, *sources} - OLD_NAMES:
        found = find_private_words(path.read_text())
        assert not found, f"{path.relative_to(ROOT)}: {found}; docs/glossary.md has better ones"


def test_every_picture_is_taken_by_the_command_shown_somewhere_and_small():
    pictures = {path.stem: path for path in (ROOT / "docs/pictures").iterdir()}
    assert pictures.keys() == screenshots.CHOSEN.keys(), "run `make screenshots`"
    shown = "".join(path.read_text() for path in DOCUMENTS)
    for path in pictures.values():
        assert f"pictures/{path.name})" in shown, f"no document shows {path.name}"
        assert path.stat().st_size <= screenshots.PICTURE_MAX, path


def test_no_file_contains_a_path_of_a_developer_machine():
    names = ("src", "tests", "bench", "docs", "scripts", "requirements", ".ci")
    folders = [ROOT / name for name in names]
    files = [*ROOT.glob("*"), *(path for folder in folders for path in folder.rglob("*"))]
    # In a linked worktree, .git is a file with the path of the main one.
    ours = (path for path in files if path.is_file() and path.name != ".git")
    texts = {
        path: path.read_text() for path in ours if path.suffix not in (".pyc", ".png", ".wasm")
    }
    assert len(texts) > len(DOCUMENTS)
    for path, text in texts.items():
        found = re.findall(r"(?<![\w.$/-])/(?:home|root|work|Users)/\S*", text)
        assert not found, f"{path}: {found}"


def test_every_page_is_reachable_from_the_readme():
    reached, new = set(), {ROOT / "README.md"}
    while new:
        page = new.pop()
        reached.add(page)
        links = re.findall(r"\]\(([^)#\s]+\.md)", page.read_text())
        new |= {(page.parent / link).resolve() for link in links if "://" not in link} - reached
    assert reached == set(DOCUMENTS)


# --- parsing Markdown ---


def tables(document: str, *columns: str) -> Iterator[dict[str, str]]:
    """The rows of all tables of a document that have these columns."""
    return parse_rows((ROOT / document).read_text(), *columns)


def parse_rows(text: str, *columns: str) -> Iterator[dict[str, str]]:
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


def strip_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def extract_code(text: str) -> str:
    """The text in backticks and in blocks."""
    return "\n".join(re.findall(r"^```.*?^```$|`[^`\n]+`", text, re.M | re.S))


def anchors(text: str) -> set[str]:
    """The anchors of the headings."""
    headings = re.findall(r"^#+ (.+)$", strip_blocks(text), re.M)
    return {re.sub(r"[^\w -]", "", each.lower()).strip().replace(" ", "-") for each in headings}


def list_drawn_paths(text: str) -> Iterator[Path]:
    """The paths in the tree of ARCHITECTURE.md, indented by two spaces per folder."""
    found = re.search(r"^```text\nsrc/longwire/\n(.*?)^```$", text, re.M | re.S)
    assert found, "there is no tree"
    folders = [SOURCE]
    for line in found[1].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        for name in line.strip().split("  ")[0].split():  # a line may have several
            path = folders[depth - 1] / name
            yield path
        folders[depth:] = [path]


def relative_names(folder: Path, paths: set[Path]) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in paths)


# --- what the code has ---


@functools.cache
def served() -> list[Route]:
    return list_routes()


class Parameter(NamedTuple):
    name: str
    default: str
    is_secret: bool
    description: str


def parameter_tables(page: str) -> dict[str, list[dict[str, str]]]:
    """The parameter tables of a page: that of every type first, then one for each type."""
    text = section(page, "Types and their parameters")
    parts = re.split(r"^### (\w+)$", text, flags=re.M)
    named = dict(zip(["every type", *parts[1::2]], parts[::2], strict=True))
    return {name: list(parse_rows(part, "Parameter")) for name, part in named.items()}


def parameters_of(page: str, name: str) -> Iterator[Parameter]:
    """The parameters of a type by its JSON Schema: its own ones, or those of every type."""
    types, common = TYPED_PAGES[page]
    some_type = next(iter(types.TYPES)) if name == "every type" else name
    schema = json.loads(schema_text(types.get_params_type(some_type)))
    shared = {each.encode_name for each in msgspec.structs.fields(common)}
    for each in flatten_schema(schema, schema.get("$defs", {})):
        if (each.name.partition(".")[0] in shared) == (name == "every type"):
            yield each


def flatten_schema(schema: Any, parts: Any, above: str = "") -> Iterator[Parameter]:
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
            yield from flatten_schema(part, parts, f"{above}{name}.")
