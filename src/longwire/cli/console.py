"""`console`: the way in for people."""

import click

from longwire import startup
from longwire.cli.base import database_flags, json_flag, print_result, run_write, setting_flags
from longwire.identity import bootstrap, sign_in_links, ways_in
from longwire.model import SYSTEM
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


@console_group.command("forget")
@click.option("--email", required=True, help="the user")
@database_flags
@json_flag
def console_forget(email: str, chosen: Settings, as_json: bool) -> None:
    """Delete all that a user signs in with, and end their sessions.

    That is passkeys, password, authenticator app, links, and who they are at the identity provider.
    For lost devices, and for accounts of the provider that were replaced.
    """
    forgotten = run_write(chosen, lambda tx: ways_in.forget(tx, SYSTEM, email))
    counts = {
        "passkeys": forgotten.passkeys,
        "subjects": forgotten.subjects,
        "sessions": forgotten.sessions,
        "passwords": int(forgotten.had_password),
        "authenticatorApps": int(forgotten.had_totp),
    }
    text = ", ".join(f"{name}: {count}" for name, count in counts.items())
    print_result({"userId": forgotten.user.id, **counts}, as_json, text)
