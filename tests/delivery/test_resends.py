"""Many resends at once: they take turns, in transactions of a bounded size."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from longwire.delivery import resends
from longwire.delivery.engine import engine
from longwire.delivery.resends import Resender, ResendTurn
from longwire.store.database import Tx
from longwire.store.delivery import dead_letters
from longwire.store.records.arrival_numbers import BEFORE_ANY_ARRIVAL
from longwire.store.statement import Statement
from tests.delivery.receiver import Receiver
from tests.delivery.test_engine import ONCE, Line
from tests.world import World


class Passes:
    """Passes over the resends of a world whose engine makes none, and their transactions."""

    def __init__(self, world: World, per_s: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.resender = Resender(world.database, per_s)
        self.steps: list[list[int]] = []
        self.looked_for: list[int] = []
        run_turns, find_first = resends.run_turns, dead_letters.find_first

        def record_step(turns: Sequence[ResendTurn], tx: Tx) -> list[int]:
            counts = run_turns(turns, tx)
            self.steps.append(counts)
            return counts

        def record_search(tx: Tx, number: int, before: int, first_seq: int) -> int | None:
            self.looked_for.append(first_seq)
            return find_first(tx, number, before, first_seq)

        monkeypatch.setattr(resends, "run_turns", record_step)
        monkeypatch.setattr(dead_letters, "find_first", record_search)

    def run(self) -> list[list[int]]:
        """One pass; how many messages of each resend its transactions have queued."""
        self.steps.clear()
        self.looked_for.clear()
        self.world._run(self.resender.advance(lambda numbers: None))
        return list(self.steps)


@pytest.fixture
def idle_world(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> World:
    """Whose engine does not advance resends."""
    monkeypatch.setattr(engine, "MAINTENANCE_INTERVAL_S", 3_600)
    return make_world()


def begin_resends(world: World, receiver: Receiver, *counts: int) -> list[Line]:
    """Connectors with so many dead letters each, which are disabled and resend them."""
    ada = world.person("ada")
    lines = [Line(ada, receiver.url, retryPolicy=ONCE) for _ in counts]
    for line, count in zip(lines, counts, strict=True):
        line.reports(count)
    for line, count in zip(lines, counts, strict=True):
        line.settles(failed=count)
        line.change(enabled=False)
        line.resend()
    return lines


def stats(lines: Sequence[Line]) -> list[tuple[int, int, int]]:
    return [line.stats() for line in lines]


def test_resends_of_many_connectors_share_transactions(
    idle_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resends, "DELIVERIES_PER_STEP_MAX", 5)
    monkeypatch.setattr(resends, "RESENDS_PER_STEP_MAX", 3)
    passes = Passes(idle_world, 3, monkeypatch)
    with Receiver(500) as receiver:
        lines = begin_resends(idle_world, receiver, 7, 4, 1, 1, 1, 1)
        assert passes.run() == [[3, 2], [1, 1, 1], [1, 1]], "the rest of a turn comes last"
        assert stats(lines) == [(3, 0, 4), (3, 0, 1), *[(1, 0, 0)] * 4], "3 of each in a second"
        assert passes.run() == [[3, 1]]
        assert passes.run() == [[1]]
        assert stats(lines) == [(7, 0, 0), (4, 0, 0), *[(1, 0, 0)] * 4]
        receiver.respond_with(200)
        for line in lines:
            line.change(enabled=True)
        for line, count in zip(lines, (7, 4, 1, 1, 1, 1), strict=True):
            line.settles(succeed=count)
        assert passes.run() == [[0, 0, 0], [0, 0, 0]], "they end"
        assert not any(line.kept["resending"] for line in lines)
        assert passes.run() == []


def test_a_resend_of_more_than_a_transaction_may_queue_lets_the_others_have_their_turns(
    idle_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resends, "DELIVERIES_PER_STEP_MAX", 4)
    passes = Passes(idle_world, 10, monkeypatch)
    with Receiver(500) as receiver:
        lines = begin_resends(idle_world, receiver, 11, 9)
        assert passes.run() == [[4], [4], [4], [4], [2, 1]]
        assert stats(lines) == [(10, 0, 1), (9, 0, 0)]


def test_a_resend_with_nothing_to_queue_writes_nothing_and_looks_at_no_dead_letter(
    idle_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = Passes(idle_world, 2, monkeypatch)
    with Receiver(500) as receiver:
        (line,) = begin_resends(idle_world, receiver, 3)
        seqs = sorted(idle_world.read(_list_dead_letters))
        assert passes.run() == [[2]]
        assert passes.run() == [[1]]
        assert passes.looked_for == [seqs[0]], "what is before was queued"
        assert passes.run() == []
        assert passes.looked_for == [seqs[2]]
        assert (passes.run(), passes.looked_for) == ([], [])
        # They fail once more: that is for another resend, and this one looks at all of them once.
        line.change(enabled=True)
        line.settles(failed=3)
        assert line.kept["resending"] is True
        assert passes.run() == [[0]]
        assert passes.looked_for == [BEFORE_ANY_ARRIVAL]
        assert line.kept["resending"] is False
        line.resend()
        assert passes.run() == [[2]], "and the next one begins from the first"


def _list_dead_letters(tx: Tx) -> list[int]:
    found: list[Any] = tx.fetch(Statement("select seq from delivery where state = 3"))
    return [row[0] for row in found]
