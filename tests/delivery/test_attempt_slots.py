"""Slots are shared among owners, whatever one of them wants."""

from longwire.delivery.engine.turns import LATE_S, SLOTS_MIN, AttemptSlots
from longwire.work.turns import CallerKey


def of(owner: str, group: str | None = None) -> CallerKey:
    return CallerKey(owner, group or owner)


def take_all(slots: AttemptSlots[str], *owners: str) -> dict[str, int]:
    """What each gets if all take in turn until nobody may."""
    taken = dict.fromkeys(owners, 0)
    is_any = True
    while is_any:
        is_any = False
        for owner in owners:
            if slots.take(of(owner)):
                taken[owner] += 1
                is_any = True
    return taken


def test_a_greedy_owner_leaves_half_and_the_next_one_gets_a_share() -> None:
    slots = AttemptSlots[str](100)
    assert take_all(slots, "greedy") == {"greedy": 50}
    assert slots.take(of("honest"))
    assert take_all(slots, "second")["second"] >= 20
    assert slots.take(of("honest"))


def test_many_greedy_owners_get_the_same() -> None:
    taken = take_all(AttemptSlots(100), *"abcdefghi")
    assert set(taken.values()) == {10}


def test_who_waits_is_served_in_turn_owner_by_owner() -> None:
    slots = AttemptSlots[str](4)
    for _ in range(2):
        assert slots.take(of("busy"))
    for waiter in ("busy 1", "busy 2", "busy 3"):
        slots.wait(of("busy"), waiter)
    assert slots.pop_next() is None
    for waiter in ("calm 1", "calm 2"):
        slots.wait(of("calm"), waiter)
    assert slots.pop_next() == "calm 1"
    slots.release(of("busy"))
    assert [slots.pop_next() for _ in range(4)] == ["busy 1", "calm 2", "busy 2", "busy 3"]
    assert slots.pop_next() is None
    assert not slots.has_waiting


def test_the_only_slot_is_used() -> None:
    slots = AttemptSlots[str](1)
    assert slots.take(of("a"))
    assert not slots.take(of("b"))
    slots.release(of("a"))
    assert slots.take(of("b"))


def test_there_are_fewer_slots_while_the_event_loop_is_late() -> None:
    slots = AttemptSlots[str](1_000)
    assert take_all(slots, "greedy") == {"greedy": 500}
    slots.wait(of("honest"), "honest 1")
    slots.adapt(2 * LATE_S)  # 400 are left, and 500 are used
    assert not slots.take(of("honest"))
    assert slots.pop_next() is None
    for _ in range(499):
        slots.release(of("greedy"))
    for _ in range(100):
        slots.adapt(2 * LATE_S)
    assert slots.pop_next() == "honest 1"
    assert sum(take_all(slots, *"abcdefghi").values()) in range(SLOTS_MIN // 2, SLOTS_MIN)
    for _ in range(100):
        slots.adapt(0.0)
    slots.wait(of("honest"), "honest 2")
    assert slots.pop_next() == "honest 2"
    assert take_all(slots, "greedy")["greedy"] > 400


def test_a_late_event_loop_adds_no_slots() -> None:
    slots = AttemptSlots[str](4)
    slots.adapt(10.0)
    assert sum(take_all(slots, *"abcdefghi").values()) <= 4


def test_an_owner_with_many_groups_has_no_more_than_one_with_a_single_one() -> None:
    slots = AttemptSlots[str](100)
    while any(slots.take(of("many", f"group {number}")) for number in range(24)):
        pass
    for number in range(24):
        slots.wait(of("many", f"group {number}"), f"many {number}")
    slots.wait(of("one"), "one")
    assert slots.pop_next() == "one"
    assert slots.pop_next() is None
    slots.release(of("many", "group 3"))
    assert [slots.pop_next() for _ in range(2)] == ["many 0", "many 1"]
