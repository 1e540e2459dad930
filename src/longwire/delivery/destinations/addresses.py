"""Where a broker is, who logs in, and how a message's topic is made: what brokers have in common.

An address is `scheme://host:port` and nothing else. A name in it may be anything that resolves;
whether it may be reached is for `Egress` to say. A topic is a text with placeholders, which take
their values from the message; each protocol says how a value is made fit for it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from longwire.delivery.destinations.base import Message
from longwire.delivery.egress import Egress

URL_CHARACTERS_MAX = 300

PLACEHOLDERS: Mapping[str, Callable[[Message], str]] = {
    "groupId": lambda message: message.group_id,
    "deviceId": lambda message: message.device_id,
    "deviceType": lambda message: message.device_type,
    "kind": lambda message: message.kind,
    "id": lambda message: message.id,
}
MAY_HOLD = "May hold {groupId}, {deviceId}, {deviceType}, {kind} and {id}."
NOT_PRINTABLE = "has a character that does not print"

_ADDRESS = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://"
    r"(?:\[(?P<literal>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))"
    r"(?::(?P<port>[0-9]{1,5}))?/?"
)
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class BadAddress(ValueError):
    """Not an address of ours; the text says why and is safe to show."""


@dataclass(frozen=True, slots=True)
class Address:
    """One broker."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def parsed(url: str, default_ports: Mapping[str, int]) -> Address:
    """The address in `url`; `default_ports` has the schemes that are taken, each with its port."""
    schemes = " or ".join(f"{scheme}://" for scheme in default_ports)
    found = _ADDRESS.fullmatch(url)
    if found is None or found["scheme"] not in default_ports:
        # Not repeated: somebody may have put a password into it.
        raise BadAddress(f"must be {schemes} with a host, and a port if wanted, and nothing else")
    port = int(found["port"]) if found["port"] else default_ports[found["scheme"]]
    if not 0 < port < 65_536:
        raise BadAddress("the port must be between 1 and 65535")
    return Address(found["scheme"], found["literal"] or found["name"], port)


def address_problem(url: str, default_ports: Mapping[str, int], egress: Egress) -> str | None:
    """Why a connector with this `url` cannot be saved."""
    try:
        address = parsed(url, default_ports)
    except BadAddress as error:
        return str(error)
    return egress.refuse_literal(address.host)


def login_problems(
    username: str | None, password: str | None, *, may_have_nul: bool = True
) -> dict[str, str | None]:
    """Why nobody can log in with these two, by field. Where one text takes both, NUL parts them."""
    of_username = "needs a password" if username and not password else None
    if not may_have_nul and "\0" in (username or "") + (password or ""):
        of_username = of_username or "must not have a NUL, and neither must the password"
    return {
        "username": of_username,
        "password": "needs a username" if password and not username else None,
    }


def filled(template: str, message: Message, clean: Callable[[str], str]) -> str:
    """The template with the message's values in it, each made fit by `clean` first."""
    return _PLACEHOLDER.sub(lambda found: clean(PLACEHOLDERS[found[1]](message)), template)


def fit(value: str, special: str) -> str:
    """A value as one part of a topic, which it can neither leave nor make special."""
    return "".join(
        "_" if character in special or not character.isprintable() else character
        for character in value or "_"
    )


def placeholder_problem(template: str) -> str | None:
    """Why this template cannot be filled."""
    if any(name not in PLACEHOLDERS for name in _PLACEHOLDER.findall(template)):
        known = " ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        return f"has an unknown placeholder; there are {known}"
    if re.search(r"[{}]", _PLACEHOLDER.sub("", template)):
        return "has a brace that belongs to no placeholder"
    return None
