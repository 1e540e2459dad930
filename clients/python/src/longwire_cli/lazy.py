"""Groups of commands that are imported when they are needed."""

import gc
import importlib
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem


class ImportedCommands(click.Group):
    """A group whose commands are each in `<module>:<name>`.

    With texts for them, neither its help nor the completion of a shell imports any.
    """

    def __init__(
        self,
        *arguments: Any,
        imported: Mapping[str, str],
        short_help_texts: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._imported = imported  # by name, in the order of the help
        self._texts = short_help_texts

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._imported)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._imported:
            return None
        module, _, name = self._imported[cmd_name].partition(":")
        # What imports create stays: collecting would find nothing, now or later.
        gc.disable()
        try:
            command: click.Command = getattr(importlib.import_module(module), name)
        finally:
            gc.freeze()
            gc.enable()
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self._texts is None:
            super().format_commands(ctx, formatter)
            return
        width = formatter.width - 6 - max(len(name) for name in self._texts)
        rows = [
            (name, click.Command(name, help=text).get_short_help_str(width))
            for name, text in self._texts.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if self._texts is None:
            return super().shell_complete(ctx, incomplete)
        found = [
            CompletionItem(name, help=text)
            for name, text in self._texts.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]
