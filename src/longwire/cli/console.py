"""`console`: sign-in for people."""

import click

from longwire.cli.base import database_flags, run_write, setting_flags
from longwire.identity import bootstrap, sign_in_links, sign_in_methods
from longwire.model import SYSTEM
from longwire.process import startup
from longwire.settings import Settings
from longwire_cli.terminal import json_flag, print_result

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


@console_group.command("reset-sign-in")
@click.option("--email", required=True, help="the user")
@database_flags
@json_flag
def console_reset_sign_in(email: str, chosen: Settings, as_json: bool) -> None:
    """Delete all that a user signs in with, and end their sessions.

    That is passkeys, password, authenticator app, links, and who they are at the identity provider.
    For lost devices, and for accounts of the provider that were replaced.
    """
    deleted = run_write(chosen, lambda tx: sign_in_methods.delete_all(tx, SYSTEM, email))
    counts = {
        "passkeys": deleted.passkeys,
        "subjects": deleted.subjects,
        "sessions": deleted.sessions,
        "passwords": int(deleted.had_password),
        "authenticatorApps": int(deleted.had_totp),
    }
    text = ", ".join(f"{name}: {count}" for name, count in counts.items())
    print_result({"userId": deleted.user.id, **counts}, as_json, text)
