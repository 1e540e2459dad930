"""Broker addresses, logins and topic templates, which the broker protocols have in common.

An address is `scheme://host:port` and nothing else; whether the host may be reached is decided by
`Egress`. A template has placeholders for values of the message, which each protocol sanitizes.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from longwire.dataclass import dataclass
from longwire.delivery.destinations.base import OutboundMessage
from longwire.delivery.http.egress import Egress

URL_CHARACTERS_MAX = 300

PLACEHOLDERS: Mapping[str, Callable[[OutboundMessage], str]] = {
    "groupId": lambda message: message.group_id,
    "deviceId": lambda message: message.device_id,
    "deviceType": lambda message: message.device_type,
    "kind": lambda message: message.kind,
    "id": lambda message: message.id,
}
PLACEHOLDERS_DOC = "Placeholders: {groupId}, {deviceId}, {deviceType}, {kind} and {id}."
NOT_PRINTABLE = "has an unprintable character"

_ADDRESS = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://"
    r"(?:\[(?P<literal>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))"
    r"(?::(?P<port>[0-9]{1,5}))?/?"
)
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class InvalidAddress(ValueError):
    """The message says why and is safe to show."""


@dataclass(frozen=True, slots=True)
class Address:
    """A broker's address."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def parse_address(url: str, default_ports: Mapping[str, int]) -> Address:
    """Parse `url`; `default_ports` has the accepted schemes, each with its default port."""
    schemes = " or ".join(f"{scheme}://" for scheme in default_ports)
    found = _ADDRESS.fullmatch(url)
    if found is None or found["scheme"] not in default_ports:
        # Without the URL, which may contain a password.
        raise InvalidAddress(
            f"must be {schemes} with a host and an optional port, and nothing else"
        )
    port = int(found["port"]) if found["port"] else default_ports[found["scheme"]]
    if not 0 < port < 65_536:
        raise InvalidAddress("the port must be between 1 and 65535")
    return Address(found["scheme"], found["literal"] or found["name"], port)


def validate_hosts(parse: Callable[[], Iterable[Address]], egress: Egress) -> str | None:
    """Why the addresses that `parse` returns are invalid or may not be reached, or None."""
    try:
        refusals = [egress.validate_host(address.host) for address in parse()]
    except InvalidAddress as error:
        return str(error)
    return next(filter(None, refusals), None)


def validate_login(
    username: str | None, password: str | None, *, may_have_nul: bool = True
) -> dict[str, str | None]:
    """Why these are invalid, by field. SASL PLAIN separates them by a NUL."""
    username_error = "needs a password" if username and not password else None
    if not may_have_nul and "\0" in (username or "") + (password or ""):
        username_error = username_error or "must not have a NUL, and neither must the password"
    return {
        "username": username_error,
        "password": "needs a username" if password and not username else None,
    }


def describe_placeholders(special: str) -> str:
    """The description of a template, with an example of the characters that `sanitize` replaces."""
    sanitized = f"Special characters of a value, such as {special}, become an underscore."
    return f"{PLACEHOLDERS_DOC} {sanitized}"


def render_template(template: str, message: OutboundMessage, clean: Callable[[str], str]) -> str:
    """The template with the message's values in it, each sanitized by `clean`."""
    return _PLACEHOLDER.sub(lambda found: clean(PLACEHOLDERS[found[1]](message)), template)


def sanitize(value: str, special: str) -> str:
    """A value as one part of a topic, without separators, wildcards and unprintable characters."""
    return "".join(
        "_" if character in special or not character.isprintable() else character
        for character in value or "_"
    )


def validate_placeholders(template: str) -> str | None:
    """Why this template is invalid, or None."""
    if any(name not in PLACEHOLDERS for name in _PLACEHOLDER.findall(template)):
        known = " ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        return f"has an unknown placeholder; known are {known}"
    if re.search(r"[{}]", _PLACEHOLDER.sub("", template)):
        return "has an unmatched brace"
    return None
