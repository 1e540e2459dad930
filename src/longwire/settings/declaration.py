"""How a setting is declared: its names, its reason, and whether it is secret."""

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from longwire.errors import OperatorError

PREFIX = "LONGWIRE_"
# Settings that may contain a password although they are no secret as a whole.
URLS_WITH_PASSWORD = frozenset({"database", "database_read_standbys", "mqtt_url", "egress_proxy"})
# Appended to the name of a secret: the file to read it from.
FILE_SUFFIX = "_file"


class SettingsError(OperatorError):
    """Some settings are invalid; the message lists all of them."""


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """A setting's metadata, for flags and `longwire config`."""

    name: str
    path: str  # in a TOML file: the names of its tables, and its own, with dots
    default: object
    reason: str
    is_secret: bool

    @property
    def table(self) -> str:
        return self.path.rpartition(".")[0]

    @property
    def key(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def may_be_file(self) -> bool:
        """Whether its value may be in a file, which is named instead."""
        return self.is_secret or self.name in URLS_WITH_PASSWORD

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()


def setting(path: str, default: Any, reason: str, *, is_secret: bool = False) -> Any:
    return field(default=default, metadata={"path": path, "reason": reason, "is_secret": is_secret})


def redact_password(url: str) -> str:
    """A URL without its password, for display."""
    hidden = re.sub(r"(//[^/?#@:]*):[^/?#]*@", r"\1:***@", url)
    return re.sub(r"([?&])([^&=]+)=[^&]*", _redact_parameter, hidden)


def _redact_parameter(found: re.Match[str]) -> str:
    """Drivers decode the name of a parameter, so that it may be written in many ways."""
    is_secret = unquote(found[2]).lower().endswith("password")
    return f"{found[1]}{found[2]}=***" if is_secret else found[0]
