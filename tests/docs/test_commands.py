"""Every command of the documents works as it is printed, or says why it is not run."""

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from longwire import cli, settings
from tests.docs.running import (
    ROOT,
    Shell,
    Steps,
    choose_ports,
    make_environment,
    read_steps,
    replace_addresses,
    run_blocks,
)
from tests.process import Service
from tests.world import ok

pytestmark = [pytest.mark.engine_free]

CURL = "docs/guides/curl.md"
# Pages about the command line, and what they take for granted.
COMMAND_LINE = {
    "docs/guides/command-line.md": "",
    "docs/guides/from-thingsboard.md": "",
    "docs/operate/keys.md": """
        longwire login --operator-file longwire-data/operator.json > /dev/null
        GROUP=$(longwire group create "Yard" --id)
        FIRST=$(grep -o 'cli_[a-z0-9]*' longwire-data/operator.json)
        """,
    "docs/operate/networks.md": """
        echo 'function decodeUplink(input) { return {data: {latitude: 51.9}} }' > codec.js
        echo 'function encodeDownlink(input) { return {bytes: [input.data.level]} }' > encoder.js
        """,
}
DEFAULT_FLAGS = ("--egress-allow", "127.0.0.0/8,::1/128")
# Pages that go on in the shell of docs/guides/curl.md, and what they take for granted.
GUIDES = {
    CURL: "",
    "docs/guides/connectors.md": "",
    "docs/guides/networks.md": "",
    "docs/guides/records.md": """
        GROUP=$(as "$OPERATOR" -d '{"name":"Yard"}' "$URL/group" | field id)
        BODY='{"groupId":"'$GROUP'","name":"A","type":"button","originalId":"A","network":"demo"}'
        DEVICE=$(as "$OPERATOR" -d "$BODY" "$URL/device" | field deviceId)
        BODY='{"deviceId":"'$DEVICE'","timestamp":'$(date +%s)',"type":"opened"}'
        as "$OPERATOR" -d "$BODY" "$URL/device/event" > /dev/null
        """,
    "docs/guides/device-types.md": """
        GROUP=$(as "$OPERATOR" -d '{"name":"Yard"}' "$URL/group" | field id)
        """,
    "docs/guides/measurements.md": """
        GROUP=$(as "$OPERATOR" -d '{"name":"Yard"}' "$URL/group" | field id)
        """,
    "docs/guides/import-export.md": """
        GROUP=$(as "$OPERATOR" -d '{"name":"Yard"}' "$URL/group" | field id)
        TOKEN=$OPERATOR
        """,
}
TUTORIALS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs/tutorials").glob("*.md"))
TOUR = ("README.md", "A tour in five minutes")
# Run by other tests, beside those below.
ELSEWHERE = {"docs/operate/backups.md", "README.md"}

