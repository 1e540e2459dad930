"""Writes many records: collects them into batches, and keeps them until the service has them.

A thread of its own sends them, one batch after the other, in the order in which they were written.
It also does so for asyncio: a record in a spool has to reach the disk, which would block the loop.
"""

import asyncio
import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from longwire_client import models as m
from longwire_client._sync.transport import Transport
from longwire_client.calls import Call
from longwire_client.errors import (
    NOT_FROM_THE_SERVICE,
    ApiError,
    BadInput,
    LongwireError,
    NotAllowed,
    NotFound,
    ServerFailed,
    TooLarge,
)
from longwire_client.options import Options
from longwire_client.retries import Retries
from longwire_client.spool import Entry, MemoryQueue, Queue, Spool

_log = logging.getLogger("longwire_client")

RecordInput = m.DeviceDataInput | m.DeviceEventInput | m.DeviceGeolocInput | m.DeviceTelemetryInput
KINDS: dict[type[Any], str] = {
    m.DeviceDataInput: "data",
    m.DeviceEventInput: "event",
    m.DeviceGeolocInput: "geoloc",
    m.DeviceTelemetryInput: "telemetry",
}
# What the service refuses because of a record, so that sending it again would not help.
_REFUSALS = (BadInput, NotAllowed, NotFound, TooLarge)
# So many internal errors in a row for the same batch may be caused by a record in it.
_SUSPICIOUS_FAILURES = 5
_SUSPECTS_MAX = 20
# The code of what somebody else has changed in a spool: it was never sent, so its status is 0.
DAMAGED = "damaged"
_ITEM = re.compile(r"items\[(\d+)\]\.?")
# Records that `write_many` stores at once; more are stored in several steps.
_STEP = 1_000
_JOIN_S = 5.0


class QueueFull(LongwireError):
    """There was no room within the timeout; the records were not taken."""

    is_temporary = True


class WriterClosed(LongwireError):
    """The writer was closed before; the records were not taken."""


class NotDelivered(LongwireError):
    """Records were still waiting when a writer without a spool was closed: they are lost."""

    def __init__(self, count: int, failure: LongwireError | None) -> None:
        super().__init__(count, failure)
        self.count = count
        self.failure = failure

    def __str__(self) -> str:
        return f"{self.count} records were not delivered; the last failure: {self.failure}"


@dataclass(frozen=True, slots=True)
class WriterStatus:
    """How a writer is doing."""

    stored: int  # new records that the service has stored
    duplicates: int  # records that it had before
    rejected: int  # records that it refused
    waiting: int
    failure: LongwireError | None  # why nothing can be delivered at the moment


class Receipt:
    """What becomes of one record."""

    __slots__ = ("_settled", "error", "is_done")

    def __init__(self, settled: threading.Condition) -> None:
        self._settled = settled
        self.is_done = False
        self.error: ApiError | None = None  # why the service refused the record

    def wait(self, timeout_s: float | None = None) -> bool:
        """Whether it is known by then: the record is stored, or there is an `error`."""
        with self._settled:
            return self._settled.wait_for(lambda: self.is_done, timeout_s)


