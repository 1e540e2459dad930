"""Authenticator apps: codes that change every 30 seconds (RFC 6238), and recovery codes.

A code is used once. Whoever has turned it on needs one beside a password, and beside a link that
came by mail; links of the terminal are for those who have lost everything else.
"""

import base64
import hashlib
import hmac
import secrets
from dataclasses import replace
from urllib.parse import quote, urlencode

from longwire.clock import SECOND, Moment
from longwire.errors import Conflict, NotAuthenticated, TotpRequired, invalid_field
from longwire.identity.sign_in_methods import SignInChange
from longwire.model import Actor, User
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import passwords as store
from longwire.store.identity.passwords import TotpRow

STEP_S = 30
DIGITS = 6
SECRET_BYTES = 20
RECOVERY_CODES = 10
ISSUER = "longwire"
_CODE_WRONG = "is wrong, or was used before"


def compute_code(secret: bytes, step: int, digits: int = DIGITS) -> str:
    """The code of a time step (RFC 4226)."""
    mac = hmac.digest(secret, step.to_bytes(8, "big"), hashlib.sha1)
    offset = mac[-1] & 0xF
    number = int.from_bytes(mac[offset : offset + 4], "big") & 0x7FFF_FFFF
    return str(number % 10**digits).zfill(digits)


def find_step(secret: bytes, code: str, now: Moment) -> int | None:
    """The time step of a code: the present one, or a neighbour for clocks that differ."""
    present = now // (STEP_S * SECOND)
    for step in (present, present - 1, present + 1):
        if hmac.compare_digest(compute_code(secret, step).encode(), code.encode()):
            return step
    return None


def is_enabled(tx: Tx, user_id: str) -> bool:
    row = store.get_totp(tx, user_id)
    return row is not None and row.confirmed_at is not None


def enrol(tx: Tx, user: User) -> tuple[str, str]:
    """A new secret, in base32, and its URI for an app; it counts once it is confirmed."""
    locks.acquire_lock(tx, "password of user", user.id)
    if is_enabled(tx, user.id):
        raise Conflict("The authenticator app is turned on already; turn it off first.")
    secret = secrets.token_bytes(SECRET_BYTES)
    text = base64.b32encode(secret).decode()
    store.save_totp(tx, user.id, TotpRow(tx.keyring.seal(text, _seal_purpose(user.id)), 0, None))
    label = quote(f"{ISSUER}:{user.email}")
    return text, f"otpauth://totp/{label}?{urlencode({'secret': text, 'issuer': ISSUER})}"


def confirm(tx: Tx, actor: Actor, code: str) -> list[str]:
    """Turn it on, by a first code; returns the recovery codes, which are not stored."""
    locks.acquire_lock(tx, "password of user", actor.id)
    row = store.get_totp(tx, actor.id)
    if row is None or row.confirmed_at is not None:
        raise Conflict("There is nothing to confirm; begin with a new secret.")
    step = find_step(_unseal(tx, actor.id, row), _normalize(code), tx.now)
    if step is None:
        raise invalid_field("code", _CODE_WRONG)
    store.save_totp(tx, actor.id, replace(row, last_step=step, confirmed_at=tx.now))
    codes = [_new_recovery_code() for _ in range(RECOVERY_CODES)]
    store.replace_recovery_codes(tx, actor.id, [_digest(tx, actor.id, each) for each in codes])
    audit.log(tx, actor, SignInChange.TOTP_ENABLED, actor.id)
    return codes


def disable(tx: Tx, actor: Actor, code: str) -> None:
    """Turn it off, by a code or a recovery code."""
    if not is_enabled(tx, actor.id):
        raise Conflict("The authenticator app is not turned on.")
    if not _use(tx, actor.id, code):
        raise invalid_field("code", _CODE_WRONG)
    store.delete_totp(tx, actor.id)
    audit.log(tx, actor, SignInChange.TOTP_DISABLED, actor.id)


def require(tx: Tx, user_id: str, code: str | None) -> None:
    """Use a code up, if this user needs one to sign in."""
    if not is_enabled(tx, user_id):
        return
    if code is None:
        raise TotpRequired
    if not _use(tx, user_id, code):
        raise NotAuthenticated


def _use(tx: Tx, user_id: str, code: str) -> bool:
    row = store.get_totp(tx, user_id)
    assert row is not None  # it is turned on
    normalized = _normalize(code)
    step = find_step(_unseal(tx, user_id, row), normalized, tx.now)
    if step is not None:
        return store.use_step(tx, user_id, step)
    return store.use_recovery_code(tx, user_id, _digest(tx, user_id, normalized))


def _new_recovery_code() -> str:
    """80 random bits, in four groups of letters and digits."""
    text = base64.b32encode(secrets.token_bytes(10)).decode().lower()
    return "-".join(text[at : at + 4] for at in range(0, 16, 4))


def _normalize(code: str) -> str:
    return code.replace("-", "").replace(" ", "").lower()


def _digest(tx: Tx, user_id: str, code: str) -> bytes:
    return tx.keyring.digest(f"recovery code of {user_id}: {_normalize(code)}")


def _unseal(tx: Tx, user_id: str, row: TotpRow) -> bytes:
    return base64.b32decode(tx.keyring.unseal(row.sealed_secret, _seal_purpose(user_id)))


def _seal_purpose(user_id: str) -> str:
    return f"user_totp|{user_id}"
