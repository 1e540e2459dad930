"""Writes settings as a TOML file: a template of all of them, or what is in force."""

import json
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from textwrap import wrap

from longwire.settings import (
    FILE_SUFFIX,
    URLS_WITH_PASSWORD,
    SettingInfo,
    Settings,
    describe_settings,
    redact_password,
)

COLUMNS = 96
MASKED = "***"

# The setting that each section begins with, in the order of the class.
SECTIONS = {
    "host": "Process",
    "log_level": "Logging",
    "token_lifetime_s": "Tokens and rate limits",
    "session_idle_s": "Signing in",
    "oidc_issuer": "An identity provider (OpenID Connect)",
    "map_tiles": "The console",
    "groups_per_owner_max": "Quotas",
    "body_bytes_max": "Limits of a request",
    "head_bytes_max": "Limits of a connection",
    "database_connections": "The database",
    "retention_data_days": "Retention",
    "delivery": "Delivery",
    "mqtt_url": "MQTT",
    "vendor_api_url": "Networks",
    "connectors_per_group_max": "Connectors and their expressions",
    "jobs_per_group_max": "Jobs",
    "notifications_per_group_max": "Notifications",
    "lame_duck_s": "Shutdown",
}

_HEADING = """\
# Settings of longwire. Use this file with --config or LONGWIRE_CONFIG; flags and environment
# variables override it.
"""


def render_template() -> str:
    """Every setting with its description and default, commented out."""
    lines = [_HEADING]
    for each in describe_settings():
        lines += _describe(each)
        lines.append(f"# {each.name} = {_to_toml(each.default)}")
        if each.may_be_file:
            lines.append(f'# {each.name}{FILE_SUFFIX} = ""')
        lines.append("")
    return "\n".join(lines)


def render_effective(settings: Settings) -> str:
    """Every setting with the value in force; those that are secret are masked, as comments."""
    lines = [_HEADING]
    for each in describe_settings():
        lines += _describe(each)
        value = getattr(settings, each.name)
        shown = mask(each, value)
        # What is masked must not be taken for a value when this is used as a file.
        lines.append(f"{'' if shown == value else '# '}{each.name} = {_to_toml(shown)}")
        lines.append("")
    return "\n".join(lines)


def mask(setting: SettingInfo, value: object) -> object:
    """The value as it may be shown."""
    if setting.is_secret and value:
        return MASKED
    if setting.name in URLS_WITH_PASSWORD:
        return redact_password(str(value))
    return value


def _describe(setting: SettingInfo) -> list[str]:
    section = SECTIONS.get(setting.name)
    heading = [] if section is None else [f"# {'-' * 8} {section} {'-' * 8}", ""]
    text = setting.reason
    if setting.may_be_file:
        text += f"; or in the file that {setting.name}{FILE_SUFFIX} names"
    return [*heading, *(f"# {line}" for line in wrap(text, COLUMNS))]


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
