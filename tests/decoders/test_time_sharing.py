"""Slots that groups share: nobody waits for more than their share."""

from collections import Counter

from longwire.decoders.time_sharing import GROUPS_MAX, SLOW_S, TimeSharingQueue


def run(queue, costs, steps):
    """Start and finish work; what each group got, as a number and in seconds."""
    started = Counter()
    for _ in range(steps):
        found = queue.next()
        if found is None:
            break
        share, _ = found
        started[share.group] += 1
        queue.finish(share, costs[share.group])
    return started


def test_groups_get_equal_time_however_much_they_queue():
    queue = TimeSharingQueue(1)
    costs = {"greedy": 0.004, "modest": 0.001}
    for _ in range(1_000):
        queue.add(queue.share("greedy"), object())
    for _ in range(100):
        queue.add(queue.share("modest"), object())
    started = run(queue, costs, 125)
    assert started["modest"] in range(99, 101)
    assert started["greedy"] in range(24, 28)


def test_who_was_idle_has_saved_nothing():
    queue = TimeSharingQueue(1)
    for _ in range(300):
        queue.add(queue.share("busy"), object())
    assert run(queue, {"busy": 0.001}, 100) == {"busy": 100}
    for _ in range(100):
        queue.add(queue.share("late"), object())
    started = run(queue, {"busy": 0.001, "late": 0.001}, 100)
    assert started["late"] in range(49, 52)


def test_slow_groups_leave_one_slot_to_the_others():
    queue = TimeSharingQueue(2)
    slow, other = queue.share("slow"), queue.share("other slow")
    for share in (slow, other):
        assert queue.start(share)
        queue.finish(share, 50 * SLOW_S)
    assert queue.start(slow)
    assert not queue.start(other), "the last slot is for others"
    queue.add(other, "later")
    assert queue.next() is None
    quick = queue.share("quick")
    queue.add(quick, "now")
    assert queue.next() == (quick, "now")
    queue.finish(slow, 0.0)
    assert queue.next() == (other, "later")


def test_a_group_may_be_limited_to_some_slots_and_may_give_up():
    queue = TimeSharingQueue(2, slots_per_group=1)
    one, two = queue.share("one"), queue.share("two")
    assert queue.start(one)
    queue.add(one, "second")
    queue.add(two, "first")
    assert queue.next() == (two, "first")
    queue.remove(one, "second")
    queue.remove(one, "second")
    queue.finish(one, 0.0)
    assert queue.next() is None
    assert queue.start(one)


def test_old_groups_are_forgotten_unless_they_wait():
    queue = TimeSharingQueue(1)
    queue.add(queue.share("waiting"), "work")
    for number in range(GROUPS_MAX + 10):
        queue.share(str(number))
    assert len(queue._shares) <= GROUPS_MAX
    assert queue.next() is not None
