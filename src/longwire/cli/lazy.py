"""Groups of commands that are imported when they are needed."""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class ImportedCommands(click.Group):
    """A group whose commands are each in `longwire.cli.<module>:<name>`."""

    def __init__(self, *arguments: Any, imported: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._imported = imported  # by name, in the order of the help

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._imported)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._imported:
            return None
        module, _, name = self._imported[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(f"longwire.cli.{module}"), name)
        return command
