"""What is written to a terminal, and what may be."""

import json
from typing import Any

import click

json_flag = click.option("--json", "as_json", is_flag=True, help="print JSON")


def print_result(value: dict[str, Any], as_json: bool, text: str) -> None:
    click.echo(json.dumps(value) if as_json else text)


def printable(text: str) -> str:
    """Without characters that a terminal obeys: names and data come from anybody."""
    return "".join(each if each.isprintable() else "�" for each in text)


def printable_lines(text: str) -> str:
    """The same for a text of several lines."""
    return "\n".join(map(printable, text.split("\n")))
