"""The queue of ingest: senders take turns, whatever one of them sends."""

from longwire.ingest.queue import IngestQueue, RecordBudget


def taken(queue: IngestQueue[str], most: int) -> list[str]:
    batch = queue.take(most)
    queue.release(batch)
    return [request for _, request in batch]


def test_a_single_record_does_not_wait_behind_somebody_elses_batches() -> None:
    queue: IngestQueue[str] = IngestQueue(RecordBudget(1_000), size_of=len)
    for _ in range(4):
        assert queue.put("greedy", "x" * 90)
    assert queue.put("honest", "a")
    assert queue.put("other", "b")
    assert taken(queue, 100) == ["x" * 90, "a", "b"]
    assert queue.put("honest", "c")
    assert taken(queue, 100) == ["x" * 90, "c"]
    assert taken(queue, 100) == ["x" * 90]


def test_a_batch_that_does_not_fit_is_the_first_of_the_next_commit() -> None:
    queue: IngestQueue[str] = IngestQueue(RecordBudget(1_000), size_of=len)
    for sender, request in (("one", "a"), ("large", "x" * 300), ("two", "b"), ("one", "c")):
        assert queue.put(sender, request)
    assert taken(queue, 100) == ["a", "b", "c"]
    assert queue.put("one", "d")
    assert taken(queue, 100) == ["x" * 300]
    assert taken(queue, 100) == ["d"]
    assert not queue
    assert queue.records == 0


def test_one_sender_fills_half_of_the_queue_and_leaves_the_rest_to_others() -> None:
    queue: IngestQueue[str] = IngestQueue(RecordBudget(10), size_of=len)
    assert queue.put("greedy", "x" * 8)  # what fits at all is accepted when nothing else waits
    assert not queue.put("greedy", "x")
    assert queue.put("honest", "a")
    assert not queue.put("honest", "bc"), "the queue as a whole is full"
    queue.release(queue.take(100))
    assert queue.records == 0
    assert [queue.put("greedy", "x") for _ in range(6)] == [True] * 5 + [False]
    assert queue.put("honest", "abcde")
    assert len(queue.take_all()) == 6


def test_however_many_send_large_batches_there_is_room_for_a_single_record() -> None:
    queue: IngestQueue[str] = IngestQueue(RecordBudget(10_000), size_of=len)
    accepted = [queue.put(f"greedy {number}", "x" * 1_500) for number in range(10)]
    assert accepted == [True] * 6 + [False] * 4
    assert queue.put("honest", "a")
    assert queue.put("honest", "b" * 99)
    assert not queue.put("honest", "c"), "only a few records of each are let in then"
