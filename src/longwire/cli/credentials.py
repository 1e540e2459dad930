"""`credentials`: client ids and secrets of users."""

import click

from longwire.cli.base import database_flags, run_read, run_write
from longwire.clock import DAY
from longwire.dates import format_date, format_optional_date
from longwire.identity import tokens
from longwire.model import SYSTEM
from longwire.settings import Settings
from longwire.store.database import Tx
from longwire.store.identity import credentials as store_credentials
from longwire_cli.tables import print_table
from longwire_cli.terminal import json_flag, print_result


@click.group("credentials")
def credentials_group() -> None:
    """Client ids and secrets of users."""


@credentials_group.command("issue")
@click.option("--email", required=True, help="the user; created if new")
@click.option("--first-name", default=None, help="of a new user")
@click.option("--last-name", default=None, help="of a new user")
@click.option("--operator", is_flag=True, help="grant every permission in every group")
@click.option(
    "--expires-days", type=click.IntRange(min=1), default=None, help="expire after this many days"
)
@database_flags
@json_flag
def credentials_issue(
    email: str,
    first_name: str | None,
    last_name: str | None,
    operator: bool,
    expires_days: int | None,
    chosen: Settings,
    as_json: bool,
) -> None:
    """Issue credentials; the secret is shown only once."""

    def work(tx: Tx) -> tokens.CredentialWithSecret:
        return tokens.issue_credential(
            tx,
            SYSTEM,
            email,
            first_name=first_name,
            last_name=last_name,
            is_operator=operator,
            expires_at=None if expires_days is None else tx.now + expires_days * DAY,
        )

    issued = run_write(chosen, work)
    result = {
        "clientId": issued.credential.client_id,
        "clientSecret": issued.secret,
        "userId": issued.credential.user_id,
    }
    print_result(result, as_json, "\n".join(f"{name:13} {value}" for name, value in result.items()))


@credentials_group.command("list")
@database_flags
@json_flag
def credentials_list(chosen: Settings, as_json: bool) -> None:
    """List all credentials, without their secrets."""
    found = run_read(chosen, store_credentials.list_all)
    rows = [
        {
            "clientId": each.client_id,
            "userId": each.user_id,
            "email": each.email,
            "createdAt": format_date(each.created_at),
            "expiresAt": format_optional_date(each.expires_at),
        }
        for each in found
    ]
    print_table(rows, ("clientId", "email", "userId", "createdAt", "expiresAt"), as_json)


@credentials_group.command("revoke")
@click.argument("client_id")
@database_flags
@json_flag
def credentials_revoke(client_id: str, chosen: Settings, as_json: bool) -> None:
    """Revoke credentials; their tokens stop working within two seconds."""
    run_write(chosen, lambda tx: tokens.revoke_credential(tx, SYSTEM, client_id))
    print_result({"revoked": client_id}, as_json, f"{client_id} is revoked")