_BLOCK = re.compile(r"^```(sh|console|bash|shell)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(longwire [a-z][a-z-]+ ?[^`|…]*)`")
_NOT_RUN = re.compile(r"^\*Not run by the tests: .+\.\*$")
_START = re.compile(r'^```console\n\$ make run(?: ARGS="(.*)")?\n```$', re.MULTILINE)
_DATABASE = "postgresql://longwire:secret@127.0.0.1:5432/longwire"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts a service like that of `make run`, in a folder like a new clone."""
    services: list[Service] = []

    def start(*flags: str) -> Service:
        services.append(Service(tmp_path / "longwire-data", *DEFAULT_FLAGS, *flags))
        return services[-1].started()

    with make_environment(tmp_path):
        yield start
    for each in services:
        each.clean_up()


def with_addresses(steps: Steps, service: Service) -> Steps:
    ports = choose_ports()
    return [
        (replace_addresses(step, ports, service.url), replace_addresses(printed, ports))
        for step, printed in steps
    ]


@pytest.mark.slow
@pytest.mark.parametrize("program", ["sh", pytest.param("zsh", marks=pytest.mark.soak)])
def test_the_tour_works_as_printed(start, tmp_path, monkeypatch, program):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program}")
    run_blocks(with_addresses(read_steps(*TOUR), start()), tmp_path, program)


@pytest.mark.slow
@pytest.mark.parametrize("page", GUIDES)
def test_the_commands_of_a_guide_work_as_printed(start, tmp_path, page):
    text = (ROOT / page).read_text()
    table = re.search(r"^```csv\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "devices.csv").write_text(table[1] if table else "")
    steps = [] if page == CURL else [*read_steps(CURL)[:1], (GUIDES[page], "")]
    run_blocks(with_addresses([*steps, *read_steps(page)], start()), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", COMMAND_LINE)
def test_the_commands_of_the_command_line_work_as_printed(start, tmp_path, monkeypatch, page):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    start()
    run_blocks([(COMMAND_LINE[page], ""), *read_steps(page)], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_works_as_printed(start, tmp_path, page, request):
    text = (ROOT / page).read_text()
    ports = choose_ports()
    if _DATABASE in text:
        server = request.getfixturevalue("postgres")
        text = text.replace(_DATABASE, server.url(server.create()))
    if "mosquitto -p" in text and shutil.which("mosquitto", path="/usr/bin:/usr/sbin") is None:
        pytest.skip("Mosquitto is missing; `make brokers` installs it")
    started = _START.search(text)
    before, after = (text[: started.start()], text[started.end() :]) if started else (text, "")
    shell = Shell(tmp_path)
    try:
        shell.run(to_steps(before, ports))
        if started:
            flags = shlex.split(replace_addresses(started[1] or "", ports))
            shell.run(to_steps(after, ports, start(*flags).url))
    finally:
        shell.close()


def to_steps(text: str, ports: dict[str, str], url: str | None = None) -> Steps:
    steps: Steps = []
    text = replace_addresses(text, ports, url)
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        if kind == "sh":
            steps.append((block, ""))
        elif kind == "text" and steps:
            steps[-1] = (steps[-1][0], block)
    return steps


@pytest.mark.slow
def test_a_backup_of_a_running_service_can_be_restored(start, tmp_path):
    service = start()
    ok(service.post_group("before"))
    run_blocks(read_steps("docs/operate/backups.md"), tmp_path)
    ok(service.post_group("after"))
    for name in ("secret.key", "operator.json"):
        shutil.copy(service.data / name, tmp_path / "restored-data")
    restored = Service(tmp_path / "restored-data")
    try:
        assert restored.started().group_names() == {"before"}
    finally:
        restored.clean_up()


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_block_that_is_not_run_says_why(page):
    name = str(page.relative_to(ROOT))
    text = page.read_text()
    for found in _BLOCK.finditer(text):
        kind, block = found.groups()
        above = text[: found.start()].rstrip().rpartition("\n")[2]
        is_run = kind == "sh" and name in {*GUIDES, *TUTORIALS, *ELSEWHERE, *COMMAND_LINE}
        is_start = kind == "console" and name in TUTORIALS and "$ make run" in block
        says_why = _NOT_RUN.match(above) is not None
        assert is_run or is_start or says_why, f"{name}: nothing runs\n{block}"


def test_commands_that_are_not_run_have_existing_options():
    lines = [
        line
        for page in PAGES
        for kind, block in _BLOCK.findall(page.read_text())
        if kind == "console"
        for line in block.replace("\\\n", " ").splitlines()
    ]
    # In the text, too: `longwire doctor --deep`.
    lines += [
        f"$ {' '.join(found.split())}"
        for page in PAGES
        for found in _INLINE.findall(page.read_text())
    ]
    flags = {each.flag for each in settings.describe_settings()} | {"--config"}
    names = {each.name.upper() for each in settings.describe_settings()}
    checked = 0
    for line in lines:
        variables = re.findall(r"\bLONGWIRE_(\w+?)(?:_FILE)?=", line)
        assert set(variables) <= names | {"CONFIG"}, line
        command = re.match(r"\$ (?:\w+=\S+ )*longwire ([a-z].*)", line)
        if command:
            words = command[1].split()
            group = cli.commands
            while words and hasattr(group, "get_command"):
                group = group.get_command(None, words.pop(0))
                assert group is not None, line
            options = {name for each in group.params for name in each.opts}
            used = {word.partition("=")[0] for word in words if word.startswith("--")}
            assert used <= options | flags, line
            checked += 1
    assert checked > 10
