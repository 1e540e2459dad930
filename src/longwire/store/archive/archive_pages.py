"""Pages of a device's records that reach into the archive."""

from collections.abc import Mapping, Sequence

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.model import PageRequest
from longwire.store.archive import archive_reads
from longwire.store.archive.archive_files import archivable_before
from longwire.store.archive.archive_reads import ArchivedRange, NeedsArchive
from longwire.store.database import Tx
from longwire.store.records.record_pages import PAGE_CHARACTERS_MAX, RecordPage, list_page_rows
from longwire.store.records.records import ALL_TIME


def add_archived(
    tx: Tx,
    page: RecordPage,
    kind: str,
    begins: Mapping[int, Moment],
    end: Moment | None,
    request: PageRequest,
    *,
    ascending: bool,
) -> RecordPage | NeedsArchive[RecordPage]:
    """A page of the tables with what is in the archive, in the order of all lists."""
    first = min(begins.values())
    period = _find_period(tx, page, first, end, request, ascending=ascending)
    if period is None:
        return page
    # Once more, with the keys of the records: the list of files is read after them.
    rows, limit = list_page_rows(
        tx, kind, page.device_number, begins, period, request, ascending=ascending
    )
    after = None if request.after is None else (int(request.after[0]), int(request.after[1]))
    query = archive_reads.plan_range(
        tx,
        kind,
        page.device_number,
        list(begins),
        *period,
        limit + 1,
        # Some of its records are on an earlier page.
        uncounted_ts=None if after is None else after[0],
        ascending=ascending,
    )
    if query is None:
        return page
    pending = _PendingPage(page.device_number, rows, limit, after, ascending, begins)
    return NeedsArchive(query, lambda _, archived: pending.build(archived))


def _find_period(
    tx: Tx,
    page: RecordPage,
    first: Moment,
    end: Moment | None,
    request: PageRequest,
    *,
    ascending: bool,
) -> tuple[Moment, Moment] | None:
    """The period whose archived records may belong to a page; None if there cannot be any."""
    if tx.context.archive is None:
        return None
    last = ALL_TIME[1] if end is None else end
    after = None if request.after is None else int(request.after[0])
    if after is not None and ascending:
        first = max(first, after)
    elif after is not None:
        last = min(last, after + 1)
    is_full = page.last_key is not None and page.oldest is not None
    # What is older than the records of a full page is on a later one.
    if is_full and not ascending and page.oldest >= archivable_before(tx.now):  # type: ignore[operator]
        return None
    return (first, last) if first < min(last, archivable_before(tx.now)) else None


@dataclass(frozen=True, slots=True)
class _PendingPage:
    """The rows of the tables, which archived records are added to."""

    device_number: int
    rows: Sequence[tuple[str, Moment, int]]
    limit: int
    after: tuple[Moment, int] | None
    ascending: bool
    begins: Mapping[int, Moment]  # of stays

    def build(self, archived: ArchivedRange) -> RecordPage:
        ascending, limit, after = self.ascending, self.limit, self.after
        ends: list[tuple[Moment, int]] = []
        by_seq = {(ts, seq): body for body, ts, seq in self.rows}
        if len(self.rows) > limit:
            ends.append(sorted(by_seq, reverse=not ascending)[limit])
        for each in archived.records:
            if each.ts < self.begins[each.stay]:
                continue
            by_seq.setdefault((each.ts, each.seq), each.body)
        if not archived.is_complete:
            ends.append((archived.last_ts, ALL_TIME[1 if ascending else 0]))
        sign = 1 if ascending else -1
        keys = sorted(_first_of_same(by_seq), reverse=not ascending)
        end = None
        if ends:
            end = min(ends) if ascending else max(ends)
            keys = [key for key in keys if sign * _compare(key, end) <= 0]
        if after is not None:
            keys = [key for key in keys if sign * _compare(key, after) > 0]
        return _build_page(self.device_number, keys, by_seq, limit, end)


def _compare(one: tuple[Moment, int], other: tuple[Moment, int]) -> int:
    return (one > other) - (one < other)


def _first_of_same(by_seq: dict[tuple[Moment, int], str]) -> list[tuple[Moment, int]]:
    """Of equal records the one that arrived first; one may have come again after it was moved."""
    first: dict[tuple[Moment, str], tuple[Moment, int]] = {}
    for key in sorted(by_seq):
        first.setdefault((key[0], by_seq[key]), key)
    return list(first.values())


def _build_page(
    device_number: int,
    keys: Sequence[tuple[Moment, int]],
    by_seq: dict[tuple[Moment, int], str],
    limit: int,
    end: tuple[Moment, int] | None,
) -> RecordPage:
    """`end` is how far was read; None if there is no more."""
    taken = list(keys[:limit])
    size = 0
    for index, key in enumerate(taken):
        size += len(by_seq[key])
        if size > PAGE_CHARACTERS_MAX and index:
            taken = taken[:index]
            break
    if not taken:  # although there may be more, behind some that were deleted
        return RecordPage(device_number, "", None, end)
    text = ",".join(by_seq[key] for key in taken)
    shown = keys[: len(taken) + 1]
    oldest = min(shown[0][0], shown[-1][0])
    is_last = len(taken) == len(keys) and end is None
    return RecordPage(device_number, text, oldest, None if is_last else taken[-1])
