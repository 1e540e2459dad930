"""Counts how links of shared views are used: in memory, and every few seconds in the database.

So that a link which many people have open costs a few writes a minute. What was counted since the
last one is lost if the process is killed. The audit log says once a day that a link was used.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from longwire.clock import Moment
from longwire.errors import LongwireError
from longwire.model import SYSTEM, Origin
from longwire.store.database import Database, Tx
from longwire.store.fleet import shares as store
from longwire.store.fleet.shares import Share, ShareUse
from longwire.store.identity import audit

INTERVAL_S = 5.0
SHARES_PER_STEP_MAX = 200


class ShareUses:
    """What was counted since it was stored last, by share."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pending: dict[str, ShareUse] = {}

    def note(self, share: Share, origin: Origin, now: Moment, *, opened: int) -> None:
        """Count a request; not more often than links are read, which is limited."""
        use = ShareUse(share.id, opened, now, now, origin.address, origin.request_id)
        self._add(use)

    def _add(self, use: ShareUse) -> None:
        known = self._pending.get(use.share_id)
        if known is not None:
            opened, last_at = known.opened + use.opened, max(known.last_at, use.last_at)
            use = replace(known, opened=opened, last_at=last_at)
        self._pending[use.share_id] = use

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL_S)
            with contextlib.suppress(LongwireError):  # the next round stores them
                await self.flush()

    async def flush(self) -> None:
        """Store what there is; what cannot be stored now stays, and the error is raised."""
        taken = list(self._pending.values())
        self._pending = {}
        try:
            while taken:
                await self._database.write(partial(_store, uses=taken[:SHARES_PER_STEP_MAX]))
                del taken[:SHARES_PER_STEP_MAX]
        except LongwireError:
            for each in taken:
                self._add(each)
            raise


def _store(tx: Tx, uses: Sequence[ShareUse]) -> None:
    for use in sorted(uses, key=lambda each: each.share_id):  # one order of locks
        is_first = store.begin_day(tx, use)
        share = store.count_uses(tx, use)
        if share is not None and is_first:
            _log(tx, share, use)


def _log(tx: Tx, share: Share, use: ShareUse) -> None:
    """That it was used on this day, and from where first."""
    tx.origin = Origin(use.address, use.request_id)
    audit.log(tx, SYSTEM, "share.use", share.id, group_id=share.group_id, name=share.name)
