"""Writes settings as a TOML file: a template of all of them, or what is in force."""

import json
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network
from itertools import groupby
from pathlib import Path
from textwrap import wrap

from longwire.settings import MOST_SET, Settings, describe_settings
from longwire.settings.declaration import (
    FILE_SUFFIX,
    URLS_WITH_PASSWORD,
    SettingInfo,
    redact_password,
)

COLUMNS = 96
MASKED = "***"

_HEADING = """\
# Settings of longwire. Use this file with --config or LONGWIRE_CONFIG; flags and environment
# variables override it.
"""


def render_template() -> str:
    """Every setting with its description and default, commented out."""
    lines = [_HEADING, *_list_most_set()]
    for table, settings in _by_table():
        lines += [f"[{table}]", ""]
        for each in settings:
            lines += _describe(each)
            lines.append(f"# {each.key} = {_to_toml(each.default)}")
            if each.may_be_file:
                lines.append(f'# {each.key}{FILE_SUFFIX} = ""')
            lines.append("")
    return "\n".join(lines)


def render_effective(settings: Settings) -> str:
    """Every setting with the value in force; those that are secret are masked, as comments."""
    lines = [_HEADING]
    for table, described in _by_table():
        lines += [f"[{table}]", ""]
        for each in described:
            lines += _describe(each)
            value = getattr(settings, each.name)
            shown = mask(each, value)
            # What is masked must not be taken for a value when this is used as a file.
            lines.append(f"{'' if shown == value else '# '}{each.key} = {_to_toml(shown)}")
            lines.append("")
    return "\n".join(lines)


def _by_table() -> Iterator[tuple[str, list[SettingInfo]]]:
    for table, settings in groupby(describe_settings(), lambda each: each.table):
        yield table, list(settings)


def _list_most_set() -> list[str]:
    paths = {each.name: each.path for each in describe_settings()}
    most_set = "Most installations set no more than " + ", ".join(paths[each] for each in MOST_SET)
    return [*(f"# {line}" for line in wrap(f"{most_set}.", COLUMNS)), ""]


def mask(setting: SettingInfo, value: object) -> object:
    """The value as it may be shown."""
    if setting.is_secret and value:
        return MASKED
    if setting.name in URLS_WITH_PASSWORD:
        return redact_password(str(value))
    return value


def _describe(setting: SettingInfo) -> list[str]:
    text = setting.reason
    if setting.may_be_file:
        text += f"; or in the file that {setting.key}{FILE_SUFFIX} names"
    return [f"# {line}" for line in wrap(text, COLUMNS)]


def _to_toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case tuple():
            return f"[{', '.join(_to_toml(part) for part in value)}]"
        case str() | Path() | IPv4Network() | IPv6Network():
            # TOML escapes as JSON does, but for DEL.
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    raise TypeError(f"no setting is of the type {type(value).__name__}")
