"""`make reference`: write the parts of docs/ that the code knows.

Settings, commands, permissions, metrics and alerts stand between two comments in pages that are
otherwise written by hand; of the tables of operations, some columns are written. All of it is
committed, so that it can be read and linked in the repository. A test fails while it is not what
the code says.
"""

import inspect
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import yaml
from prometheus_client.core import Metric

from longwire import cli, settings
from longwire.clock import Clock
from longwire.delivery.connectors.backlogs import ConnectorBacklog
from longwire.identity import bootstrap
from longwire.process.startup import build_database
from longwire.prometheus import DatabaseStats, MetricLabels, PrometheusMetrics
from longwire.settings import Settings
from longwire.store.database import StandbyStatus
from longwire.store.delivery.backlogs import Backlog, SlotBacklog
from scripts.guide import openapi
from scripts.guide.interface import update_operations

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RULES = ROOT / "deploy/prometheus/rules.yml"
INTERFACE = "reference/interface.md"
# These select the database of a command, or are settings; the page says so once.
_DATABASE_FLAGS = {"--config", "--data", "--database", "--secret-key"}


def render_settings() -> Iterator[str]:
    yield "| Setting | In a file | Default | What it is for |"
    yield "|---|---|---|---|"
    for each in settings.describe_settings():
        default = "none" if each.default in ("", ()) else f"`{each.default}`"
        yield f"| `{each.name}` | `[{each.table}]` `{each.key}` | {default} | {each.reason} |"


def render_permissions() -> Iterator[str]:
    roles = bootstrap.ROLES
    yield f"| Permission | What it allows | {' | '.join(role.name for role in roles)} |"
    yield "|---" * (2 + len(roles)) + "|"
    for each in bootstrap.PERMISSIONS:
        held = ["yes" if each.id in role.permissions else "" for role in roles]
        scope = " (platform)" if each.is_platform_wide else ""
        yield f"| `{each.id}` | {each.description}{scope} | {' | '.join(held)} |"


def render_roles() -> Iterator[str]:
    yield "| Role | Id | In a sentence |"
    yield "|---|---|---|"
    for role in bootstrap.ROLES:
        yield f"| {role.name} | `{role.id}` | {role.description} |"


def render_metrics() -> Iterator[str]:
    yield "| Metric | Kind | Labels | Meaning |"
    yield "|---|---|---|---|"
    for each in collect_metrics():
        name = f"{each.name}_total" if each.type == "counter" else each.name
        labels = dict.fromkeys(label for sample in each.samples for label in sample.labels)
        shown = ", ".join(f"`{label}`" for label in labels if label != "le")
        meaning = clean(each.documentation).rstrip(".")
        yield f"| `{name}` | {each.type} | {shown} | {meaning} |"


def collect_metrics() -> list[Metric]:
    """Every metric of a service, with a sample where there is none without an event."""
    metrics = PrometheusMetrics(MetricLabels(mqtt_outcomes=["stored"]))
    metrics.observe_response("/group", "GET", 200, 0.1)
    metrics.observe_attempt("http", "delivered", 0.1)
    metrics.count_rejected_message("vendor")
    metrics.count_decode_failure("tracker")
    metrics.count_task_failure("cleanup")
    stats = DatabaseStats(
        Backlog(0, 0, 0, 0, None),
        [ConnectorBacklog("", "", 1, 1, 1)],
        [SlotBacklog(0, 0, None)],
        1,
        1,
    )
    with tempfile.TemporaryDirectory() as folder:
        database = build_database(Settings(data=Path(folder)), Clock())[0]
        metrics.update(database, queued_records=0, is_ready=True, stats=stats)
        metrics.set_standby_status(StandbyStatus("ok", 0.0, 0, 0))
    return list(metrics.registry.collect())


def render_alerts() -> Iterator[str]:
    yield "| Alert | Severity | What is wrong | What to do first |"
    yield "|---|---|---|---|"
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            texts = rule["annotations"]
            wrong = re.sub(r"\{\{.*?\}\}", "…", texts["summary"])
            action = texts["action"].rstrip(".")
            yield f"| `{rule['alert']}` | {rule['labels']['severity']} | {wrong} | {action} |"


