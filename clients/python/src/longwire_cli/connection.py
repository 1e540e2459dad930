"""Opens a client for a command, and turns its errors into messages."""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import click
import httpx

from longwire_cli import profiles
from longwire_cli.errors import CommandError
from longwire_cli.profiles import Profile
from longwire_client import Client
from longwire_client.errors import ApiError, BadInput, LongwireError, NotAuthenticated

F = TypeVar("F", bound=Callable[..., Any])


class RemoteError(CommandError):
    """What the service, or the way to it, said."""


def connected(command: F) -> F:
    """A command with `--profile`, which gets a `client`."""

    @click.option(
        "--profile",
        envvar="LONGWIRE_PROFILE",
        default=None,
        shell_complete=profiles.complete,
        help="the service to talk to, as named by longwire login",
    )
    @functools.wraps(command)
    def run(profile: str | None, **values: Any) -> None:
        with reporting(), open_client(profile) as client:
            command(client=client, **values)

    return cast(F, run)


def open_client(name: str | None) -> Client:
    """For the profile, or for what the environment says if no profile is named."""
    if name is None and os.environ.get("LONGWIRE_URL"):
        try:
            return Client.from_env()
        except ValueError as error:
            raise CommandError(f"LONGWIRE_URL is set: {error}") from error
    return client_of(profiles.load().get(name))


def client_of(profile: Profile) -> Client:
    try:
        return Client(
            profile.url,
            client_id=profile.client_id,
            client_secret=profile.client_secret,
            session=profile.session,
            auth_url=profile.auth_url,
        )
    except ValueError as error:
        raise CommandError(str(error)) from error


@contextmanager
def reporting() -> Iterator[None]:
    """Errors of the client as one line for the terminal."""
    try:
        yield
    except LongwireError as error:
        raise RemoteError(describe(error)) from error
    except httpx.InvalidURL as error:
        raise RemoteError(f"The URL is invalid: {error}") from error
    except UnicodeEncodeError as error:  # an argument that is not UTF-8
        raise RemoteError("An argument is not valid UTF-8.") from error


def describe(error: LongwireError) -> str:
    if not isinstance(error, ApiError):
        return str(error)
    request = f", request {error.request_id}" if error.request_id else ""
    hint = "; run longwire login" if isinstance(error, NotAuthenticated) else ""
    text = error.detail or error.code
    if isinstance(error, BadInput) and error.faults:
        text = "; ".join(str(each) for each in error.faults)
    return f"{text} ({error.code}{request}){hint}"
