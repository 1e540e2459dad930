"""`group`: operator commands for groups."""

import click

from longwire.cli.base import database_flags, json_flag, print_result, run_write
from longwire.identity import groups
from longwire.model import SYSTEM
from longwire.settings import Settings


@click.group("group")
def group_group() -> None:
    """Operator commands for groups."""


@group_group.command("rotate-token")
@click.argument("group_id")
@database_flags
@json_flag
def group_rotate_token(group_id: str, chosen: Settings, as_json: bool) -> None:
    """Rotate the group token; the old one stops working within two seconds."""
    token = run_write(chosen, lambda tx: groups.rotate_token(tx, SYSTEM, group_id))
    print_result({"groupId": group_id, "token": token}, as_json, token)
