"""`console`: the way in for people."""

import click

from longwire import startup
from longwire.cli.base import json_flag, print_result, run_write, setting_flags
from longwire.identity import bootstrap, sign_in_links
from longwire.settings import Settings

# Those that locate the database, and those that the URL of the service is made of.
_FLAGS = ("data", "database", "secret_key", "host", "port", "public_url", "tls_cert", "tls_key")


@click.group("console")
def console_group() -> None:
    """Signing in with a browser."""


@console_group.command("link")
@click.option(
    "--email",
    default=bootstrap.OPERATOR_EMAIL,
    show_default=True,
    help="the user who is to be signed in",
)
@setting_flags(*_FLAGS)
@json_flag
def console_link(email: str, chosen: Settings, as_json: bool) -> None:
    """Print a link that signs a user in; it works once, within 15 minutes."""
    secret = run_write(chosen, lambda tx: sign_in_links.create_for_terminal(tx, email))
    url = sign_in_links.build_url(
        startup.get_base_url(chosen), secret, sign_in_links.LinkPurpose.SIGN_IN
    )
    print_result({"url": url, "email": email}, as_json, url)
