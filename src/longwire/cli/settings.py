"""`config` prints the settings, `vapid-key` generates a value for one of them."""

from typing import Any

import click

from longwire import settings
from longwire.cli.base import json_flag, print_result, print_table, setting_flags
from longwire.notifications import webpush
from longwire.settings import Settings


@click.command("config")
@setting_flags()
@json_flag
def config_command(chosen: Settings, as_json: bool) -> None:
    """Print every setting with its value, default and description."""
    rows = [_setting_row(chosen, each) for each in settings.describe_settings()]
    print_table(rows, ("name", "value", "default", "reason"), as_json)


def _setting_row(chosen: Settings, each: settings.SettingInfo) -> dict[str, Any]:
    value = getattr(chosen, each.name)
    return {
        "name": each.name,
        "flag": each.flag,
        "variable": each.variable,
        "value": "***" if each.is_secret and value else _format_value(each.name, value),
        "default": _format_value(each.name, each.default),
        "reason": each.reason,
    }


def _format_value(name: str, value: object) -> object:
    if name in ("database", "mqtt_url"):
        return settings.redact_password(str(value))
    if isinstance(value, tuple):
        return [str(part) for part in value]
    return value if isinstance(value, int | float | str) else str(value)


@click.command("vapid-key")
@json_flag
def vapid_key_command(as_json: bool) -> None:
    """Generate a key pair for Web Push: one for the settings, one for the applications."""
    key = webpush.generate_vapid_key()
    public_key = webpush.Vapid(key, "").public_key
    print_result(
        {"vapidKey": key, "applicationServerKey": public_key},
        as_json,
        f"vapid_key:             {key}\napplicationServerKey:  {public_key}",
    )
