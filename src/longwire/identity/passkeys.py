"""The passkeys of people, and the site that they are registered for.

How one is registered and used is in `passkey_ceremonies`.
"""

from dataclasses import dataclass, replace
from ipaddress import ip_address
from urllib.parse import urlsplit

from longwire.errors import not_found
from longwire.identity import sessions, users
from longwire.identity.sign_in_methods import SignInChange
from longwire.model import Actor, Passkey
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import passkeys as store

_LOCALHOST = "localhost"


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """The domain that passkeys are registered for, and the origin of its pages."""

    id: str
    origin: str  # empty for every port of this machine

    def is_own_origin(self, origin: str) -> bool:
        if self.origin:
            return origin == self.origin
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.hostname == self.id


def find_relying_party(base_url: str) -> RelyingParty | None:
    """The relying party of a service with this URL; None if no browser would have passkeys there.

    They need HTTPS and a host name. On this machine they work without, by the name localhost.
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    try:
        is_local, is_name = ip_address(host).is_loopback, False
    except ValueError:
        is_local, is_name = host == _LOCALHOST, True
    if is_local:
        return RelyingParty(_LOCALHOST, "")
    if parts.scheme != "https" or not is_name or not host:
        return None
    port = f":{parts.port}" if parts.port not in (None, 443) else ""
    return RelyingParty(host, f"https://{host}{port}")


def list_own(tx: Tx, actor: Actor) -> list[Passkey]:
    return store.list_of(tx, users.get_current(tx, actor).id)


def rename(tx: Tx, actor: Actor, passkey_id: str, name: str) -> Passkey:
    passkey = _get_own(tx, actor, passkey_id)
    store.update_name(tx, passkey_id, name)
    audit.log(
        tx, actor, SignInChange.PASSKEY_RENAMED, passkey.user_id, name=name, detail=passkey_id
    )
    return replace(passkey, name=name)


def delete(tx: Tx, actor: Actor, passkey_id: str) -> None:
    """Delete a passkey of the actor, and end the sessions that it began."""
    passkey = _get_own(tx, actor, passkey_id)
    store.delete(tx, passkey_id)
    sessions.end_where(tx, passkey.user_id, lambda session: session.client_id == passkey_id)
    deleted = SignInChange.PASSKEY_DELETED
    audit.log(tx, actor, deleted, passkey.user_id, name=passkey.name, detail=passkey_id)


def _get_own(tx: Tx, actor: Actor, passkey_id: str) -> Passkey:
    for passkey in list_own(tx, actor):
        if passkey.id == passkey_id:
            return passkey
    raise not_found("passkey_id", "passkey of yours")
