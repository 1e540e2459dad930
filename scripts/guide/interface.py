"""The tables of operations in docs/reference/interface.md.

Their rows, order and last column are written by hand: which operation belongs where, and what it
does, with links to the guides. The other columns, and what is an addition, are written from the
routes.
"""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from longwire.clock import Clock
from longwire.process.app import SIGN_IN, App
from longwire.process.startup import build_database
from longwire.settings import Settings
from longwire.web.routing import Route

HEADER = "| Method | Path | Parameters | Permission | Response | What it does |"
ADDITION = "Addition. "
_ROW = re.compile(r"\| (GET|POST|PUT|PATCH|DELETE) \| `([^`]+)` \|")

Operations = Mapping[tuple[str, str], Route]


def list_routes() -> list[Route]:
    """The routes of a service with a new database."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        return list(App(settings, build_database(settings, Clock())[0]).routes)


def is_operation(route: Route) -> bool:
    """Whether it has a row of all columns: what signs people in is described in words."""
    return not route.takes_request and route not in SIGN_IN


def update_operations(text: str) -> str:
    """The page with its tables as the routes are; each operation must have a row."""
    known = {(each.method, each.path): each for each in list_routes() if is_operation(each)}
    lines: list[str] = []
    listed: list[tuple[str, str]] = []
    is_table = False
    for line in text.splitlines():
        is_table = line == HEADER or (is_table and line.startswith("|"))
        row = _ROW.match(line) if is_table else None
        if row is None:
            lines.append(line)
        elif (row[1], row[2]) in known:
            listed.append((row[1], row[2]))
            lines.append(render_row(known[row[1], row[2]], line.strip("| ").rpartition(" | ")[2]))
    missing = [f"| {method} | `{path}` | | | | … |" for method, path in known.keys() - set(listed)]
    assert not missing, "the interface needs rows for\n" + "\n".join(missing)
    assert len(listed) == len(known), "the interface has an operation twice"
    return "\n".join(lines) + "\n"


def render_row(route: Route, meaning: str) -> str:
    meaning = meaning.removeprefix(ADDITION)
    cells = [
        route.method,
        f"`{route.path}`",
        describe_parameters(route),
        f"`{route.permission}`",
        describe_response(route),
        f"{ADDITION if route.is_addition else ''}{meaning}",
    ]
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def describe_parameters(route: Route) -> str:
    parts: list[str] = []
    for place, struct in (("query", route.query), ("body", route.body)):
        if struct is not None:
            names = (
                f"`{each.encode_name}{'' if each.required else '?'}`"
                for each in msgspec.structs.fields(struct)
            )
            parts.append(f"{place} {' '.join(names)}")
    if route.raw_body is not None:
        parts += [f"body `{each}`" for each in route.raw_body.media_types]
    return " ".join(parts)


def describe_response(route: Route) -> str:
    name = getattr(route.reply, "__name__", "") if isinstance(route.reply, type) else ""
    if name and name != "list":
        return name
    annotation = re.sub(r"[\w.]+\.", "", str(route.reply))
    return annotation.replace("list[", "[").replace(" | ", " or ")
