"""Leases: one process at a time, whoever is suspended, dies or is late, on both databases."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from longwire.clock import SECOND, Clock, Moment
from longwire.errors import OutcomeUnknown, Unavailable
from longwire.ids import new_id
from longwire.process.startup import build_database
from longwire.settings import Settings
from longwire.store.database import Database
from longwire.store.leases import NAMED_LEASES, StoredLeases, open_named_leases
from longwire.work.leases import HeldLeases, UnsharedLeases
from tests.state_machines import run_on_database

LASTS_S = 10.0
PROCESSES = st.integers(0, 2)


class ManualClock(Clock):
    """A clock that only moves when it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.moment: Moment = 1_800_000_000 * SECOND

    def now(self) -> Moment:
        return self.moment


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def database(settings: Settings, clock: ManualClock) -> Iterator[Database]:
    made, _ = build_database(settings, clock)
    made.start()
    yield made
    made.close()


class LeaseMachine(RuleBasedStateMachine):
    """Three processes and one lease; what is known of it is compared with what each one gets.

    A process that is suspended does not notice that time passes, so it goes on with what it holds.
    """

    database: Database
    runner: asyncio.Runner
    clock: ManualClock

    @initialize()
    def begin(self) -> None:
        self.name = new_id("lease")  # of this history alone
        self.now_s = 0.0
        self.processes = [self.start() for _ in range(3)]
        self.holder: int | None = None  # whose token is stored, whether or not it has expired
        self.expires_at: Moment = 0
        self.tokens: set[int] = set()

    def start(self) -> HeldLeases[str]:
        stored = StoredLeases(self.database, NAMED_LEASES)
        return HeldLeases(stored, self.clock, LASTS_S, monotonic_s=lambda: self.now_s)

    @property
    def is_free(self) -> bool:
        return self.expires_at <= self.clock.moment

    def note_renewed(self, process: int) -> None:
        self.holder = process
        self.expires_at = self.clock.moment + int(LASTS_S * SECOND)

    @rule(seconds=st.sampled_from([0.5, 3.0, LASTS_S - 0.5, LASTS_S, 60.0]))
    def time_passes(self, seconds: float) -> None:
        self.now_s += seconds
        self.clock.moment += int(seconds * SECOND)

    @rule(seconds=st.sampled_from([-30.0, 30.0]))
    def the_clock_is_set(self, seconds: float) -> None:
        self.clock.moment += int(seconds * SECOND)

    @rule(process=PROCESSES)
    def claims(self, process: int) -> None:
        token = self.runner.run(self.processes[process].claim(self.name))
        assert (token is not None) == self.is_free
        if token is not None:
            assert token not in self.tokens
            self.tokens.add(token)
            self.note_renewed(process)

    @rule(process=PROCESSES)
    def renews(self, process: int) -> None:
        held = self.processes[process]
        if self.name not in held.tokens:
            return
        lost = self.runner.run(held.renew([self.name]))
        assert list(lost) == ([] if process == self.holder else [self.name])
        assert (self.name in held.tokens) == (process == self.holder)
        if not lost:
            self.note_renewed(process)

    @rule(process=PROCESSES)
    def looks_what_is_lost(self, process: int) -> None:
        held = self.processes[process]
        had = self.name in held.tokens
        lost = self.runner.run(held.find_lost())
        assert list(lost) == ([self.name] if had and process != self.holder else [])

    @rule(process=PROCESSES)
    def releases(self, process: int) -> None:
        held = self.processes[process]
        is_mine = self.name in held.tokens and process == self.holder
        self.runner.run(held.release_all())
        assert not held.tokens
        if is_mine:
            self.expires_at = 0

    @rule(process=PROCESSES)
    def dies(self, process: int) -> None:
        self.processes[process] = self.start()
        if self.holder == process:
            self.holder = None

    @rule(process=PROCESSES)
    def asks_how_long_it_lasts(self, process: int) -> None:
        """Never longer than others wait before they take over."""
        left_s = self.processes[process].get_left_s(self.name)
        assert left_s <= LASTS_S
        if process == self.holder and self.name in self.processes[process].tokens:
            assert left_s <= max(0.0, (self.expires_at - self.clock.moment) / SECOND)


def test_a_lease_has_one_holder_and_who_is_late_changes_nothing(
    database: Database, clock: ManualClock
) -> None:
    with asyncio.Runner() as runner:
        run_on_database(LeaseMachine, database, runner, clock=clock, examples=40, steps=25)


class FailingLeases(UnsharedLeases[str]):
    """A database that is not available any more."""

    async def renew(self, *_: object) -> list[str]:
        raise Unavailable("gone")


@pytest.mark.engine_free
def test_a_lease_that_cannot_be_renewed_is_given_up_before_it_expires() -> None:
    asyncio.run(give_up())


async def give_up() -> None:
    now_s = 0.0
    held = HeldLeases(FailingLeases(), ManualClock(), 0.05, monotonic_s=lambda: now_s)
    assert await held.hold("x")
    keeping = asyncio.create_task(held.keep("x", 0.01))
    now_s = 0.03
    done, _ = await asyncio.wait([keeping], timeout=0.05)
    assert not done, "there is time for another attempt"
    now_s = 0.045
    async with asyncio.timeout(60):
        await keeping
    assert 0 < held.get_left_s("x") < 0.01


class UncertainLeases(StoredLeases):
    """Claims whose commit is not confirmed."""

    async def claim(self, key: str, token: int, until: Moment) -> bool:
        await super().claim(key, token, until)
        raise OutcomeUnknown("lost")


def test_a_claim_that_was_not_confirmed_is_not_in_the_way_of_its_process(
    database: Database, clock: ManualClock
) -> None:
    async def claim() -> None:
        held = HeldLeases(UncertainLeases(database, NAMED_LEASES), clock, LASTS_S)
        with pytest.raises(OutcomeUnknown):
            await held.hold("x")
        assert await held.hold("x")
        other = HeldLeases(StoredLeases(database, NAMED_LEASES), clock, LASTS_S)
        assert not await other.hold("x")
        await held.release_all()
        assert await other.hold("x")

    asyncio.run(claim())


def test_only_what_others_may_claim_is_stored(database: Database) -> None:
    """An embedded database has one process, which need not write every five seconds."""
    stored = open_named_leases(database)
    assert isinstance(stored, UnsharedLeases) == (database.engine_name == "sqlite")
