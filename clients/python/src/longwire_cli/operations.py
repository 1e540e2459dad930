"""The shape of a command that prints what the service returns."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from longwire_cli.connection import connected
from longwire_cli.output import Printer, limit_option, printing_ids, take
from longwire_client import Client, Model

Operation = Callable[..., Model | Iterable[Model]]


def command(name: str, columns: Sequence[str]) -> Callable[[Operation], click.Command]:
    """Calls the service with a client; prints the object that it returns, or a table of them."""
    return functools.partial(_build, name, columns, is_list=False)


def list_command(name: str, columns: Sequence[str]) -> Callable[[Operation], click.Command]:
    """The same for a list, which has a limit."""
    return functools.partial(_build, name, columns, is_list=True)


def _build(
    name: str, columns: Sequence[str], operation: Operation, *, is_list: bool
) -> click.Command:
    @functools.wraps(operation)
    def run(client: Client, show: Printer, limit: int = 0, **values: Any) -> None:
        found = operation(client, **values)
        show(found if isinstance(found, Model) else take(found, limit), columns)

    # In the help, what a command has of its own comes before what all have.
    own = run.__dict__.pop("__click_params__", [])
    built: Any = connected(printing_ids(run))
    if is_list:
        built = limit_option(built)
    built.__click_params__ += own
    return click.command(name)(built)
