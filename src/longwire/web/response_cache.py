"""Cached responses: pages of records that were read lately.

Devices report rarely and people look often: a dashboard asks for the same page every few seconds. A
response is served while everything that it depends on is unchanged: the authorization that it was
given by, its device with its records and stays, and the time until one of them expires. So it is
never older than a response that was sent before. Only the process that alone writes its database
can know that, so nothing is cached on PostgreSQL.

A cached page takes a fifth of the CPU time of one that is read.
"""

import threading

import msgspec

from longwire.clock import Moment
from longwire.model import Actor
from longwire.store.cache.cache import Caches
from longwire.store.database import Tx

BYTES_MAX = 32 * 1024 * 1024
ENTRY_OVERHEAD_BYTES = 500
# Part of the size of a response that is reserved for its compressed form.
GZIPPED_SHARE = 4

CacheKey = tuple[Actor, str, bytes]  # the caller, the path and the query string


class CachedResponse(msgspec.Struct, gc=False):
    """A response and what it depends on."""

    body: bytes
    device_number: int
    valid_until: Moment  # the last moment at which none of its records has expired
    auth_generation: int  # when its transaction began
    commits: int  # of this process, when its transaction began
    size: int
    _gzipped: bytes | None = None

    @property
    def gzipped(self) -> bytes | None:
        """The body in a compressed form that was sent before."""
        return self._gzipped

    def keep_gzipped(self, gzipped: bytes) -> None:
        if len(gzipped) <= len(self.body) // GZIPPED_SHARE:
            self._gzipped = gzipped


class ResponseCache:
    def __init__(self, caches: Caches) -> None:
        self._auth = caches.auth
        self._device_changes = caches.device_changes
        self._entries: dict[CacheKey, CachedResponse] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: CacheKey, now: Moment) -> CachedResponse | None:
        """The response to the same request, if it would be the same now."""
        found = self._entries.get(key)
        if found is None or not self._auth.is_trusted:
            return None
        if found.auth_generation != self._auth.generation or found.valid_until < now:
            return None
        if self._device_changes.is_changed(found.device_number, found.commits):
            return None
        return found

    def put(
        self, tx: Tx, key: CacheKey, body: bytes, *, device_number: int, valid_until: Moment
    ) -> None:
        """Cache a response that depends on authorization, one device and the time only."""
        if tx.is_postgres or tx.is_write:
            return
        size = len(body) + len(body) // GZIPPED_SHARE + len(key[-1]) + ENTRY_OVERHEAD_BYTES
        entry = CachedResponse(
            body, device_number, valid_until, tx.cache.auth_generation, tx.cache.commits, size
        )
        with self._lock:
            self._evict(key)
            self._entries[key] = entry
            self._bytes += size
            while self._bytes > BYTES_MAX:
                self._evict(next(iter(self._entries)))

    def _evict(self, key: CacheKey) -> None:
        evicted = self._entries.pop(key, None)
        if evicted is not None:
            self._bytes -= evicted.size
