"""Passwords: Argon2id hashes, computed in threads, two at a time.

A check takes 50 to 150 ms of a core and 32 MiB, so how many wait is bounded, and how many of one
caller. Unknown accounts take as long as known ones.
"""

import asyncio
import unicodedata
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import argon2

from longwire.errors import NotAuthenticated, TooManyRequests, Unavailable
from longwire.identity import sessions
from longwire.model import Actor, Session
from longwire.store import audit, locks, sign_in_codes
from longwire.store import passwords as store
from longwire.store import users as store_users
from longwire.store.database import Tx

T = TypeVar("T")

CHARACTERS_MIN = 10
CHARACTERS_MAX = 256
AT_ONCE_MAX = 2
WAITING_MAX = 50
WAITING_PER_CALLER_MAX = 4

# More than what OWASP asks for at least (19 MiB, two passes), within the time above.
_hasher = argon2.PasswordHasher(time_cost=2, memory_cost=32 * 1024, parallelism=1)
# Of no password; checked when there is none, so that it takes as long.
_ABSENT = (
    "$argon2id$v=19$m=32768,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)


class PasswordHashing:
    """Hashes and checks passwords off the event loop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE_MAX, "passwords")
        self._waiting: Counter[str] = Counter()

    async def hash(self, password: str, caller: str) -> str:
        return await self._run(caller, lambda: _hasher.hash(_normalize(password)))

    async def matches(self, stored: str | None, password: str, caller: str) -> bool:
        """Whether this is the password with this hash; it takes as long if there is none."""
        return await self._run(caller, lambda: _matches(stored or _ABSENT, password))

    async def _run(self, caller: str, work: Callable[[], T]) -> T:
        if self._waiting[caller] >= WAITING_PER_CALLER_MAX:
            raise TooManyRequests("Too many attempts at once; retry shortly.")
        if self._waiting.total() >= WAITING_MAX:
            raise Unavailable
        self._waiting[caller] += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting[caller] -= 1
            if not self._waiting[caller]:
                del self._waiting[caller]

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def needs_rehash(stored: str) -> bool:
    """Whether a hash was made with other parameters than those of today."""
    return _hasher.check_needs_rehash(stored)


def _matches(stored: str, password: str) -> bool:
    try:
        return _hasher.verify(stored, _normalize(password))
    except argon2.exceptions.VerifyMismatchError:
        return False


def _normalize(password: str) -> str:
    """The same text however a keyboard composes its accents."""
    return unicodedata.normalize("NFC", password)


@dataclass(frozen=True, slots=True)
class PasswordAccount:
    """A user with a password."""

    user_id: str
    hash: str


def find_account(tx: Tx, email: str) -> PasswordAccount | None:
    user = store_users.get_by_email(tx, email)
    stored = get_hash(tx, user.id) if user is not None else None
    return PasswordAccount(user.id, stored) if user is not None and stored is not None else None


def get_hash(tx: Tx, user_id: str) -> str | None:
    sealed = store.get_sealed_hash(tx, user_id)
    return None if sealed is None else tx.keyring.unseal(sealed, _seal_purpose(user_id))


def has_password(tx: Tx, user_id: str) -> bool:
    return store.get_sealed_hash(tx, user_id) is not None


def require_unchanged(tx: Tx, account: PasswordAccount) -> None:
    """The password that was checked before the transaction must still be the one."""
    if get_hash(tx, account.user_id) != account.hash:
        raise NotAuthenticated


def save_rehashed(tx: Tx, account: PasswordAccount, new_hash: str) -> None:
    """The same password, hashed with other parameters."""
    _save(tx, account.user_id, new_hash)


def set_password(tx: Tx, actor: Actor, new_hash: str, session: Session | None) -> None:
    """Set the actor's own password; other sessions end, and links become invalid."""
    _save(tx, actor.id, new_hash)
    own = session.id if session is not None else None
    sessions.end_where(tx, actor.id, lambda each: each.id != own)
    sign_in_codes.delete_of(tx, actor.id)
    audit.log(tx, actor, "password.set", actor.id)


def _save(tx: Tx, user_id: str, new_hash: str) -> None:
    locks.acquire_lock(tx, "password of user", user_id)
    store.save_hash(tx, user_id, tx.keyring.seal(new_hash, _seal_purpose(user_id)))


def _seal_purpose(user_id: str) -> str:
    return f"user_password|{user_id}"
