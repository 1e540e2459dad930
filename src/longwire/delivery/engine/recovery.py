"""Takes over deliveries that a process had claimed and does not send any more."""

import time
from collections.abc import Callable
from functools import partial

from longwire.delivery.engine.settlement import (
    ORPHANS_PER_STEP_MAX,
    ChannelHandlers,
    recover_from_dead_nodes,
    recover_orphans,
)
from longwire.store.database import Database, Tx
from longwire.store.pacing import write_and_pause

SETTLED_AFTER_S = 5.0
FAR_FUTURE = 2**62


class LeaseRecovery:
    """Looks for orphaned leases, in the slots that are this process's."""

    def __init__(
        self, database: Database, writer: int, handlers: ChannelHandlers, in_flight_max: int
    ) -> None:
        self._database = database
        self._writer = writer
        self._handlers = handlers
        self._in_flight_max = in_flight_max
        self._living: set[int] | None = None  # None: what dead ones had was not looked for yet

    async def recover(self, expired_before: int | None = None) -> None:
        """Take over deliveries whose lease has expired."""
        await self._recover_slots(
            lambda slot, tx: recover_orphans(tx, self._writer, slot, expired_before, self._handlers)
        )

    async def recover_all(self) -> None:
        """An embedded database has no other process: every lease is orphaned."""
        await self.recover(expired_before=FAR_FUTURE)

    async def recover_from_dead_nodes(self) -> None:
        """Take over what another process had claimed, once it is gone."""
        held_since = self._database.held_since
        if self._database.engine_name == "sqlite" or held_since is None:
            return
        if time.monotonic() - held_since < SETTLED_AFTER_S:
            return  # after an outage of the database, the others have time to renew their leases
        living = set(self._database.cluster.delivering)
        if self._living is None or self._living - living:
            await self._recover_slots(
                lambda slot, tx: recover_from_dead_nodes(tx, self._writer, slot, self._handlers)
            )
        self._living = living

    async def _recover_slots(self, recover: Callable[[int, Tx], int]) -> None:
        """Recover what there is in each of our slots, in steps."""
        slots = self._database.slots
        for slot in self._database.cluster.list_slots(0, self._in_flight_max, slots):
            found = ORPHANS_PER_STEP_MAX
            while found == ORPHANS_PER_STEP_MAX:
                found = await write_and_pause(self._database, partial(recover, slot))
