"""Addresses of people, and the domains that the operator lets mails go to."""

import re
from collections.abc import Collection

# Quoted names, comments and literal addresses are allowed by the standard and wanted by nobody.
_DOMAIN = r"[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)*"
_ADDRESS = re.compile(
    r"""[^@\s\x00-\x1f\x7f-\x9f<>()\[\]\\,;:"]{1,64}@(?=[^@]{1,189}\Z)""" + _DOMAIN
)


def is_address(text: str) -> bool:
    local = text.partition("@")[0]
    return bool(_ADDRESS.fullmatch(text)) and "" not in local.split(".")


def is_domain(text: str) -> bool:
    return bool(re.fullmatch(_DOMAIN, text))


def domains_in(text: str) -> frozenset[str]:
    """Domains with commas between them, as they are compared."""
    return frozenset(part.strip().lower() for part in text.split(",") if part.strip())


def may_be_written_to(address: str, domains: Collection[str]) -> bool:
    """Whether an address is in one of the domains, and not below it; where there are none, any is.

    A domain has one spelling here: another one may mean another domain to the mail server.
    """
    return not domains or address.rpartition("@")[2].lower() in domains
