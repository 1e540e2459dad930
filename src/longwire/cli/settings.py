"""`config` prints the settings, `vapid-key` makes a value for one of them."""

from pathlib import Path
from typing import Any

import click

from longwire import settings
from longwire.cli.base import json_flag, load, setting_flags, show, show_table
from longwire.notifications import webpush
from longwire.settings import Settings


@click.command("config")
@setting_flags()
@json_flag
def config_command(config: Path | None, as_json: bool, **flags: Any) -> None:
    """Print every setting: its value, its default, its reason."""
    chosen = load(config, flags)
    rows = [_setting_row(chosen, each) for each in settings.explained()]
    show_table(rows, ("name", "value", "default", "reason"), as_json)


def _setting_row(chosen: Settings, each: settings.Explained) -> dict[str, Any]:
    value = getattr(chosen, each.name)
    return {
        "name": each.name,
        "flag": each.flag,
        "variable": each.variable,
        "value": "***" if each.is_secret and value else _plain(each.name, value),
        "default": _plain(each.name, each.default),
        "reason": each.reason,
    }


def _plain(name: str, value: object) -> object:
    if name in ("database", "mqtt_url"):
        return settings.without_password(str(value))
    if isinstance(value, tuple):
        return [str(part) for part in value]
    return value if isinstance(value, int | float | str) else str(value)


@click.command("vapid-key")
@json_flag
def vapid_key_command(as_json: bool) -> None:
    """Make a pair of keys for Web Push: one for the settings, one for the applications."""
    key = webpush.new_vapid_key()
    public_key = webpush.Vapid(key, "").public_key
    show(
        {"vapidKey": key, "applicationServerKey": public_key},
        as_json,
        f"vapid_key:             {key}\napplicationServerKey:  {public_key}",
    )
