"""Tables in the terminal. Apart from `base`, because the service runs without them."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from longwire_cli.terminal import printable

PIPED_COLUMNS = 2_000


def print_table(rows: list[dict[str, Any]], columns: Sequence[str], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(rows))
    else:
        draw_table([[row[name] for name in columns] for row in rows], columns)


def draw_table(rows: Iterable[Sequence[Any]], columns: Sequence[str]) -> None:
    """Without columns, the first of two cells is the name of the second."""
    heads = [Column(name, overflow="fold") for name in columns]
    table = Table(*heads, box=None, show_header=bool(columns), pad_edge=False)
    for row in rows:
        table.add_row(*(Text(_cell(each)) for each in row))
    # A truncated id is useless, so piped output is as wide as it needs to be.
    console = Console() if sys.stdout.isatty() else Console(width=PIPED_COLUMNS)
    console.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return printable(", ".join(value))
    return json.dumps(value) if isinstance(value, dict | list) else printable(str(value))
