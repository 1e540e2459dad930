"""Profiles: services that one has signed in to, in a private file of the user.

The file has secrets, so its mode is 0600 and that of a new folder 0700.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click

from longwire_cli.errors import CommandError

DEFAULT_NAME = "default"


@dataclass(frozen=True, slots=True)
class Profile:
    """A service, and who we are there: a client, or the session of a person."""

    url: str
    auth_url: str | None = None
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    session: str | None = field(default=None, repr=False)  # the cookie
    user: str | None = None  # to show


@dataclass(frozen=True, slots=True)
class Profiles:
    """All profiles, and the one that is used if none is named."""

    current: str = DEFAULT_NAME
    profiles: Mapping[str, Profile] = field(default_factory=dict)

    def get(self, name: str | None) -> Profile:
        chosen = name or self.current
        if chosen not in self.profiles:
            known = ", ".join(self.profiles) or "none"
            raise CommandError(
                f"There is no profile {chosen} (there are: {known}). Run longwire login."
            )
        return self.profiles[chosen]

    def with_profile(self, name: str, profile: Profile) -> "Profiles":
        return Profiles(current=name, profiles={**self.profiles, name: profile})

    def without(self, name: str) -> "Profiles":
        self.get(name)
        rest = {each: value for each, value in self.profiles.items() if each != name}
        is_current = self.current == name
        return Profiles(next(iter(rest), DEFAULT_NAME) if is_current else self.current, rest)


def path() -> Path:
    """In the folder for configuration that the system has for each user."""
    return Path(click.get_app_dir("longwire")) / "profiles.json"


def load() -> Profiles:
    file = path()
    try:
        given: dict[str, Any] = json.loads(file.read_text())
        profiles = {name: Profile(**each) for name, each in given["profiles"].items()}
        return Profiles(given["current"], profiles)
    except FileNotFoundError:
        return Profiles()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CommandError(f"{file} is not a file of profiles: {error!r}") from error


def save(profiles: Profiles) -> None:
    """Replace the file as a whole, so that nobody ever reads half of it."""
    file = path()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shown = {name: asdict(each) for name, each in profiles.profiles.items()}
    text = json.dumps({"current": profiles.current, "profiles": shown}, indent=2)
    # mkstemp makes a file of mode 0600.
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=file.name)
    try:
        with os.fdopen(descriptor, "w") as out:
            out.write(text + "\n")
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def complete(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    """For the shell: the names that begin so."""
    try:
        return [name for name in load().profiles if name.startswith(start)]
    except CommandError:
        return []