class Writer:
    """Takes records one by one, and sends them in batches.

    `write` returns when the record is in the queue: in memory, or with a spool on the disk. It
    waits while the queue is full. A batch is sent when it is full, or after `linger_s`. While the
    service cannot be reached, records wait. What the service rejects no longer waits; its receipt
    and `on_rejected` get the error. The thread that sends calls the callbacks, so they should
    return soon. More than one batch `in_flight` is faster, and gives the order up.
    """

    def __init__(
        self,
        options: Options,
        *,
        spool: Spool | str | Path | None = None,
        batch_records: int = 500,
        batch_bytes: int = 2 * 1024**2,
        linger_s: float = 0.2,
        queue_records: int = 10_000,
        in_flight: int = 1,
        on_rejected: Callable[[Entry, ApiError], None] | None = None,
        on_failure: Callable[[LongwireError], None] | None = None,
    ) -> None:
        self._retries = options.retries
        self._transport = Transport(replace(options, retries=Retries(attempts=1)))
        self._owns_spool = isinstance(spool, str | Path)
        self._queue: Queue = (
            MemoryQueue(queue_records)
            if spool is None
            else Spool(spool)
            if isinstance(spool, str | Path)
            else spool
        )
        self._batch_records = batch_records
        self._batch_bytes = batch_bytes
        self._linger_s = linger_s
        self._in_flight = in_flight
        self._pool = ThreadPoolExecutor(in_flight, "longwire-writer") if in_flight > 1 else None
        self._on_rejected = on_rejected
        self._on_failure = on_failure
        self._appending = threading.Lock()  # held while entries get their numbers and their places
        self._settled = threading.Condition()  # guards what follows; notified of each result
        self._receipts: dict[int, Receipt] = {}
        self._stored = self._duplicates = self._rejected = 0
        self._failures = 0
        self._failure: LongwireError | None = None
        self._work = threading.Condition()  # notified when the thread may have to act
        self._flushes = 0
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="longwire-writer", daemon=True)
        self._thread.start()

    # --- for whoever writes ---

    def write(self, record: RecordInput, *, timeout_s: float | None = None) -> Receipt:
        """Take a record; QueueFull if there is no room for so long, by default wait for it."""
        return self._append([record], _deadline(timeout_s))[0]

    def write_many(
        self, records: Iterable[RecordInput], *, timeout_s: float | None = None
    ) -> list[Receipt]:
        """Take many records, in one go to the disk for each thousand."""
        deadline = _deadline(timeout_s)
        given = list(records)
        receipts: list[Receipt] = []
        for start in range(0, len(given), _STEP):
            receipts += self._append(given[start : start + _STEP], deadline)
        return receipts

    def flush(self, timeout_s: float | None = None) -> bool:
        """Send what is waiting without further ado; whether all of it was settled by then."""
        with self._work:
            self._flushes += 1
            self._work.notify_all()
        try:
            with self._settled:
                return self._settled.wait_for(lambda: self._queue.waiting == 0, timeout_s)
        finally:
            with self._work:
                self._flushes -= 1

    @property
    def status(self) -> WriterStatus:
        with self._settled:
            return WriterStatus(
                self._stored,
                self._duplicates,
                self._rejected,
                self._queue.waiting,
                self._failure,
            )

    def close(self, timeout_s: float | None = 30.0) -> None:
        """Flush and stop. What is left by then stays in the spool; without one, NotDelivered."""
        if self._is_stopping:
            return
        self.flush(timeout_s)
        with self._work, self._settled:
            self._is_stopping = True
            self._work.notify_all()
            self._settled.notify_all()  # whoever waits for room
        self._thread.join(_JOIN_S)
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._transport.close()
        left = self._queue.waiting
        if self._owns_spool:
            self._queue.close()
        if left and not self._queue.is_durable:
            raise NotDelivered(left, self._failure)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except NotDelivered:
            if error is None:  # else the first error is the one to see
                raise

    def has_room(self, count: int = 1, size: int = 0) -> bool:
        """Whether so many records, of so many bytes together, can be taken at once."""
        queue = self._queue
        if queue.waiting == 0 and len(queue) == 0:
            return True
        return (
            len(queue) + count <= queue.records_max and queue.size_bytes + size <= queue.bytes_max
        )

    def try_write(self, record: RecordInput) -> Receipt | None:
        """Take a record if that needs no waiting at all: for room, a disk or another thread."""
        if self._queue.is_durable or not self._appending.acquire(blocking=False):
            return None
        try:
            return self._store(_encode([record]))[0] if self.has_room() else None
        finally:
            self._appending.release()

    def _append(self, records: Sequence[RecordInput], deadline: float | None) -> list[Receipt]:
        encoded = _encode(records)
        size = sum(len(body) for _, body in encoded)
        with self._appending:
            self._wait_for_room(len(encoded), size, deadline)
            return self._store(encoded)

    def _store(self, encoded: Sequence[tuple[str, bytes]]) -> list[Receipt]:
        """Put records into the queue; needs the lock for that, and room."""
        if self._is_stopping:
            raise WriterClosed("the writer is closed")
        first = self._queue.last_seq + 1
        entries = [Entry(first + number, *each) for number, each in enumerate(encoded)]
        receipts = {each.seq: Receipt(self._settled) for each in entries}
        with self._settled:
            self._receipts.update(receipts)
        try:
            self._queue.append(entries)
        except BaseException:
            with self._settled:
                for seq in receipts:
                    self._receipts.pop(seq, None)
            raise
        waiting = self._queue.waiting
        # The thread waits for the first record, and then for a full batch.
        if waiting <= len(entries) or waiting - len(entries) < self._batch_records <= waiting:
            with self._work:
                self._work.notify_all()
        return list(receipts.values())

    def _wait_for_room(self, count: int, size: int, deadline: float | None) -> None:
        if self.has_room(count, size):
            return
        with self._settled:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._settled.wait_for(
                lambda: self._is_stopping or self.has_room(count, size), left_s
            ):
                raise QueueFull(f"{len(self._queue)} records are waiting: {self._failure}")

    # --- the thread that sends ---

    def _run(self) -> None:
        while self._wait_for_work():
            try:
                self._send_head()
            except LongwireError as error:
                self._fail(error)
            except Exception as error:  # ours: records stay, and somebody gets to know
                _log.exception("sending records failed")
                self._fail(LongwireError(repr(error)))
            else:
                self._failures = 0
                self._failure = None

    def _wait_for_work(self) -> bool:
        """Wait until a batch should be sent; False if the writer is to stop."""
        with self._work:
            self._work.wait_for(lambda: self._is_stopping or self._queue.waiting > 0)
            self._work.wait_for(self._is_due, self._linger_s)
            return not self._is_stopping

    def _is_due(self) -> bool:
        is_full = self._queue.waiting >= self._batch_records
        return is_full or self._flushes > 0 or self._is_stopping or self._failures > 0

    def _fail(self, error: LongwireError) -> None:
        self._failures += 1
        self._failure = error
        _call_back(self._on_failure, error)
        asked_s = (error.retry_after_s or 0.0) if isinstance(error, ApiError) else 0.0
        with self._work:
            self._work.wait_for(
                lambda: self._is_stopping, max(asked_s, self._retries.back_off(self._failures))
            )

    def _send_head(self) -> None:
        entries = self._queue.head(self._batch_records * self._in_flight)
        for entry in [each for each in entries if each.kind not in KINDS.values()]:
            self._reject(entry, BadInput(0, DAMAGED, "the spool has it as no kind of record"))
            entries.remove(entry)
        batches = [
            batch
            for kind in dict.fromkeys(each.kind for each in entries)
            for batch in self._split([each for each in entries if each.kind == kind])
        ]
        if self._pool is None:
            for batch in batches:
                self._deliver(batch)
            return
        started = [self._pool.submit(self._deliver, batch) for batch in batches]
        wait(started)
        for each in started:
            each.result()

    def _split(self, entries: Sequence[Entry]) -> Iterator[list[Entry]]:
        """Batches that are not too large."""
        batch: list[Entry] = []
        size = 0
        for each in entries:
            is_full = len(batch) == self._batch_records
            if batch and (is_full or size + len(each.body) > self._batch_bytes):
                yield batch
                batch, size = [], 0
            batch.append(each)
            size += len(each.body)
        if batch:
            yield batch

    def _deliver(self, entries: list[Entry]) -> None:
        """Send a batch, and again without what the service refuses."""
        pending = [entries]
        while pending:
            batch = pending.pop()
            try:
                self._post(batch)
            except _REFUSALS as error:
                pending += self._sort_out(batch, error)
            except ServerFailed as error:
                if self._failures < _SUSPICIOUS_FAILURES:
                    raise
                self._isolate(batch[:_SUSPECTS_MAX], error)
                pending += [batch[_SUSPECTS_MAX:]] if batch[_SUSPECTS_MAX:] else []

    def _post(self, batch: Sequence[Entry]) -> None:
        """Store a batch, or raise. Repeating one is harmless: the service stores a record once."""
        body = b'{"items":[' + b",".join([each.body for each in batch]) + b"]}"
        path = f"/device/{batch[0].kind}/batch"
        call: Call[m.BatchReturn] = Call("POST", path, m.BatchReturn, body=body, is_repeatable=True)
        result = self._transport.request(call)
        self._queue.remove(batch)
        with self._settled:
            self._stored += result.stored
            self._duplicates += result.duplicates
            for each in batch:
                receipt = self._receipts.pop(each.seq, None)
                if receipt is not None:
                    receipt.is_done = True
            self._settled.notify_all()

    def _sort_out(self, batch: list[Entry], error: ApiError) -> list[list[Entry]]:
        """Reject what the error names; what is left to send, the next batch last."""
        damaged = [each for each in batch if not _is_object(each.body)]
        if damaged:  # with these, the service counts other items than we do
            for each in damaged:
                self._reject(each, BadInput(0, DAMAGED, "the spool has no record there"))
            rest = [each for each in batch if each not in damaged]
            return [rest] if rest else []
        named = {int(found[1]) for each in error.faults if (found := _ITEM.match(each.field))}
        if named:
            for index in sorted(named):
                self._reject(batch[index], _restrict(error, index))
            rest = [each for index, each in enumerate(batch) if index not in named]
            return [rest] if rest else []
        is_foreign = error.code == NOT_FROM_THE_SERVICE and not isinstance(error, TooLarge)
        if is_foreign or isinstance(error, NotFound):
            raise error  # the address is wrong, not a record
        if len(batch) == 1:
            self._reject(batch[0], error)
            return []
        middle = len(batch) // 2
        return [batch[middle:], batch[:middle]]

    def _isolate(self, suspects: Sequence[Entry], error: ServerFailed) -> None:
        """Send records one by one; if some are stored, those that still fail are the cause."""
        failed: list[tuple[Entry, ServerFailed]] = []
        for each in suspects:
            try:
                self._post([each])
            except ServerFailed as failure:
                failed.append((each, failure))
            except _REFUSALS as refusal:
                self._sort_out([each], refusal)
        if len(failed) == len(suspects):
            raise error
        for each, cause in failed:
            self._reject(each, cause)

    def _reject(self, entry: Entry, error: ApiError) -> None:
        self._queue.reject(entry, error)
        with self._settled:
            self._rejected += 1
            receipt = self._receipts.pop(entry.seq, None)
            if receipt is not None:
                receipt.error = error
                receipt.is_done = True
            self._settled.notify_all()
        _call_back(self._on_rejected, entry, error)


