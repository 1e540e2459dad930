"""`group`: operator commands for groups."""

from pathlib import Path
from typing import Any

import click

from longwire.cli.base import database_flags, json_flag, load_settings, print_result, run_write
from longwire.identity import groups
from longwire.model import SYSTEM


@click.group("group")
def group_group() -> None:
    """Operator commands for groups."""


@group_group.command("rotate-token")
@click.argument("group_id")
@database_flags
@json_flag
def group_rotate_token(group_id: str, config: Path | None, as_json: bool, **flags: Any) -> None:
    """Rotate the group token; the old one stops working within two seconds."""
    token = run_write(
        load_settings(config, flags), lambda tx: groups.rotate_token(tx, SYSTEM, group_id)
    )
    print_result({"groupId": group_id, "token": token}, as_json, token)
