"""Collects messages about unknown devices, and stores them in the background.

So a flood of them costs one small transaction in a while, and nobody waits for it. A crash loses
those of the last seconds.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from longwire.errors import BadInput, Conflict, LongwireError, NotFound, TooLarge
from longwire.fleet import unknown_devices
from longwire.fleet.unknown_devices import MessageCounts
from longwire.inbound.ingest_requests import KEPT_BYTES_MAX
from longwire.ingest.requests import UnknownRecordDevices
from longwire.model import Actor
from longwire.networks.identities import can_be_original_id, original_key
from longwire.networks.json_text import clean_text
from longwire.records import encode_record
from longwire.store.database import Database
from longwire.store.fleet.unknown_devices import KeptMessage, UnknownDevice, UnknownReason
from longwire.store.pacing import write_and_pause

INTERVAL_S = 2.0
# Of an interval: ids of one group, and of all. Further ones replace the oldest of their group.
IDS_PER_GROUP_MAX = 100
IDS_MAX = 1_000
IDS_PER_STEP_MAX = 100
ID_CHARACTERS_MAX = 128
DETAIL_CHARACTERS_MAX = 256
PAYLOAD_CHARACTERS_MAX = 2_048
# What all of them may take: a character up to four bytes, and what is kept of the message.
BYTES_MAX = IDS_MAX * (
    4 * (ID_CHARACTERS_MAX + DETAIL_CHARACTERS_MAX + PAYLOAD_CHARACTERS_MAX) + KEPT_BYTES_MAX
)

_Key = tuple[str, str]  # the network, and the id as it is compared


class UnknownDeviceBuffer:
    """Messages that are not stored yet, by group and id. Thread-safe."""

    def __init__(self, database: Database, on_stored: Callable[[MessageCounts], None]) -> None:
        self._database = database
        self._on_stored = on_stored
        self._lock = threading.Lock()
        self._by_group: dict[str, dict[_Key, UnknownDevice]] = {}
        self._size = 0

    def note(
        self,
        actor: Actor,
        network: str,
        original_id: str,
        reason: UnknownReason = UnknownReason.UNKNOWN,
        *,
        detail: str | None = None,
        payload: str = "",
        content: bytes | None = None,
    ) -> None:
        """Note a message that came with the token of a group.

        Of an UNKNOWN one with a detail, which is what is invalid in it, the device may exist.
        """
        assert actor.group_id is not None
        now = self._database.context.clock.now()
        sent_id = clean_text(original_id)[:ID_CHARACTERS_MAX]
        found = UnknownDevice(
            actor.group_id,
            network,
            original_key(network, sent_id),
            sent_id,
            reason,
            None if detail is None else clean_text(detail)[:DETAIL_CHARACTERS_MAX],
            now,
            now,
            1,
            KeptMessage(now, payload[:PAYLOAD_CHARACTERS_MAX], content),
        )
        with self._lock:
            self._add(found)

    def note_error(
        self,
        actor: Actor,
        network: str,
        original_id: str,
        error: LongwireError,
        *,
        payload: str,
        content: bytes | None = None,
    ) -> None:
        """Note a message that was refused; not one that the network is going to send again."""
        if isinstance(error, NotFound):
            detail = None
        elif isinstance(error, BadInput | Conflict | TooLarge):
            detail = error.message
        else:
            return
        is_valid = can_be_original_id(network, original_id)
        reason = UnknownReason.UNKNOWN if is_valid else UnknownReason.MALFORMED
        self.note(
            actor, network, original_id, reason, detail=detail, payload=payload, content=content
        )

    def note_posted(self, actor: Actor, error: UnknownRecordDevices) -> None:
        """Note records that an app client has posted about devices that it does not know."""
        for record in error.records[:IDS_PER_GROUP_MAX]:
            payload = encode_record(record).body
            self.note(actor, "", record.device_id, payload=payload)

    def _add(self, found: UnknownDevice) -> None:
        ids = self._by_group.get(found.group_id, {})
        key = (found.network, found.original_key)
        before = ids.pop(key, None)
        if before is not None:
            first_at = min(before.first_at, found.first_at)
            newest = max(before, found, key=lambda each: each.last_at)
            messages = before.messages + found.messages
            ids[key] = replace(newest, first_at=first_at, messages=messages)
            return
        if len(ids) >= IDS_PER_GROUP_MAX or (ids and self._size >= IDS_MAX):
            self._evict(found.group_id)
        elif self._size >= IDS_MAX:
            self._evict(max(self._by_group, key=lambda each: len(self._by_group[each])))
        ids[key] = found
        self._by_group[found.group_id] = ids
        self._size += 1

    def _evict(self, group_id: str) -> None:
        ids = self._by_group[group_id]
        del ids[next(iter(ids))]
        self._size -= 1
        if not ids:
            del self._by_group[group_id]

    def _take(self) -> list[UnknownDevice]:
        with self._lock:
            taken = [found for ids in self._by_group.values() for found in ids.values()]
            self._by_group = {}
            self._size = 0
        return taken

    # --- in the background ---

    async def run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL_S)
            with contextlib.suppress(LongwireError):  # the next round stores them
                await self.flush()

    async def flush(self) -> None:
        """Store what there is; what cannot be stored now stays, and the error is raised."""
        taken = self._take()
        try:
            while taken:
                work = partial(unknown_devices.store_reports, reported=taken[:IDS_PER_STEP_MAX])
                self._on_stored(await write_and_pause(self._database, work))
                del taken[:IDS_PER_STEP_MAX]
        except LongwireError:
            self._put_back(taken)
            raise

    def _put_back(self, taken: list[UnknownDevice]) -> None:
        with self._lock:
            for each in taken:
                self._add(each)
