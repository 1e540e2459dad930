"""Passwords: Argon2id hashes, computed in threads, two at a time.

A check takes 50 to 150 ms of a core and 32 MiB, so how many wait is bounded, and how many of one
caller. Half of the places are for people where they were before, which strangers from however many
addresses cannot take. Unknown accounts take as long as known ones.
"""

import asyncio
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import argon2

from longwire.dataclass import dataclass
from longwire.errors import NotAuthenticated, TooManyRequests, Unavailable
from longwire.identity import sessions
from longwire.identity.sign_in_methods import SignInChange
from longwire.model import Actor, Session
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import passwords as store
from longwire.store.identity import users as store_users
from longwire.store.identity.sign_in_codes import SIGN_IN_CODES
from longwire.work.rate_limits import get_provider, get_site

T = TypeVar("T")

CHARACTERS_MIN = 10
CHARACTERS_MAX = 256
AT_ONCE_MAX = 2
WAITING_MAX = 50
WAITING_PER_CALLER_MAX = 4
WAITING_PER_PROVIDER_MAX = 8  # of all callers in an IPv6 network of 48 bits

# More than what OWASP asks for at least (19 MiB, two passes), within the time above.
_hasher = argon2.PasswordHasher(time_cost=2, memory_cost=32 * 1024, parallelism=1)
# Of no password; checked when there is none, so that it takes as long.
_ABSENT = (
    "$argon2id$v=19$m=32768,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)


class _Places:
    """How many wait, of them all and with each of some keys."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0
        self._by_key: Counter[str] = Counter()

    @contextmanager
    def take(self, most_by_key: Mapping[str, int]) -> Iterator[None]:
        if any(self._by_key[key] >= most for key, most in most_by_key.items()):
            raise TooManyRequests("Too many attempts at once; retry shortly.")
        if self._taken >= self._most:
            raise Unavailable
        self._taken += 1
        self._by_key.update(most_by_key.keys())
        try:
            yield
        finally:
            self._taken -= 1
            self._by_key.subtract(most_by_key.keys())
            self._by_key = +self._by_key


class PasswordHashing:
    """Hashes and checks passwords off the event loop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE_MAX, "passwords")
        self._threads_of_strangers = asyncio.Semaphore(AT_ONCE_MAX // 2)
        self._places = _Places(WAITING_MAX // 2)
        self._places_of_strangers = _Places(WAITING_MAX // 2)

    async def hash(self, password: str, user_id: str) -> str:
        """A hash for a user who has proved who they are."""
        with self._places.take({user_id: WAITING_PER_CALLER_MAX}):
            return await self._run(lambda: _hasher.hash(_normalize(password)))

    async def matches(
        self, stored: str | None, password: str, address: str, *, is_known: bool
    ) -> bool:
        """Whether this is the password with this hash; it takes as long if there is none.

        `is_known` for an account that somebody has lately signed in to from there.
        """

        def work() -> bool:
            return _matches(stored or _ABSENT, password)

        site, provider = get_site(address), get_provider(address)
        most = {provider: WAITING_PER_PROVIDER_MAX, site: WAITING_PER_CALLER_MAX}
        if is_known:
            with self._places.take(most):
                return await self._run(work)
        with self._places_of_strangers.take(most):
            async with self._threads_of_strangers:
                return await self._run(work)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

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
    is_known_there: bool  # it has a session of the address that asks


def find_account(tx: Tx, email: str, address: str) -> PasswordAccount | None:
    user = store_users.get_by_email(tx, email)
    stored = get_hash(tx, user.id) if user is not None else None
    if user is None or stored is None:
        return None
    sites = {get_site(each.address) for each in sessions.list_of(tx, user.id)}
    return PasswordAccount(user.id, stored, get_site(address) in sites)


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


def set_password(tx: Tx, actor: Actor, new_hash: str, session: Session) -> None:
    """Set the actor's own password; other sessions end, and links become invalid."""
    _save(tx, actor.id, new_hash)
    sessions.end_where(tx, actor.id, lambda each: each.id != session.id)
    SIGN_IN_CODES.delete_all(tx, user_id=actor.id)
    audit.log(tx, actor, SignInChange.PASSWORD_SET, actor.id)


def _save(tx: Tx, user_id: str, new_hash: str) -> None:
    locks.acquire_lock(tx, "password of user", user_id)
    store.save_hash(tx, user_id, tx.keyring.seal(new_hash, _seal_purpose(user_id)))


def _seal_purpose(user_id: str) -> str:
    return f"user_password|{user_id}"