def render_commands() -> Iterator[str]:
    for name, command in walk_commands(cli.commands):
        yield f"## {name}"
        yield ""
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        usage = " ".join([name, *(each.make_metavar(click.Context(command)) for each in arguments)])
        yield from (f"`{usage}`", "") if arguments else ()
        yield from (clean(command.help or ""), "")
        yield from render_options(command)


def render_options(command: click.Command) -> Iterator[str]:
    """The options of a command, without those that many have."""
    options = [each for each in command.params if isinstance(each, click.Option)]
    flags = {each.flag for each in settings.describe_settings()}
    names = {name for each in options for name in each.opts}
    if flags <= names:
        yield from ("Takes every [setting](settings.md) as a flag.", "")
        common = flags | {"--config"}
    elif names >= _DATABASE_FLAGS:
        yield from ("Takes the options that find the database.", "")
        common = _DATABASE_FLAGS
    else:
        common = set()
    own = [each for each in options if not common & set(each.opts)]
    if not own:
        return
    yield "| Option | What it is |"
    yield "|---|---|"
    for each in own:
        shown = ", ".join(f"`{name}`" for name in [*each.opts, *each.secondary_opts])
        yield f"| {shown} | {describe_option(each)} |"
    yield ""


def describe_option(option: click.Option) -> str:
    parts = [clean(option.help or "")]
    if isinstance(option.type, click.Choice):
        parts.append("one of " + ", ".join(f"`{each}`" for each in option.type.choices))
    if option.required:
        parts.append("required")
    elif option.default is not None and option.show_default and not option.is_flag:
        given = option.default if option.multiple else (option.default,)
        parts.append(f"{', '.join(f'`{each}`' for each in given)} by default")
    if option.multiple and "may be repeated" not in parts[0]:
        parts.append("may be repeated")
    described = "; ".join(each for each in parts if each)
    assert described, f"{option.name} has no help"
    return described


def clean(text: str) -> str:
    """Without click's marks; what it prints as it stands is a block, all else a line."""
    return "\n\n".join(_clean_paragraph(each) for each in text.split("\n\n")).strip()


def _clean_paragraph(text: str) -> str:
    mark, found, block = text.partition("\b\n")
    if found and not mark.strip():
        return f"```text\n{inspect.cleandoc(block)}\n```"
    return " ".join(text.split()).replace("|", "\\|")


def walk_commands(
    group: click.Group, above: str = "longwire"
) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from walk_commands(command, f"{above} {name}")
        elif not command.hidden:
            yield f"{above} {name}", command


PARTS: dict[str, dict[str, Callable[[], Iterator[str]]]] = {
    "reference/settings.md": {"settings": render_settings},
    "reference/command-line.md": {"commands": render_commands},
    "reference/permissions.md": {"permissions": render_permissions, "roles": render_roles},
    "reference/metrics.md": {"metrics": render_metrics},
    "operate/monitoring.md": {"alerts": render_alerts},
    INTERFACE: {},
}


def write_parts(page: str, text: str) -> str:
    """The text of a page with its generated parts as the code has them now."""
    for name, render in PARTS[page].items():
        begin, end = f"<!-- {name}: written by make reference -->", f"<!-- end of {name} -->"
        pattern = re.compile(re.escape(begin) + r".*?" + re.escape(end), re.DOTALL)
        body = "\n".join(render()).strip()
        replaced = f"{begin}\n\n{body}\n\n{end}"
        text, count = pattern.subn(lambda _, part=replaced: part, text)
        assert count == 1, f"{page} has no place for {name}"
    return update_operations(text) if page == INTERFACE else text


def main() -> None:
    texts = {DOCS / page: write_parts(page, (DOCS / page).read_text()) for page in PARTS}
    texts[openapi.PATH] = openapi.render(openapi.build_openapi())
    for path, text in texts.items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
