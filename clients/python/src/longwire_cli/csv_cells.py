"""How values are written into cells of CSV files.

A spreadsheet runs a cell as a formula if it begins with one of a few characters, and what devices
and members write ends up in cells. Exports of the service have the same rule; a test compares.
"""

import re
from typing import Any

import msgspec

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


def escape_cell(text: str) -> str:
    return text if _is_plain(text) else _UNSAFE.sub("'", text)


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