class AsyncWriter:
    """A `Writer` for asyncio: the same, without blocking the loop."""

    def __init__(self, options: Options, **given: Any) -> None:
        self._writer = Writer(options, **given)

    async def write(self, record: RecordInput, *, timeout_s: float | None = None) -> Receipt:
        receipt = self._writer.try_write(record)
        if receipt is not None:
            return receipt
        return await asyncio.to_thread(self._writer.write, record, timeout_s=timeout_s)

    async def write_many(
        self, records: Iterable[RecordInput], *, timeout_s: float | None = None
    ) -> list[Receipt]:
        return await asyncio.to_thread(self._writer.write_many, records, timeout_s=timeout_s)

    async def flush(self, timeout_s: float | None = None) -> bool:
        return await asyncio.to_thread(self._writer.flush, timeout_s)

    async def wait(self, receipt: Receipt, timeout_s: float | None = None) -> bool:
        """As `receipt.wait`, which would block the loop."""
        return await asyncio.to_thread(receipt.wait, timeout_s)

    @property
    def status(self) -> WriterStatus:
        return self._writer.status

    async def close(self, timeout_s: float | None = 30.0) -> None:
        await asyncio.to_thread(self._writer.close, timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self._writer.__exit__, kind, error, traceback)


def _is_object(body: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(body), dict)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    except RecursionError:
        return True  # for the service to judge


def _encode(records: Sequence[RecordInput]) -> list[tuple[str, bytes]]:
    return [(KINDS[type(each)], msgspec.json.encode(each)) for each in records]


def _call_back(function: Callable[..., None] | None, *arguments: object) -> None:
    """Call a callback; its errors are logged, and stop nothing."""
    if function is None:
        return
    try:
        function(*arguments)
    except Exception:
        _log.exception("a callback of a writer failed")


def _deadline(timeout_s: float | None) -> float | None:
    return None if timeout_s is None else time.monotonic() + timeout_s


def _restrict(error: ApiError, index: int) -> ApiError:
    """The part of a batch's error that is about one record, with the fields of the record."""
    prefix = f"items[{index}]"
    faults = tuple(
        replace(each, field=_ITEM.sub("", each.field, count=1))
        for each in error.faults
        if each.field == prefix or each.field.startswith(f"{prefix}.")
    )
    detail = "; ".join(str(each) for each in faults)
    return type(error)(error.status, error.code, detail, faults, error.request_id)
