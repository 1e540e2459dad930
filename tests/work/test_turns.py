"""Turns on two levels: nobody waits longer because somebody else has many callers."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.work.budgets import BudgetRefusal, SharedBudget, has_room
from longwire.work.fair_queue import FairQueue
from longwire.work.turns import SERVICE, CallerKey, OwnerPresence, Turns

OWNERS = st.integers(0, 4)
KEYS = st.builds(lambda owner, app: CallerKey(f"owner {owner}", f"app {app}"), OWNERS, OWNERS)


@given(st.lists(KEYS, max_size=60), st.lists(st.one_of(KEYS, st.none()), max_size=120))
def test_with_so_many_owners_waiting_each_is_served_within_so_many_turns(
    first: list[CallerKey], then: list[CallerKey | None]
) -> None:
    """Whatever comes meanwhile: owners among all, callers among those of their owner."""
    turns: Turns[int] = Turns()
    waiting: Counter[CallerKey] = Counter()
    owners_ahead: dict[str, int] = {}
    callers_ahead: dict[CallerKey, int] = {}

    def put(key: CallerKey) -> None:
        turns.put(key, 0)
        waiting[key] += 1
        waiting_owners = {each.owner for each in waiting}
        owners_ahead.setdefault(key.owner, len(waiting_owners))
        callers_ahead.setdefault(key, sum(each.owner == key.owner for each in waiting))

    def take() -> None:
        found = turns.take()
        assert (found is None) == (not waiting)
        if found is None:
            return
        served = found[0]
        waiting[served] -= 1
        if not waiting[served]:
            del waiting[served]
        for owner in owners_ahead:
            owners_ahead[owner] -= 1
            assert owners_ahead[owner] >= 0, "an owner waited for more turns than owners waited"
        for key in callers_ahead:
            if key.owner == served.owner:
                callers_ahead[key] -= 1
                assert callers_ahead[key] >= 0, "a caller waited for more than the others had"
        del owners_ahead[served.owner], callers_ahead[served]
        if any(each.owner == served.owner for each in waiting):
            owners_ahead[served.owner] = len({each.owner for each in waiting})
        if served in waiting:
            callers_ahead[served] = sum(each.owner == served.owner for each in waiting)

    for key in first:
        put(key)
    for step in then:
        if step is None:
            take()
        else:
            put(step)
    while waiting:
        take()
    assert len(turns) == 0
    assert turns.take() is None


def test_what_may_not_be_taken_keeps_its_turn() -> None:
    turns: Turns[int] = Turns()
    large, small = CallerKey("a", "a"), CallerKey("b", "b")
    for key, size in ((large, 9), (small, 1), (small, 2)):
        turns.put(key, size)
    assert turns.take(lambda key, size: size < 5) == (small, 1)
    assert turns.take() == (large, 9)
    assert turns.take(may_serve=lambda owner: owner != "b") is None
    assert (turns.count(small), turns.count_of_owner("b"), turns.count(large)) == (1, 1, 0)
    assert turns.take_all() == [(small, 2)]


def test_an_owner_leaves_threads_to_others_however_many_callers_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting: FairQueue[int] = FairQueue(1, 2)
    apps = [CallerKey("greedy", f"app {number}") for number in range(24)]
    for app in apps:
        waiting.put(app, 0)
    first = [waiting.get(0) for _ in range(2)]
    assert [key for key, _ in filter(None, first)] == apps[:2], "while it is alone, it has all"
    waiting.put(CallerKey.alone("honest"), 1)
    for app in apps[:2]:
        waiting.release(app)
    taken = [found for _ in range(2) if (found := waiting.get(0)) is not None]
    assert {key.owner for key, _ in taken} == {"greedy", "honest"}
    waiting.release(CallerKey.alone("honest"))
    waiting.put(SERVICE, 2)
    assert waiting.get(0) == (SERVICE, 2)


def test_one_caller_never_has_all_threads() -> None:
    waiting: FairQueue[int] = FairQueue(1, 2)
    app, user = CallerKey("ada", "app"), CallerKey("ada", "user")
    for key in (app, app, user):
        waiting.put(key, 0)
    assert waiting.get(0) == (app, 0)
    assert waiting.get(0) == (user, 0)


def test_who_has_been_alone_for_a_while_is_until_somebody_else_comes() -> None:
    now = 0.0
    presence = OwnerPresence(10.0, lambda: now)
    assert presence.is_single
    for owner in ("ada", SERVICE.owner, "ada"):
        presence.note(owner)
    assert presence.is_single
    presence.note("bob")
    assert not presence.is_single
    now = 9.0
    presence.note("bob")
    assert not presence.is_single
    now = 10.0
    assert presence.is_single


@given(st.lists(st.tuples(OWNERS, st.integers(1, 40)), max_size=60))
def test_whoever_has_nothing_gets_something_however_much_the_others_have(
    wanted: list[tuple[int, int]],
) -> None:
    budget = SharedBudget(100, 60, little=2)
    has: Counter[str] = Counter()
    for number, amount in wanted:
        owner = f"owner {number}"
        refusal = budget.take(owner, amount)
        if refusal is None:
            has[owner] += amount
        elif refusal is BudgetRefusal.OWNER:
            assert has[owner] + amount > 60
        assert budget.used == has.total() <= 100
    if budget.used <= 98 and sum(amount > 2 for amount in has.values()) <= 1:
        assert budget.take("somebody who has nothing", 2) is None
        budget.release("somebody who has nothing", 2)
    for owner, amount in has.items():
        budget.release(owner, amount)
    assert budget.used == 0


def test_the_last_quarter_is_for_those_who_have_little() -> None:
    assert has_room(8, used=5, mine=5)
    assert not has_room(8, used=6, mine=6)
    assert has_room(8, used=6, mine=0)
    assert not has_room(8, used=8, mine=0)
    assert has_room(3, used=2, mine=2), "a quarter of so few is none"
