"""How values are written into cells of CSV files, and read back.

A spreadsheet runs a cell as a formula if it begins with one of a few characters, and what devices
and members write ends up in cells. Such a text gets an apostrophe in front, as OWASP advises, but
for a number: a negative reading stays one. The same at each place where a spreadsheet that divides
by semicolons, tabs or line breaks, whatever is quoted, would begin a cell.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

TAG_SEPARATOR = "|"

_DIVIDERS = r";\t\r\n"
# In full width, small, and the minus of typographers, too.
_SIGNS = (
    r"=+\-@"
    r"\uff1d\uff0b\uff0d\uff20"
    r"\ufe66\ufe62\ufe63\ufe6b"
    r"\u2212"
)
# What spreadsheets do not see at the beginning of a cell: blanks, control characters, marks without
# width, and the quote of a cell that was divided.
_IGNORED = (
    r"\x00-\x08\x0b\x0c\x0e-\x20\x22\x7f-\xa0\xad\u061c\u1680\u180e"
    r"\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
)
_NUMBER = r"[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?"

# Whatever number of apostrophes is in front, so that what is escaped differs from what began with
# one.
_FORMULA = (
    rf"(?='*[{_IGNORED}]*[{_SIGNS}])"
    rf"(?!'*[{_IGNORED}]*{_NUMBER}[{_IGNORED}]*(?:[{_DIVIDERS}]|\Z))"
)
_HERE = rf"(?:(?:\A|(?<=[{_DIVIDERS}])){_FORMULA}|\A(?='*[\t\r\n]))"
_UNSAFE = re.compile(_HERE)
_ESCAPED = re.compile(rf"(?:(?:\A|(?<=[{_DIVIDERS}]))'{_FORMULA}|\A'(?='*[\t\r\n]))")


def escape_cell(text: str) -> str:
    return text if _is_plain(text) else _UNSAFE.sub("'", text)


def unescape_cell(cell: str) -> str:
    return _ESCAPED.sub("", cell) if "'" in cell else cell


def _is_plain(text: str) -> bool:
    """Whether a quick look says so, as of most cells; the pattern takes a hundred times as long."""
    first = text[:1]
    return (first.isalnum() or first in "{[") and not (
        ";" in text or "\n" in text or "\t" in text or "\r" in text
    )


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
        value if value is None or (type(value) is str and _is_plain(value)) else format_cell(value)
        for value in values
    ]


def format_tags(tags: Sequence[str]) -> str:
    """Tags with a bar between them, or as a JSON array if one of them has a bar."""
    if any(TAG_SEPARATOR in tag or tag.startswith("[") or tag != tag.strip() for tag in tags):
        return escape_cell(msgspec.json.encode(tags).decode())
    return escape_cell(TAG_SEPARATOR.join(tags))


def parse_tags(cell: str) -> list[str]:
    """Tags with a bar between them, or as a JSON array."""
    if cell.startswith("["):
        try:
            return [tag for tag in msgspec.json.decode(cell, type=list[str]) if tag]
        except msgspec.MsgspecError:
            pass  # then it is the text of a tag
    return [tag for each in cell.split(TAG_SEPARATOR) if (tag := each.strip())]


# --- rows ---


def encode_csv(rows: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def encode_rows(format_name: str, columns: Sequence[str], rows: Sequence[msgspec.Struct]) -> bytes:
    """Rows of an export, as CSV without its head or as NDJSON."""
    if format_name == "ndjson":
        return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    members = (msgspec.to_builtins(row) for row in rows)
    return encode_csv([_format_member(each, name) for name in columns] for each in members)


def _format_member(members: dict[str, Any], name: str) -> Any:
    name, _, inner = name.partition(".")
    value = members.get(name)
    if inner:  # of a value in `values`
        value = (value or {}).get(inner, {}).get("value")
    return format_tags(value or ()) if name == "tags" else format_cell(value)
