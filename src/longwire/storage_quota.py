"""How much a group may store. It may exceed that a little: what it has is read now and then."""

from collections.abc import Iterable

from longwire.clock import SECOND, Moment
from longwire.errors import LimitReached
from longwire.store import group_storage
from longwire.store.database import Tx

READ_AGAIN_AFTER: Moment = 10 * SECOND
GROUPS_CACHED_MAX = 10_000


class StorageQuota:
    """The operator's limits of records and bytes for each group; 0 for none."""

    def __init__(self, records_max: int = 0, bytes_max: int = 0) -> None:
        self._records_max = records_max
        self._bytes_max = bytes_max
        self.is_set = bool(records_max or bytes_max)
        self._cached: dict[int, tuple[Moment, LimitReached | None]] = {}

    def find_excess(self, tx: Tx, group_numbers: Iterable[int]) -> LimitReached | None:
        """The limit that one of the groups has reached."""
        return next((found for each in group_numbers if (found := self._check(tx, each))), None)

    def _check(self, tx: Tx, group_number: int) -> LimitReached | None:
        cached = self._cached.get(group_number)
        if cached is not None and 0 <= tx.now - cached[0] < READ_AGAIN_AFTER:
            return cached[1]
        records, characters = group_storage.get(tx, group_number)
        excess: LimitReached | None = None
        if self._records_max and records >= self._records_max:
            excess = LimitReached("stored_records_per_group_max", self._records_max)
        elif self._bytes_max and characters >= self._bytes_max:
            excess = LimitReached("stored_bytes_per_group_max", self._bytes_max)
        if len(self._cached) >= GROUPS_CACHED_MAX:
            self._cached.clear()
        self._cached[group_number] = tx.now, excess
        return excess


NO_STORAGE_QUOTA = StorageQuota()
