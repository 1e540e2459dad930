"""Faults planted in the service on purpose, which the simulation has to find: its own tests."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from longwire import metrics
from longwire.delivery.connectors import messages
from longwire.delivery.destinations.base import Delivered, Unreachable
from longwire.delivery.destinations.http import Http
from longwire.delivery.engine import engine as engine_module
from longwire.ids import format_delivery_id
from longwire.ingest import storing
from longwire.ingest.committer import IngestCommitter
from longwire.jobs import steps
from longwire.notifications import measured_conditions
from longwire.store.cache import cache_epochs
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.engines.sqlite import SQLite
from longwire.store.identity import group_storage
from longwire.store.records import record_pages


def acknowledge_before_the_commit() -> None:
    original, report = IngestCommitter._store_batch, IngestCommitter._report
    answered: set[int] = set()

    def store(self: Any, batch: Any, tx: Any) -> Any:
        results, woken = original(self, batch, tx)
        if batch:
            report(self, batch, results)
            answered.add(id(batch))
        return results, woken

    def report_once(self: Any, batch: Any, results: Any) -> None:
        if id(batch) not in answered:
            report(self, batch, results)
        answered.discard(id(batch))

    IngestCommitter._store_batch = store  # type: ignore[method-assign]
    IngestCommitter._report = report_once  # type: ignore[method-assign]


def commit_without_a_flush() -> None:
    original = SQLite.__init__

    def init(self: Any, *args: Any, **named: Any) -> None:
        original(self, *args, **{**named, "synchronous": "NORMAL"})

    SQLite.__init__ = init  # type: ignore[method-assign]


def count_before_the_duplicate_check() -> None:
    original = storing._insert_new

    def insert(tx: Any, rows_by_request: Sequence[Sequence[Any]]) -> Any:
        fresh = original(tx, rows_by_request)
        rows = [row for rows in rows_by_request for row in rows]
        known = {row.seq for row in fresh}
        again = [row for row in rows if row.seq not in known]
        if again:
            metrics.count_arrivals(tx, 1, again, Counter())
        return fresh

    storing._insert_new = insert


def lose_what_a_dead_process_had_claimed() -> None:
    async def nothing(self: Any, *args: Any, **named: Any) -> None:
        pass

    engine_module.LeaseRecovery.recover = nothing  # type: ignore[method-assign]


def page_with_the_last_one_again() -> None:
    original = record_pages._BEYOND
    changed = original.replace("seq {later} :seq", "seq {later}= :seq")
    assert changed != original
    record_pages._BEYOND = changed


def take_no_answer_for_a_delivery() -> None:
    original = Http.send

    async def send(self: Any, *args: Any, **named: Any) -> Any:
        outcome = await original(self, *args, **named)
        return Delivered() if isinstance(outcome, Unreachable) else outcome

    Http.send = send  # type: ignore[method-assign]


def use_another_message_id_on_a_retry() -> None:
    times: Counter[tuple[int, int]] = Counter()

    def format_id(channel: int, seq: int) -> str:
        times[channel, seq] += 1
        again = times[channel, seq] > 1
        return format_delivery_id(channel, seq) + ("f" if again else "")

    messages.format_delivery_id = format_id


def insert_deliveries_in_a_transaction_of_their_own() -> None:
    """After the commit, and lost if the process dies before."""
    original = store_deliveries.insert
    waiting: list[Any] = []

    def insert(tx: Any, new: Any) -> None:
        due, waiting[:] = list(waiting), list(new)
        if due:
            original(tx, due)

    storing.store_deliveries = _Replaced(store_deliveries, insert=insert)


def store_a_record_twice() -> None:
    """A duplicate is compared with those of the same request only."""
    original = storing._insert_new

    def insert(tx: Any, rows_by_request: Any) -> Any:
        return original(tx, [[_with_digest(row) for row in rows] for rows in rows_by_request])

    storing._insert_new = insert


def _with_digest(row: Any) -> Any:
    return msgspec.structs.replace(row, digest=row.seq.to_bytes(16, "big"))


def forget_the_size_of_what_is_deleted() -> None:
    group_storage.add_for_stay = lambda *args, **named: None


def forget_to_end_an_alarm() -> None:
    """The state of a condition is cleared, and its alarm goes on."""
    original = measured_conditions.apply_changes

    def apply(tx: Any, recipients: Any, changes: Any) -> Any:
        kept = [each for each in changes if not each.transition.is_resolved]
        return original(tx, recipients, kept)

    measured_conditions.apply_changes = apply


def keep_tokens_in_the_cache() -> None:
    cache_epochs.bump_auth_epoch = lambda tx: None


def undo_without_the_version() -> None:
    def compare(items: Any, found: Any) -> Any:
        pairs = [(item, found.get(item.item.object_id)) for item in items]
        return [(item, device) for item, device in pairs if device is not None], []

    steps._compare = compare


class _Replaced:
    """A module with some names replaced."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module = module
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


PLANTED: dict[str, Callable[[], None]] = {
    "acknowledge before the commit": acknowledge_before_the_commit,
    "commit without a flush": commit_without_a_flush,
    "count before the duplicate check": count_before_the_duplicate_check,
    "lose what a dead process had claimed": lose_what_a_dead_process_had_claimed,
    "page with the last one again": page_with_the_last_one_again,
    "take no answer for a delivery": take_no_answer_for_a_delivery,
    "use another message id on a retry": use_another_message_id_on_a_retry,
    "insert deliveries in a transaction of their own": (
        insert_deliveries_in_a_transaction_of_their_own
    ),
    "store a record twice": store_a_record_twice,
    "forget the size of what is deleted": forget_the_size_of_what_is_deleted,
    "forget to end an alarm": forget_to_end_an_alarm,
    "keep tokens in the cache": keep_tokens_in_the_cache,
    "undo without the version": undo_without_the_version,
}
