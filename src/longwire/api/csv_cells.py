"""How values are written into cells of CSV files, and read back.

A spreadsheet runs a cell that begins with one of a few characters as a formula, and what devices
and members write ends up in cells. Such a text gets an apostrophe in front, as OWASP advises,
unless it is a number: a negative reading stays one.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
TAG_SEPARATOR = "|"

_FORMULA_STARTS = frozenset(FORMULA_STARTS)

_NUMBER = re.compile(r"[+-]?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?", re.ASCII)


def escape_cell(text: str) -> str:
    if text.startswith(FORMULA_STARTS) and not _NUMBER.fullmatch(text):
        return "'" + text
    return text


def unescape_cell(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(FORMULA_STARTS) else cell


def format_cell(value: Any) -> Any:
    """A value of a JSON object as a cell: texts escaped, lists and objects as JSON."""
    if isinstance(value, str):
        return escape_cell(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    return escape_cell(msgspec.json.encode(value).decode())


def format_cells(values: Iterable[Any]) -> list[Any]:
    """The same for many values, most of which are texts that stay as they are."""
    return [
        value
        if value is None or (type(value) is str and value[:1] not in _FORMULA_STARTS)
        else format_cell(value)
        for value in values
    ]


def format_tags(tags: Sequence[str]) -> str:
    """Tags with a bar between them, or as a JSON array if one of them has a bar."""
    if any(TAG_SEPARATOR in tag or tag.startswith("[") or tag != tag.strip() for tag in tags):
        return msgspec.json.encode(tags).decode()
    return escape_cell(TAG_SEPARATOR.join(tags))


def parse_tags(cell: str) -> list[str]:
    """Tags with a bar between them, or as a JSON array."""
    if cell.startswith("["):
        try:
            return [tag for tag in msgspec.json.decode(cell, type=list[str]) if tag]
        except msgspec.MsgspecError:
            pass  # then it is the text of a tag
    return [tag for each in cell.split(TAG_SEPARATOR) if (tag := each.strip())]
