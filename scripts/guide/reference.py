"""`make reference`: write the parts of docs/ that the code knows: settings, commands, permissions.

They stand between two comments in pages that are otherwise written by hand, and are committed, so
that they can be read and linked in the repository. A test fails while they are not what the code
says.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from longwire import cli, settings
from longwire.identity import bootstrap

DOCS = Path(__file__).parents[2] / "docs"
# These select the database of a command, or are settings; the page says so once.
_DATABASE_FLAGS = {"--config", "--data", "--database", "--secret-key"}


def render_settings() -> Iterator[str]:
    yield "| Setting | Default | What it is for |"
    yield "|---|---|---|"
    for each in settings.describe_settings():
        default = "none" if each.default in ("", ()) else f"`{each.default}`"
        yield f"| `{each.name}` | {default} | {each.reason} |"


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
        yield f"| {', '.join(f'`{name}`' for name in each.opts)} | {describe_option(each)} |"
    yield ""


def describe_option(option: click.Option) -> str:
    parts = [clean(option.help or "")]
    if isinstance(option.type, click.Choice):
        parts.append("one of " + ", ".join(f"`{each}`" for each in option.type.choices))
    if option.required:
        parts.append("required")
    elif option.default is not None and option.show_default and not option.is_flag:
        parts.append(f"`{option.default}` by default")
    if option.multiple:
        parts.append("may be repeated")
    return "; ".join(each for each in parts if each) or "&nbsp;"


def clean(text: str) -> str:
    """Without click's marks; a line break only between paragraphs."""
    paragraphs = text.replace("\b\n", "").split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs).replace("|", "\\|").strip()


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
    return text


if __name__ == "__main__":
    for page in PARTS:
        path = DOCS / page
        before = path.read_text()
        after = write_parts(page, before)
        if after != before:
            path.write_text(after)
            print(f"docs/{page}")
