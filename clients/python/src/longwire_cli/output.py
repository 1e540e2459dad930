"""Prints what the service returned: as a table, as JSON or as CSV."""

import csv
import functools
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeVar, cast

import click

from longwire_cli.csv_cells import format_cell
from longwire_cli.tables import draw_table
from longwire_client import Model

F = TypeVar("F", bound=Callable[..., Any])
Row = Mapping[str, Any]
Printer = Callable[..., None]


def printing(command: F) -> F:
    """A command with `--json` and `--csv`, which gets `show`, to print with."""

    @click.option("--json", "as_json", is_flag=True, help="print JSON")
    @click.option("--csv", "as_csv", is_flag=True, help="print CSV")
    @functools.wraps(command)
    def run(as_json: bool, as_csv: bool, **values: Any) -> None:
        if as_json and as_csv:
            raise click.UsageError("give --json or --csv")
        form = "json" if as_json else "csv" if as_csv else "table"
        command(show=functools.partial(show, form=form), **values)

    return cast(F, run)


def printing_ids(command: F) -> F:
    """The same with `--id`, for objects with an id, which is their first column."""

    @click.option("--id", "only_id", is_flag=True, help="print only the id")
    @functools.wraps(command)
    def run(only_id: bool, show: Printer, **values: Any) -> None:
        command(show=show_ids if only_id else show, **values)

    return printing(cast(F, run))


def show_ids(found: Model | Iterable[Model], columns: Sequence[str]) -> None:
    for each in [found] if isinstance(found, Model) else found:
        click.echo(each.to_dict()[columns[0]])


def show(found: Model | Iterable[Model], columns: Sequence[str], *, form: str) -> None:
    """One object with all its fields, or a list of objects with the given columns."""
    if isinstance(found, Model):
        show_one(found.to_dict(), form)
        return
    rows = [each.to_dict() for each in found]
    if form == "json":
        click.echo(json.dumps(rows))
    elif form == "csv":
        print_csv(rows, columns)
    else:
        draw_table([[to_cell(row, name) for name in columns] for row in rows], columns)


def show_one(row: Row, form: str) -> None:
    if form == "json":
        click.echo(json.dumps(row))
    elif form == "csv":
        print_csv([row], list(row))
    else:
        draw_table([[name, to_cell(row, name)] for name in row], ())


def to_cell(row: Row, name: str) -> Any:
    """A value for people, in tables; JSON and CSV have it as the API does."""
    value = row.get(name)
    if name == "seenAt" and isinstance(value, int):
        return format_date(value / 1_000)
    if name == "error" and isinstance(value, dict) and value.keys() == {"at", "message"}:
        return f"{value['message']} ({value['at']})"
    return value


def format_date(seconds: float) -> str:
    """As the API writes it."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def take(items: Iterable[Model], limit: int) -> Iterable[Model]:
    """The first items; all of them if the limit is 0."""
    return islice(items, limit) if limit else items


def print_csv(rows: Iterable[Row], columns: Sequence[str]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([format_cell(row.get(name)) for name in columns])


limit_option = click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="how many to print at most; 0 for all",
)
yes_option = click.option("--yes", is_flag=True, help="do not ask")


def confirm(question: str, yes: bool) -> None:
    """Ask before something is deleted; without a terminal it has to be said."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("give --yes to delete without being asked")
    click.confirm(question, abort=True)
