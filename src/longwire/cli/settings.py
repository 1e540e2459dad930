"""`config` prints the settings, `vapid-key` generates a value for one of them."""

from typing import Any

import click

from longwire import settings
from longwire.cli.base import setting_flags
from longwire.notifications import webpush
from longwire.settings import Settings, file
from longwire.settings.declaration import SettingInfo
from longwire_cli.tables import print_table
from longwire_cli.terminal import json_flag, print_result


@click.command("config")
@click.option("--toml", "as_toml", is_flag=True, help="print a TOML file with all defaults")
@click.option("--effective", is_flag=True, help="print a TOML file with the values in force")
@setting_flags()
@json_flag
def config_command(chosen: Settings, as_json: bool, as_toml: bool, effective: bool) -> None:
    """Print every setting with its value, default and description.

    Those that most installations set come first. Secrets are masked. What --toml prints is a file
    for --config, with every line commented out.
    """
    if effective:
        click.echo(file.render_effective(chosen), nl=False)
        return
    if as_toml:
        click.echo(file.render_template(), nl=False)
        return
    described = {each.name: each for each in settings.describe_settings()}
    ordered = dict.fromkeys((*settings.MOST_SET, *described))
    rows = [_setting_row(chosen, described[name]) for name in ordered]
    print_table(rows, ("name", "value", "default", "reason"), as_json)


def _setting_row(chosen: Settings, each: SettingInfo) -> dict[str, Any]:
    return {
        "name": each.name,
        "path": each.path,
        "flag": each.flag,
        "variable": each.variable,
        "value": _format_value(file.mask(each, getattr(chosen, each.name))),
        "default": _format_value(each.default),
        "reason": each.reason,
    }


def _format_value(value: object) -> object:
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
