"""E-mail addresses, and the domains that the operator allows mail to."""

import re
from collections.abc import Collection

# RFC 5321 also allows quoted names, comments and address literals; nobody uses them here.
_DOMAIN = r"[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)*"
_ADDRESS = re.compile(
    r"""[^@\s\x00-\x1f\x7f-\x9f<>()\[\]\\,;:"]{1,64}@(?=[^@]{1,189}\Z)""" + _DOMAIN
)


def is_address(text: str) -> bool:
    local = text.partition("@")[0]
    return bool(_ADDRESS.fullmatch(text)) and "" not in local.split(".")


def is_domain(text: str) -> bool:
    return bool(re.fullmatch(_DOMAIN, text))


def parse_domains(text: str) -> frozenset[str]:
    """Comma-separated domains, normalized for comparison."""
    return frozenset(part.strip().lower() for part in text.split(",") if part.strip())


def is_allowed_address(address: str, domains: Collection[str]) -> bool:
    """Whether the address is in one of the domains, subdomains excluded; without any, all are.

    Domains are compared as written: the mail server may map other spellings to other domains.
    """
    return not domains or address.rpartition("@")[2].lower() in domains
