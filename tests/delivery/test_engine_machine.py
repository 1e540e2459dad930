"""A stateful test: after any sequence of operations, the delivery rows equal those of a model.

No network and no event loop of the engine's: what it does on an open transaction is called here as
it calls it, on a real database, with a clock that moves only when a rule moves it. Beside it runs a
model, which is a dictionary and the rules in their plainest form.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import pytest
import sqlalchemy as sa
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from longwire import metrics
from longwire.clock import DAY, SECOND, Clock, Moment
from longwire.delivery import resends, retry_policy
from longwire.delivery.connectors import delivery_commands
from longwire.delivery.destinations.base import Delivered, Refused, Unreachable
from longwire.delivery.engine import claiming, engine, worker
from longwire.delivery.engine.worker import RELEASED, AttemptRecord, LeasedDelivery, Released
from longwire.errors import Conflict, NotFound
from longwire.identity import groups, tokens
from longwire.ids import format_delivery_id
from longwire.model import SYSTEM, Actor, Channel, ChannelPurpose
from longwire.process.startup import build_database, prepare
from longwire.settings import Settings
from longwire.store import schema
from longwire.store.database import Database, Tx
from longwire.store.delivery import backlogs as store_backlogs
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import dead_letters as store_dead_letters
from longwire.store.delivery import deliveries as store
from longwire.store.delivery import delivery_history, delivery_leases
from longwire.store.delivery.delivery_states import DeliveryState
from longwire.store.statement import Statement
from longwire.work.leases import Lease
from tests.state_machines import run_on_database
from tests.world import ONE_SLOT

T = TypeVar("T")

WRITER = 7
BEGIN: Moment = 1_800_000_000 * SECOND
KEEP = 3 * DAY
OUTCOMES: tuple[Any, ...] = (
    Delivered(),
    Refused("answered with status 500"),
    Refused("answered with status 429", retry_after_s=100),
    Refused("the message could not be formatted", is_final=True),
    Refused("answered with status 410, gone", is_final=True, disables=True),
    Unreachable("connection refused"),
    Unreachable("not allowed there", is_final=True),
    RELEASED,
)
# (delay in seconds, retries, kept for so many seconds)
POLICIES = ((10, 3, 3_600), (None, None, 0), (60, 0, 2 * 86_400), (5, 1, 86_400))


class FrozenClock(Clock):
    """A clock that stands at what it was set to."""

    at: Moment = 0

    def now(self) -> Moment:
        return self.at

    def follow(self, authority: Moment) -> None:
        """The test decides what time it is."""


@dataclass(slots=True)
class Expected:
    """The expected state of a delivery."""

    channel: int
    seq: int
    created_at: Moment
    due_at: tuple[Moment, Moment]  # between
    changed_at: Moment
    state: int = DeliveryState.QUEUED
    generation: int = 0
    attempts: int = 0
    first_end: int | None = None
    token: int | None = None
    lease_until: Moment = 0
    has_body: bool = True
    stored_until: Moment | None = None
    resent_before: Moment | None = None

    def end(self, state: int, at: Moment, *, has_body: bool = False) -> None:
        self.state, self.changed_at, self.has_body, self.token = state, at, has_body, None
        if self.first_end is None:
            self.first_end = state

    def requeue(self, at: Moment) -> None:
        """Requeue, in a new generation."""
        assert self.state >= DeliveryState.SUCCEEDED
        self.state, self.attempts, self.stored_until = DeliveryState.QUEUED, 0, None
        self.generation += 1
        self.due_at, self.changed_at = (at, at), at

    def is_kept(self, now: Moment) -> bool:
        until = self.stored_until
        return (
            self.state == DeliveryState.FAILED
            and self.has_body
            and until is not None
            and until > now
        )


@dataclass(slots=True)
class ExpectedChannel:
    channel: Channel
    failures: int = 0
    error: str | None = None
    resend_before: Moment | None = None
    is_deleted: bool = False

    @property
    def is_active(self) -> bool:
        return self.channel.is_enabled and not self.is_deleted


@dataclass(slots=True)
class Model:
    channels: dict[int, ExpectedChannel] = field(default_factory=dict)
    deliveries: dict[tuple[int, int], Expected] = field(default_factory=dict)
    counted: Counter[str] = field(default_factory=Counter)

    def of(self, number: int) -> list[Expected]:
        return [each for each in self.deliveries.values() if each.channel == number]

    def count(self, expected: Expected, end: str) -> None:
        if expected.generation == 0 and end != "tried":
            self.counted[f"connector_message_{end}"] += 1
        if expected.generation > 0 or expected.attempts > 1:
            self.counted["connector_retry_message_started"] += 1
            well = "processed" if end == "processed" else "error"
            self.counted[f"connector_retry_message_{well}"] += 1

    def settle(self, channel: Channel, expected: Expected, outcome: Any, now: Moment) -> None:
        """Settle an attempt whose lease is valid."""
        about = self.channels[expected.channel]
        if isinstance(outcome, Released):
            expected.state, expected.token, expected.changed_at = DeliveryState.QUEUED, None, now
            expected.attempts -= 1
            return
        if isinstance(outcome, Delivered):
            self.count(expected, "processed")
            expected.end(DeliveryState.SUCCEEDED, now)
            return
        about.failures += 1
        about.error = outcome.reason
        attempts_max = retry_policy.attempts_max(channel.retries_max)
        if outcome.code in claiming.SERVICE_FAILURES:
            attempts_max = max(attempts_max, claiming.SERVICE_FAILURE_ATTEMPTS_MIN)
        if outcome.is_final or expected.attempts >= attempts_max:
            self.count(expected, "error")
            expected.end(DeliveryState.FAILED, now, has_body=channel.storing_s > 0)
            expected.stored_until = now + channel.storing_s * SECOND
            if channel.storing_s == 0:  # nothing that could be sent again
                expected.end(DeliveryState.EXPIRED, now)
            return
        self.count(expected, "tried")
        expected.state, expected.token, expected.changed_at = DeliveryState.QUEUED, None, now
        if outcome.code in claiming.SERVICE_FAILURES:
            expected.due_at = (now, now)
            return
        delay_s = channel.retry_delay_s
        if delay_s is None:
            delay_s = retry_policy.DEFAULT_DELAYS_S[expected.attempts - 1]
        retry_after_s = getattr(outcome, "retry_after_s", None) or 0
        least, most = max(delay_s, retry_after_s), max(1.2 * delay_s, retry_after_s)
        expected.due_at = (now + least * SECOND, now + int(most * SECOND) + 1)


class Deliveries(RuleBasedStateMachine):
    """All operations on deliveries, in any order."""

    database: ClassVar[Database]
    clock: ClassVar[FrozenClock]
    runner: ClassVar[asyncio.Runner]
    group: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.leased: list[LeasedDelivery] = []
        self.records: dict[int, list[int]] = {}  # all that were ever enqueued for a channel
        self.seqs = itertools.count(1)
        self.tokens = itertools.count(1)
        self.clock.at = BEGIN

    def teardown(self) -> None:
        def work(tx: Tx) -> None:
            for table in (schema.delivery, schema.channel, schema.counter):
                tx.execute(sa.delete(table))

        self.write(work)

    # --- transactions ---

    @property
    def now(self) -> Moment:
        return self.clock.at

    def write(self, work: Callable[[Tx], T]) -> T:
        """Each transaction has its own timestamp."""
        self.clock.at += 1
        return self.runner.run(self.database.write(work))

    def read(self, work: Callable[[Tx], T]) -> T:
        return self.runner.run(self.database.read(work))

    @initialize()
    def make_channels(self) -> None:
        for delay_s, retries_max, storing_s in POLICIES:
            self.make_channel(delay_s, retries_max, storing_s)

    def make_channel(self, delay_s: int | None, retries_max: int | None, storing_s: int) -> None:
        channel = Channel(
            number=0,
            id=f"con_{len(self.records)}",
            group_id=self.group,
            purpose=ChannelPurpose.CONNECTOR,
            type="http",
            created_at=self.now,
            updated_at=self.now,
            created_by="",
            updated_by="",
            storing_s=storing_s,
            retry_delay_s=delay_s,
            retries_max=retries_max,
        )
        made = self.write(lambda tx: store_channels.insert(tx, channel))
        self.model.channels[made.number] = ExpectedChannel(made)
        self.records[made.number] = []

    def chosen(
        self,
        data: st.DataObject,
        suits: Callable[[ExpectedChannel], bool] = lambda about: not about.is_deleted,
    ) -> ExpectedChannel | None:
        among = [each for each in self.model.channels.values() if suits(each)]
        return data.draw(st.sampled_from(among), label="connector") if among else None

    def has_due(self, about: ExpectedChannel) -> bool:
        mine = self.model.of(about.channel.number)
        return about.is_active and any(
            each.state == DeliveryState.QUEUED and each.due_at[0] <= self.now for each in mine
        )

    # --- records come in ---

    @rule(data=st.data(), number=st.integers(1, 4))
    def records_arrive(self, data: st.DataObject, number: int) -> None:
        about = self.chosen(data, lambda about: about.is_active)
        if about is None:
            self.make_channels()
            return
        seqs = [next(self.seqs) for _ in range(number)]
        self.records[about.channel.number] += seqs

        def work(tx: Tx) -> None:
            store.insert(tx, [fresh(about.channel.number, seq) for seq in seqs])
            started = {(int(self.group), "connector_message_started"): number}
            metrics.count(tx, WRITER, started)

        self.write(work)
        self.model.counted["connector_message_started"] += number
        for seq in seqs:
            self.enter(about.channel.number, seq)

    def enter(self, number: int, seq: int) -> None:
        at = (self.now, self.now)
        self.model.deliveries[number, seq] = Expected(number, seq, self.now, at, self.now)

    @rule(data=st.data(), number=st.integers(1, 5))
    def records_are_replayed(self, data: st.DataObject, number: int) -> None:
        about = self.chosen(data)
        if about is None:
            return
        key = about.channel.number
        known = st.sampled_from(self.records[key] or [next(self.seqs)])
        seqs = sorted(set(data.draw(st.lists(known, min_size=1, max_size=number), label="records")))
        self.records[key] = sorted({*self.records[key], *seqs})
        expected = [self.model.deliveries.get((key, seq)) for seq in seqs]
        made = sum(each is None for each in expected)
        again = [
            each for each in expected if each is not None and each.state >= DeliveryState.SUCCEEDED
        ]

        def work(tx: Tx) -> tuple[int, int]:
            put = store.requeue(tx, [fresh(key, seq) for seq in seqs])
            if put[0]:
                started = {(int(self.group), "connector_message_started"): put[0]}
                metrics.count(tx, WRITER, started)
            return put

        assert self.write(work) == (made, len(again))
        self.model.counted["connector_message_started"] += made
        for each in again:
            each.requeue(self.now)
            each.has_body = True
        for seq, each in zip(seqs, expected, strict=True):
            if each is None:
                self.enter(key, seq)

    # --- attempts ---

    @rule(data=st.data(), most=st.integers(1, 5))
    def some_are_claimed(self, data: st.DataObject, most: int) -> None:
        about = self.chosen(data, self.has_due)
        if about is not None:
            self.leased += self.claim(about, most)

    @rule(data=st.data(), outcome=st.sampled_from(OUTCOMES))
    def all_due_have_the_same_outcome(self, data: st.DataObject, outcome: Any) -> None:
        about = self.chosen(data, self.has_due)
        if about is not None:
            self.settle([AttemptRecord(each, outcome) for each in self.claim(about, 10)])

    @rule(data=st.data(), outcome=st.sampled_from(OUTCOMES))
    def another_process_takes_over(self, data: st.DataObject, outcome: Any) -> None:
        """The former holder settles too late, with an expired lease."""
        about = self.chosen(data, self.has_due)
        if about is not None:
            late = self.claim(about, 10)
            self.time_passes(worker.LEASE_S + 1)
            self.orphaned_leases_are_recovered(False)
            self.leased += self.claim(about, 10)
            self.settle([AttemptRecord(each, outcome) for each in late])

    def claim(self, about: ExpectedChannel, most: int) -> list[LeasedDelivery]:
        number, token = about.channel.number, next(self.tokens)
        until = worker.LEASE_S * SECOND

        def work(tx: Tx) -> tuple[Channel, list[delivery_leases.ClaimedDelivery]]:
            channel = store_channels.get_by_numbers(tx, [number])[number]
            return channel, delivery_leases.claim(tx, number, most, token, tx.now + until)

        channel, claimed = self.write(work)
        waiting = [each for each in self.model.of(number) if each.state == DeliveryState.QUEUED]
        surely = [each for each in waiting if each.due_at[1] <= self.now]
        perhaps = {each.seq for each in waiting if each.due_at[0] <= self.now}
        assert [each.seq for each in claimed] == sorted({each.seq for each in claimed} & perhaps)
        assert min(most, len(surely)) <= len(claimed) <= most
        for each in claimed:
            expected = self.model.deliveries[number, each.seq]
            expected.state, expected.token, expected.changed_at = (
                DeliveryState.LEASED,
                token,
                self.now,
            )
            expected.lease_until = self.now + until
            expected.attempts += 1
            assert (each.attempts, each.generation) == (expected.attempts, expected.generation)
            assert each.body == body_of(each.seq)
            attempts_max = retry_policy.attempts_max(channel.retries_max)
            assert expected.attempts <= max(attempts_max, claiming.SERVICE_FAILURE_ATTEMPTS_MIN)
        return [LeasedDelivery(channel, each, Lease(token, 0, 0.0, 0.0)) for each in claimed]

    @precondition(lambda self: self.leased)
    @rule(data=st.data())
    def some_are_settled(self, data: st.DataObject) -> None:
        """Also with leases that were taken over meanwhile."""
        indexes = st.lists(
            st.integers(0, len(self.leased) - 1), unique=True, min_size=1, max_size=6
        )
        taken = data.draw(indexes, label="leased")
        attempts = [
            AttemptRecord(self.leased[index], data.draw(st.sampled_from(OUTCOMES), label="outcome"))
            for index in taken
        ]
        if not data.draw(st.booleans(), label="tells it twice"):
            self.leased = [each for index, each in enumerate(self.leased) if index not in taken]
        self.settle(attempts)

    def settle(self, attempts: Sequence[AttemptRecord]) -> None:
        self.write(lambda tx: claiming.settle(tx, WRITER, attempts))
        fenced = [each for each in attempts if self.is_ours(each.leased)]
        # A success resets the failures; those of the same transaction count from there.
        for each in fenced:
            if isinstance(each.outcome, Delivered):
                self.model.channels[each.leased.channel.number].failures = 0
        for each in fenced:
            expected = self.expected(each.leased)
            assert expected is not None
            self.model.settle(each.leased.channel, expected, each.outcome, self.now)
            if isinstance(each.outcome, Refused) and each.outcome.disables:
                self.disable(each.leased.channel)
        # The reason shown is that of the last failure, in the order of the leases, unless the
        # receiver has disabled the channel.
        failed = [
            each for each in by_lease(fenced) if isinstance(each.outcome, Refused | Unreachable)
        ]
        ended = [each for each in failed if getattr(each.outcome, "disables", False)]
        for each in (*failed, *ended):
            self.model.channels[each.leased.channel.number].error = each.outcome.reason

    def disable(self, channel: Channel) -> None:
        about = self.model.channels[channel.number]
        if about.is_active and about.channel.version == channel.version:
            self.changed(about, is_enabled=False)

    def expected(self, leased: LeasedDelivery) -> Expected | None:
        return self.model.deliveries.get((leased.channel.number, leased.claimed.seq))

    def is_ours(self, leased: LeasedDelivery) -> bool:
        expected = self.expected(leased)
        return expected is not None and expected.token == leased.lease.token

    @precondition(lambda self: self.leased)
    @rule(data=st.data())
    def a_process_dies(self, data: st.DataObject) -> None:
        tokens = sorted({each.lease.token for each in self.leased})
        dead = data.draw(st.sampled_from(tokens), label="token")
        self.leased = [each for each in self.leased if each.lease.token != dead]

    @rule(seconds=st.sampled_from([1, 9, 13, 13, 31, 31, 75, 400, 2_000, 7_000, 90_000, 300_000]))
    def time_passes(self, seconds: int) -> None:
        self.clock.at += seconds * SECOND

    @rule(is_alone=st.booleans())
    def orphaned_leases_are_recovered(self, is_alone: bool) -> None:
        """When the only process starts, every lease is orphaned."""
        until = engine.FAR_FUTURE if is_alone else None
        found = self.write(lambda tx: claiming.recover_orphans(tx, WRITER, until))
        orphans = [
            each
            for each in self.model.deliveries.values()
            if each.state == DeliveryState.LEASED and (is_alone or each.lease_until < self.now)
        ]
        assert found == len(orphans)
        for each in orphans:
            about = self.model.channels[each.channel]
            outcome = RELEASED if about.is_deleted else claiming.ORPHANED
            self.model.settle(about.channel, each, outcome, self.now)

    # --- resends ---

    @rule(data=st.data())
    def a_user_resends(self, data: st.DataObject) -> None:
        about = self.chosen(data)
        if about is None:
            return
        number = about.channel.number

        def work(tx: Tx) -> bool:
            has_any = store_dead_letters.get_oldest_dead_letter_ts(tx, number) is not None
            return has_any and store_channels.begin_resend(tx, number)

        began = self.write(work)
        has_any = any(each.is_kept(self.now) for each in self.model.of(number))
        assert began == (has_any and about.resend_before is None)
        if began:
            about.resend_before = self.now

    @rule(most=st.integers(1, 3), after=st.sampled_from([0, 0, 4_000 * SECOND, DAY]))
    def resends_advance(self, most: int, after: Moment) -> None:
        self.clock.at += after

        def advance(tx: Tx) -> set[int]:
            turns = list(resends.begin_turns(resends.find_states([], tx), most))
            counts = resends.run_turns(turns, tx)
            return {turn.number for turn, count in zip(turns, counts, strict=True) if count}

        woken = self.write(advance)
        expected_woken = set()
        for number, about in self.model.channels.items():
            before = about.resend_before
            if before is None or about.is_deleted:
                continue
            kept = sorted(
                (
                    each
                    for each in self.model.of(number)
                    if each.is_kept(self.now) and each.changed_at <= before
                ),
                key=lambda each: each.seq,
            )
            for each in kept[:most]:
                each.requeue(self.now)
                each.resent_before = before
                expected_woken.add(number)
            if not kept and not any(
                each.state < DeliveryState.SUCCEEDED and each.resent_before == before
                for each in self.model.of(number)
            ):
                about.resend_before = None
        assert woken == expected_woken

    # --- channels change ---

    @rule(data=st.data(), is_enabled=st.sampled_from([True, True, False]))
    def a_channel_is_changed(self, data: st.DataObject, is_enabled: bool) -> None:
        about = self.chosen(data)
        if about is not None:
            number = about.channel.number

            def work(tx: Tx) -> None:
                channel = store_channels.get_by_numbers(tx, [number])[number]
                store_channels.save(tx, channel, replace(channel, is_enabled=is_enabled))

            self.write(work)
            self.changed(about, is_enabled=is_enabled)

    def changed(self, about: ExpectedChannel, *, is_enabled: bool) -> None:
        version = about.channel.version + 1
        about.channel = replace(about.channel, is_enabled=is_enabled, version=version)

    @rule(data=st.data())
    def a_channel_is_deleted(self, data: st.DataObject) -> None:
        about = self.chosen(data)
        alive = [each for each in self.model.channels.values() if not each.is_deleted]
        if about is not None and len(alive) > 1:
            self.write(lambda tx: store_channels.mark_deleted(tx, about.channel))
            about.is_deleted = True
            about.resend_before = None

    @rule()
    def deliveries_of_deleted_channels_are_removed(self) -> None:
        gone = [number for number, each in self.model.channels.items() if each.is_deleted]
        assert sorted(self.read(store_channels.list_deleted)) == sorted(gone)
        for number in gone:
            while self.write(lambda tx, number=number: store.delete_for_channel(tx, number, 2)):
                pass
            self.write(lambda tx, number=number: store_channels.delete(tx, number))
            del self.model.channels[number]
            for expected in self.model.of(number):
                del self.model.deliveries[number, expected.seq]

    # --- operator commands ---

    @precondition(lambda self: self.model.deliveries)
    @rule(data=st.data(), verb=st.sampled_from(["retry", "cancel"]))
    def an_operator_retries_or_cancels(self, data: st.DataObject, verb: str) -> None:
        operate = {
            "retry": delivery_commands.retry_delivery,
            "cancel": delivery_commands.cancel_delivery,
        }[verb]
        key = data.draw(st.sampled_from(sorted(self.model.deliveries)), label="message")
        expected = self.model.deliveries[key]
        name = format_delivery_id(*key)
        if self.model.channels[expected.channel].is_deleted:
            with pytest.raises(NotFound):
                self.write(lambda tx: operate(tx, name))
            return
        may = expected.state == DeliveryState.QUEUED or (
            verb == "retry" and expected.is_kept(self.now + 1)
        )
        if not may:
            with pytest.raises(Conflict):
                self.write(lambda tx: operate(tx, name))
            return
        self.write(lambda tx: operate(tx, name))
        if verb == "cancel":
            if expected.generation == 0:
                self.model.counted["connector_message_error"] += 1
            expected.end(DeliveryState.CANCELLED, self.now)
        elif expected.state == DeliveryState.QUEUED:
            expected.due_at, expected.changed_at = (self.now, self.now), self.now
        else:
            expected.requeue(self.now)

    # --- expiry and removal ---

    @rule(most=st.integers(1, 3), after=st.sampled_from([0, 3_600 * SECOND]))
    def kept_deliveries_expire(self, most: int, after: Moment) -> None:
        self.clock.at += after
        done = self.write(lambda tx: store_dead_letters.expire_dead_letters(tx, most))
        over = [
            each
            for each in self.model.deliveries.values()
            if each.state == DeliveryState.FAILED
            and each.stored_until is not None
            and each.stored_until < self.now
        ]
        assert done == min(most, len(over))
        states = self.states()
        expired = [each for each in over if states[each.channel, each.seq] == DeliveryState.EXPIRED]
        assert len(expired) == done
        for each in expired:
            each.end(DeliveryState.EXPIRED, self.now)

    @rule(most=st.integers(1, 3), after=st.sampled_from([0, KEEP]))
    def old_deliveries_are_removed(self, most: int, after: Moment) -> None:
        self.clock.at += after
        before = self.now - KEEP
        done = self.write(lambda tx: store.prune(tx, before, most))
        over = [
            each
            for each in self.model.deliveries.values()
            if each.state
            in (DeliveryState.SUCCEEDED, DeliveryState.EXPIRED, DeliveryState.CANCELLED)
            and each.changed_at < before
        ]
        assert done == min(most, len(over))
        states = self.states()
        removed = [each for each in over if (each.channel, each.seq) not in states]
        assert len(removed) == done
        for each in removed:
            del self.model.deliveries[each.channel, each.seq]

    def states(self) -> dict[tuple[int, int], int]:
        sql = "select channel_number, seq, state from delivery"
        return {(row[0], row[1]): row[2] for row in self.read(lambda tx: tx.fetch(Statement(sql)))}

    # --- invariants ---

    @invariant()
    def every_delivery_equals_the_model(self) -> None:
        rows = self.read(lambda tx: tx.rows(sa.select(schema.delivery)))
        assert {(row.channel_number, row.seq) for row in rows} == set(self.model.deliveries)
        for row in rows:
            expected = self.model.deliveries[row.channel_number, row.seq]
            found = (row.state, row.generation, row.attempts, row.first_end, row.lease_token)
            assert found == (
                expected.state,
                expected.generation,
                expected.attempts,
                expected.first_end,
                expected.token,
            )
            assert (row.lease_until is not None) == (row.state == DeliveryState.LEASED)
            assert (row.body is not None) == (row.context is not None) == expected.has_body
            assert row.changed_at == expected.changed_at
            assert row.created_at == expected.created_at
            if row.state == DeliveryState.QUEUED:
                assert expected.due_at[0] <= row.due_at <= expected.due_at[1]
                assert row.body is not None
                expected.due_at = (row.due_at, row.due_at)
            if row.state == DeliveryState.FAILED:
                assert row.stored_until == expected.stored_until

    @invariant()
    def every_channel_equals_the_model(self) -> None:
        alive = {key: each for key, each in self.model.channels.items() if not each.is_deleted}

        def work(tx: Tx) -> tuple[Any, ...]:
            return (
                store_channels.get_by_numbers(tx, list(alive)),
                {
                    number: store_dead_letters.get_oldest_dead_letter_ts(tx, number)
                    for number in alive
                },
                store_channels.get_versions(tx, list(self.model.channels)),
                delivery_leases.list_due_channels(tx, 0, 100, 0),
                {number: delivery_history.count_by_state(tx, number, 0, 2**62) for number in alive},
                store_backlogs.list_backlogs(tx),
            )

        rows, kept, versions, due, counts, backlogs = self.read(work)
        assert set(rows) == set(alive)
        for number, about in alive.items():
            row, mine = rows[number], self.model.of(number)
            assert (row.failures, row.error_message) == (about.failures, about.error)
            assert (row.version, row.resend_before) == (
                about.channel.version,
                about.resend_before,
            )
            first = min((each.seq for each in mine if each.is_kept(self.now)), default=None)
            assert kept[number] == (None if first is None else ts_of(first))
            assert counts[number] == dict(Counter(each.state for each in mine))
        for number in self.model.channels:
            states = Counter(each.state for each in self.model.of(number))
            found = backlogs.get(number)
            if found is None:
                assert (
                    not states[DeliveryState.QUEUED]
                    + states[DeliveryState.LEASED]
                    + states[DeliveryState.FAILED]
                )
            else:
                assert (found.queued, found.leased, found.failed) == (
                    states[DeliveryState.QUEUED],
                    states[DeliveryState.LEASED],
                    states[DeliveryState.FAILED],
                )
        assert versions == {
            key: each.channel.version for key, each in alive.items() if each.is_active
        }
        assert due == [
            key
            for key, each in sorted(alive.items())
            if each.is_active
            and any(
                mine.state == DeliveryState.QUEUED and mine.due_at[0] <= self.now
                for mine in self.model.of(key)
            )
        ]

    @invariant()
    def the_counters_equal_a_recount(self) -> None:
        sql = "select name, sum(value) from counter group by name"
        found = {
            metrics.NAMES[row[0]]: row[1] for row in self.read(lambda tx: tx.fetch(Statement(sql)))
        }
        assert found == {name: value for name, value in self.model.counted.items() if value}


def body_of(seq: int) -> str:
    return f'{{"deviceId":"dev","n":{seq}}}'


def ts_of(seq: int) -> Moment:
    return seq * 1_000


def fresh(number: int, seq: int) -> store.NewDelivery:
    return store.NewDelivery(number, seq, "dev", 0, ts_of(seq), body_of(seq), "{}")


def by_lease(attempts: Sequence[AttemptRecord]) -> list[AttemptRecord]:
    """In the order of settlement: lease by lease."""
    keys = [(each.leased.channel.number, each.leased.lease.token) for each in attempts]
    leases = list(dict.fromkeys(keys))
    order = sorted(range(len(keys)), key=lambda position: leases.index(keys[position]))
    return [attempts[position] for position in order]


@ONE_SLOT
@pytest.mark.parametrize(
    "engine, examples, steps", [("sqlite", 15, 50), ("postgresql", 6, 40)], indirect=["engine"]
)
def test_any_history_of_deliveries_equals_the_model(
    settings: Settings, examples: int, steps: int
) -> None:
    run(settings, examples, steps)


@ONE_SLOT
@pytest.mark.soak
@pytest.mark.parametrize(
    "engine, examples, steps",
    [("sqlite", 400, 120), ("postgresql", 100, 80)],
    indirect=["engine"],
)
def test_any_long_history_of_deliveries_equals_the_model(
    settings: Settings, examples: int, steps: int
) -> None:
    run(settings, examples, steps)


def run(settings: Settings, examples: int, steps: int) -> None:
    clock = FrozenClock()
    database, keep_key = build_database(settings, clock)
    prepare(database, settings, keep_key)
    database.start()
    with asyncio.Runner() as runner:
        home = runner.run(database.write(found_a_group))
        run_on_database(
            Deliveries, database, runner, examples=examples, steps=steps, clock=clock, group=home
        )
    database.close()


def found_a_group(tx: Tx) -> str:
    owner = tokens.issue_credential(tx, SYSTEM, "ada@example.com", is_operator=True)
    actor = Actor("user", owner.credential.user_id, is_operator=True)
    return str(groups.create(tx, actor, None, name="group", description=None, tags=[]).group.id)
