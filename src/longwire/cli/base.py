"""Shared by the commands: flags and database access."""

import asyncio
import functools
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from longwire import settings
from longwire.clock import Clock
from longwire.process import logs, startup
from longwire.settings import Settings, loading
from longwire.store.database import Database, Tx
from longwire_cli import profiles
from longwire_cli.errors import CommandError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

# --- flags ---


def setting_flags(*names: str, reloads: bool = False, is_lazy: bool = False) -> Callable[[F], F]:
    """Flags for the given settings, or for all of them; the command gets them as `chosen`.

    With `reloads` it also gets `load`, which loads them again from the same sources; with `is_lazy`
    it gets only that, and nothing has been loaded yet.
    """
    described = [each for each in settings.describe_settings() if not names or each.name in names]

    def add(command: F) -> F:
        @functools.wraps(command)
        def run(config: Path | None, **values: Any) -> None:
            flags = {each.name: values.pop(each.name) for each in described}
            load = functools.partial(loading.load, flags, os.environ, config)
            if reloads or is_lazy:
                values["load"] = load
            if not is_lazy:
                values["chosen"] = load()
            command(**values)

        with_flags = cast(F, run)
        for each in reversed(described):
            shown = each.default if each.default not in ("", ()) else "none"
            with_flags = click.option(
                each.flag,
                each.name,
                default=None,
                help=f"{each.reason} [default: {shown}]",
                metavar="TEXT",
            )(with_flags)
        return click.option(
            "--config",
            type=click.Path(path_type=Path),
            envvar="LONGWIRE_CONFIG",
            default=None,
            help="a TOML file with settings",
        )(with_flags)

    return add


database_flags = setting_flags("data", "database", "secret_key")


# --- database access next to a running service ---


@contextmanager
def open_existing_database(chosen: Settings, clock: Clock | None = None) -> Iterator[Database]:
    """Open an initialized database; a command never creates one by accident."""
    if not chosen.database and not (chosen.data / "longwire.db").exists():
        raise startup.StartupError(f"There is no database in {chosen.data}. {_how_to_go_on()}")
    logs.configure_logging("error", "auto")
    database, _ = startup.open_prepared_database(
        chosen, clock or Clock(), is_secondary=True, requires_current_schema=True
    )
    with closing(database):
        database.start()
        yield database


# What does about the same through a service that one is signed in to.
REMOTE_COMMANDS = {
    "connectors": "`longwire connector list`",
    "deliveries": "the Messages of a group in the console",
    "audit": "the Audit log of a group in the console",
    "device-type": "the Device types in the console",
    "redecode": "`longwire job create`",
    "group": "`longwire group list`",
}


def _how_to_go_on() -> str:
    """For those who use a service elsewhere: to start one here would make a second, empty one."""
    try:
        known = profiles.load()
        service = known.get(None)
    except CommandError:
        return startup.HOW_TO_INITIALIZE
    names = click.get_current_context().command_path.split()[1:]
    remote = REMOTE_COMMANDS.get(names[0] if names else "", "the console")
    return (
        "This command works on the database, on the server's machine; --data or --database says"
        f" where that is. You are signed in to {service.url} (profile {known.current}), where"
        f" {remote} shows what you may see."
    )


def run_read(chosen: Settings, work: Callable[[Tx], T]) -> T:
    with open_existing_database(chosen) as database:
        return asyncio.run(database.read(work))


def run_write(chosen: Settings, work: Callable[[Tx], T], clock: Clock | None = None) -> T:
    with open_existing_database(chosen, clock) as database:
        return asyncio.run(database.write(work))
