"""The queue of ingest: owners take turns, whatever one of them sends, and records go first."""

from longwire.ingest.queue import ALONE_AFTER_S, COMMIT_S, IngestQueue, RecordBudget
from longwire.work.turns import CallerKey

GREEDY, HONEST, OTHER = (CallerKey(name, name) for name in ("greedy", "honest", "other"))


class Seconds:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def queue_of(records_max: int, seconds: Seconds | None = None) -> IngestQueue[str]:
    budget = RecordBudget(records_max, seconds or Seconds())
    return IngestQueue(budget, size_of=len)


def taken(queue: IngestQueue[str], most: int, *, takes_batches: bool = True) -> list[str]:
    batch = queue.take(most, takes_batches=takes_batches)
    queue.note_committed(batch)
    queue.release(batch)
    return [request for _, request in batch]


def slow(queue: IngestQueue[str]) -> None:
    """Have it find that a record takes a millisecond, so that a commit has few."""
    for _ in range(100):
        queue.note_duration(1_000, 1.0)


def test_a_single_record_does_not_wait_behind_somebody_elses_batches() -> None:
    queue = queue_of(1_000)
    for _ in range(4):
        assert queue.put(GREEDY, "x" * 90)
    assert queue.put(HONEST, "a")
    assert queue.put(OTHER, "b")
    assert taken(queue, 100) == ["a", "b"]
    assert queue.put(HONEST, "c")
    assert taken(queue, 100) == ["x" * 90], "a batch waits for one commit of others"
    assert taken(queue, 100) == ["c"]
    assert taken(queue, 100) == ["x" * 90]
    assert taken(queue, 100) == ["x" * 90]


def test_who_is_alone_has_records_and_batches_in_one_commit() -> None:
    queue = queue_of(1_000)
    for request in ("x" * 90, "a", "x" * 300):
        assert queue.put(GREEDY, request)
    assert taken(queue, 100) == ["a", "x" * 90]
    assert queue.put(GREEDY, "b")
    assert taken(queue, 100) == ["x" * 300], "what does not fit is the first of the next commit"
    assert taken(queue, 100) == ["b"]
    assert not queue
    assert queue.records == 0


def test_owners_are_served_alike_however_many_callers_one_has() -> None:
    queue = queue_of(1_000)
    for number in range(24):
        assert queue.put(CallerKey("greedy", f"app {number}"), f"g{number}")
    for name in ("honest", "other"):
        assert queue.put(CallerKey(name, name), name[:5])
    assert taken(queue, 12) == ["g0", "hones", "other"]


def test_a_commit_takes_no_longer_than_others_should_wait() -> None:
    queue = queue_of(10_000)
    slow(queue)
    for number in range(500):
        assert queue.put(GREEDY if number % 2 else HONEST, "r")
    assert len(taken(queue, 1_000)) == 50, "the least that is worth a commit"
    for _ in range(200):
        queue.note_duration(1_000, 0.1)
    assert len(taken(queue, 1_000)) in range(int(COMMIT_S / 0.0001) - 2, int(COMMIT_S / 0.0001) + 2)


def test_a_long_batch_is_followed_by_no_other_for_as_long_as_it_took() -> None:
    seconds = Seconds()
    queue = queue_of(10_000, seconds)
    assert queue.put(HONEST, "a")
    assert taken(queue, 1_000) == ["a"]
    for _ in range(2):
        assert queue.put(GREEDY, "x" * 2_000)
    batch = queue.take(1_000)
    assert [request for _, request in batch] == ["x" * 2_000]
    seconds.now += 0.3
    queue.note_committed(batch)
    queue.release(batch)
    assert 0.29 < queue.get_delay_s() < 0.31
    assert taken(queue, 1_000) == []
    assert queue.put(HONEST, "b")
    assert queue.get_delay_s() == 0
    assert taken(queue, 1_000) == ["b"]
    seconds.now += 0.31
    assert queue.get_delay_s() == 0
    assert taken(queue, 1_000) == ["x" * 2_000]


def test_who_is_alone_does_not_wait_for_nobody() -> None:
    seconds = Seconds()
    queue = queue_of(10_000, seconds)
    assert queue.put(HONEST, "a")
    assert taken(queue, 1_000) == ["a"]
    for _ in range(2):
        assert queue.put(GREEDY, "x" * 2_000)
    seconds.now += ALONE_AFTER_S
    for _ in range(2):
        assert queue.get_delay_s() == 0
        batch = queue.take(1_000)
        seconds.now += 0.3
        queue.note_committed(batch)
        queue.release(batch)
        assert len(batch) == 1


def test_a_batch_is_not_in_a_commit_that_others_wait_for() -> None:
    queue = queue_of(1_000)
    assert queue.put(GREEDY, "x" * 90)
    assert queue.put(HONEST, "a")
    assert taken(queue, 100, takes_batches=False) == ["a"]
    assert taken(queue, 100, takes_batches=False) == []
    assert taken(queue, 100) == ["x" * 90]


def test_one_owner_fills_half_of_the_queue_and_leaves_the_rest_to_others() -> None:
    queue = queue_of(1_000)
    assert queue.put(GREEDY, "x" * 800)  # what fits at all is accepted when nothing else waits
    assert not queue.put(GREEDY, "x")
    assert queue.put(HONEST, "a" * 100)
    assert not queue.put(HONEST, "b" * 101), "the queue as a whole is full"
    queue.release(queue.take(1_000) + queue.take(1_000))
    assert queue.records == 0
    accepted = [queue.put(CallerKey("greedy", f"app {n}"), "x" * 100) for n in range(6)]
    assert accepted == [True] * 5 + [False]
    assert queue.put(HONEST, "abcde")
    assert len(queue.take_all()) == 6


def test_however_many_send_large_batches_there_is_room_for_a_single_record() -> None:
    queue = queue_of(10_000)
    accepted = [queue.put(CallerKey.alone(f"greedy {number}"), "x" * 1_500) for number in range(10)]
    assert accepted == [True] * 5 + [False] * 5, "the last quarter is for those with few records"
    assert queue.put(HONEST, "a")
    assert queue.put(HONEST, "b" * 99)
    assert not queue.put(HONEST, "c"), "only a few records of each are let in then"
