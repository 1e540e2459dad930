"""`group`: what the operator does to groups."""

from pathlib import Path
from typing import Any

import click

from longwire.cli.base import database_flags, json_flag, load, show, write
from longwire.identity import groups
from longwire.model import SYSTEM


@click.group("group")
def group_group() -> None:
    """What the operator does to groups."""


@group_group.command("rotate-token")
@click.argument("group_id")
@database_flags
@json_flag
def group_rotate_token(group_id: str, config: Path | None, as_json: bool, **flags: Any) -> None:
    """Give a group another token for its networks; the old one stops within two seconds."""
    token = write(load(config, flags), lambda tx: groups.rotate_token(tx, SYSTEM, group_id))
    show({"groupId": group_id, "token": token}, as_json, token)
