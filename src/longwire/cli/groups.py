"""`group`: operator commands for groups, on the database."""

import click

from longwire.cli.base import database_flags, run_read, run_write
from longwire.dates import format_date
from longwire.fleet import downlink_grants
from longwire.identity import groups
from longwire.model import SYSTEM
from longwire.settings import Settings
from longwire_cli.tables import print_table
from longwire_cli.terminal import json_flag, print_result


@click.command("rotate-token")
@click.argument("group_id")
@database_flags
@json_flag
def group_rotate_token(group_id: str, chosen: Settings, as_json: bool) -> None:
    """Rotate the group token; the old one stops working within two seconds."""
    token = run_write(chosen, lambda tx: groups.rotate_token(tx, SYSTEM, group_id))
    print_result({"groupId": group_id, "token": token}, as_json, token)


network_flag = click.option(
    "--network",
    required=True,
    type=click.Choice(downlink_grants.NETWORKS),
    help="the network whose key is used",
)


@click.command("allow-downlinks")
@click.argument("group_id")
@network_flag
@database_flags
@json_flag
def group_allow_downlinks(group_id: str, network: str, chosen: Settings, as_json: bool) -> None:
    """Allow a group and those below it to send downlinks with your key of a network."""
    run_write(chosen, lambda tx: downlink_grants.allow(tx, SYSTEM, group_id, network))
    text = f"Group {group_id} and those below may send downlinks through {network}."
    print_result({"groupId": group_id, "network": network, "allowed": True}, as_json, text)


@click.command("deny-downlinks")
@click.argument("group_id")
@network_flag
@database_flags
@json_flag
def group_deny_downlinks(group_id: str, network: str, chosen: Settings, as_json: bool) -> None:
    """Withdraw that; queued downlinks are not sent either."""
    run_write(chosen, lambda tx: downlink_grants.deny(tx, SYSTEM, group_id, network))
    text = f"Group {group_id} may not send downlinks through {network}, unless one above it may."
    print_result({"groupId": group_id, "network": network, "allowed": False}, as_json, text)


@click.command("list-downlinks")
@database_flags
@json_flag
def group_list_downlinks(chosen: Settings, as_json: bool) -> None:
    """List the groups that may send downlinks with your keys."""
    rows = [
        {
            "groupId": each.group_id,
            "network": each.network,
            "createdAt": format_date(each.created_at),
        }
        for each in run_read(chosen, downlink_grants.list_grants)
    ]
    print_table(rows, ("groupId", "network", "createdAt"), as_json)
