"""`login`, `logout`, `profile`: services, and who we are there."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from longwire_cli import profiles
from longwire_cli.connection import client_of, reporting
from longwire_cli.errors import CommandError
from longwire_cli.profiles import DEFAULT_NAME, Profile
from longwire_cli.tables import draw_table
from longwire_cli.terminal import printable
from longwire_client import sessions
from longwire_client.errors import NotAllowed, NotAuthenticated


class _OperatorFile(msgspec.Struct, frozen=True, rename="camel"):
    base_url: str
    client_id: str
    client_secret: str


profile_option = click.option(
    "--profile",
    "name",
    envvar="LONGWIRE_PROFILE",
    default=DEFAULT_NAME,
    show_default=True,
    help="the name to keep it under",
)


@click.command("login")
@click.argument("url", required=False)
@click.option("--client-id", envvar="LONGWIRE_CLIENT_ID", default=None, help="of credentials")
@click.option("--auth-url", default=None, help="of the token service, if it is elsewhere")
@click.option(
    "--operator-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=None,
    help="an operator.json, which has the URL and the credentials",
)
@click.option("--link", is_flag=True, help="sign in as a person, with a sign-in link")
@click.option("--email", default=None, help="sign in as a person, with a link by mail")
@click.option("--password", is_flag=True, help="with --email: with the password instead")
@profile_option
def login_command(
    url: str | None,
    client_id: str | None,
    auth_url: str | None,
    operator_file: Path | None,
    link: bool,
    email: str | None,
    password: bool,
    name: str,
) -> None:
    """Sign in to the service at URL, and use it from now on.

    Secrets are asked for, or read from the standard input if that is no terminal; they are never
    arguments. They are kept in a file that only you can read.
    """
    if operator_file is not None:
        profile = _read_operator_file(operator_file, url)
    elif url is None:
        raise click.UsageError("give the URL of the service, or --operator-file")
    elif not url.startswith(("http://", "https://")):
        raise click.UsageError(f"a URL begins with http:// or https://, not {url!r}")
    elif link or email:
        profile = _sign_in(url.rstrip("/"), email, password)
    else:
        profile = Profile(
            url=url.rstrip("/"),
            auth_url=auth_url,
            client_id=client_id or click.prompt("Client id", err=True),
            client_secret=os.environ.get("LONGWIRE_CLIENT_SECRET") or _ask("Client secret"),
        )
    user = _check(profile)
    profile = Profile(**{**_fields(profile), "user": user})
    profiles.save(profiles.load().with_profile(name, profile))
    click.echo(printable(f"Signed in to {profile.url} as {user}."))


@click.command("logout")
@click.option(
    "--profile",
    "name",
    envvar="LONGWIRE_PROFILE",
    default=None,
    shell_complete=profiles.complete,
    help="the profile to delete; by default the current one",
)
def logout_command(name: str | None) -> None:
    """Delete a profile; the session of a person ends."""
    known = profiles.load()
    chosen = name or known.current
    profile = known.get(chosen)
    profiles.save(known.without(chosen))
    if profile.session is not None:
        with reporting():
            sessions.sign_out(profile.url, profile.session)
    click.echo(f"{chosen} is deleted.")


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def profile_list(as_json: bool) -> None:
    """List the profiles, without their secrets."""
    known = profiles.load()
    rows = [
        {
            "name": name,
            "current": name == known.current,
            "url": each.url,
            "user": each.user,
            "way": "session" if each.session else "client",
        }
        for name, each in known.profiles.items()
    ]
    if as_json:
        click.echo(json.dumps(rows))
        return
    columns = ("name", "current", "url", "user", "way")
    draw_table([[row[name] or "" for name in columns] for row in rows], columns)


@click.command("use")
@click.argument("name", shell_complete=profiles.complete)
def profile_use(name: str) -> None:
    """Use a profile from now on."""
    known = profiles.load()
    known.get(name)
    profiles.save(profiles.Profiles(name, known.profiles))
    click.echo(f"{name} is used from now on.")


def _fields(profile: Profile) -> dict[str, Any]:
    return {name: getattr(profile, name) for name in Profile.__slots__}


def _read_operator_file(path: Path, url: str | None) -> Profile:
    try:
        known = msgspec.json.decode(path.read_bytes(), type=_OperatorFile)
    except msgspec.MsgspecError as error:
        raise CommandError(f"{path} is not an operator.json: {error}") from error
    return Profile(
        url=url or known.base_url, client_id=known.client_id, client_secret=known.client_secret
    )


def _ask(what: str) -> str:
    """A secret: typed without an echo, or a line of the standard input."""
    if sys.stdin.isatty():
        return str(click.prompt(what, hide_input=True, err=True))
    line = sys.stdin.readline().strip()
    if not line:
        raise CommandError(f"{what}: there is nothing on the standard input")
    return line


def _check(profile: Profile) -> str:
    """Who we are, which shows that it works."""
    with reporting(), client_of(profile) as client:
        try:
            me = client.users.me()
        except NotAllowed:  # an app client is no user
            return f"app client {profile.client_id}"
    return me.email or me.id or ""


# --- people ---


def _sign_in(url: str, email: str | None, password: bool) -> Profile:
    """A session, as a browser has it."""
    with reporting():
        if email and password:
            given = {"email": email, "password": _ask("Password")}
        else:
            if email:
                sessions.request_link(url, email)
                click.echo(f"A link is on its way to {email}, if there is such a user.", err=True)
            given = {"link": _ask("Sign-in link").rpartition("=")[2]}
        try:
            return Profile(url=url, session=sessions.sign_in(url, **given))
        except NotAuthenticated as error:
            if error.code != "totp_required":
                raise
        given["totp"] = _ask("Code of the authenticator app")
        return Profile(url=url, session=sessions.sign_in(url, **given))
