"""The engine: claims what is due, sends it, and settles what became of it.

There is one kind of transaction, the turn. It settles everything that was tried since the last one
and claims what there is room for. Between turns messages are sent, with no transaction open. A
claim is a lease with a token: whoever settles shows the token, and whoever is late changes nothing.
A try counts when it is claimed, so that a message that kills the process is not tried for ever.

Each connector has its outlet here, with its own queue, its own limits and its own breaker, so that
one destination that hangs costs the others nothing. A destination that could not be reached a few
times in a row gets one message as a probe; what the probe finds holds for all that wait with it.
"""

import asyncio
import contextlib
import random
import secrets
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from longwire.clock import SECOND, Moment
from longwire.delivery import replays, retry_policy
from longwire.delivery.channel_handlers import Ending, Forwarding, Purpose, Shape
from longwire.delivery.destinations.base import (
    Delivered,
    Message,
    Outcome,
    Parcel,
    Refused,
    Sender,
    Unreachable,
)
from longwire.delivery.egress import Egress
from longwire.errors import LongwireError
from longwire.ids import new_id
from longwire.model import FORWARDING, SYSTEM, Connector
from longwire.store import audit, auth_epoch
from longwire.store import connectors as store_connectors
from longwire.store import deliveries as store
from longwire.store.database import Database, Tx
from longwire.store.deliveries import Claimed

SEND_TIMEOUT_S = 15.0
LEASE_S = 30
# A try that could outlive its lease is not begun.
LEASE_LEFT_MIN_S = SEND_TIMEOUT_S + 2.0
LOOK_EVERY_S = 0.5
CHORES_EVERY_S = 1.0
RECOVER_EVERY_S = 5.0
ORPHANS_PER_STEP_MAX = 500
STALLED_S = 30.0
AFTER_TROUBLE_S = 0.5
STOP_WAIT_S = 10.0

# What was tried is settled together with the next claim, or after so much, or so soon.
SETTLE_AT = 256
SETTLE_WITHIN_S = 0.05

# While records come in as fast as they can be stored, deliveries stand back: so many begin in a
# second, whatever waits, and what was held up is made up for as far as this.
BUSY_PARCELS_PER_S = 500
BUSY_CATCH_UP_S = 0.05
BUSY_SETTLE_WITHIN_S = 0.25

CONNECTORS_PER_LOOK_MAX = 500
CLAIMS_PER_TURN_MAX = 1_000
WINDOW_MIN = 16
WINDOW_MAX = 512
WINDOW_CHARACTERS_MAX = 4 * 1024 * 1024
PROBE_AFTER = 5
FOR_EVER = 2**62

# Reasons that are not the destination's: nothing is gained by waiting.
ORPHANED = "whoever was sending it stopped before telling what became of it"
STOPPED = "the service was stopped while sending it"
OURS = {ORPHANED, STOPPED}
# Many are claimed with the few that are on their way when we die: that alone gives nothing up, but
# one that kills us each time is not tried for ever.
OUR_TRIES_MIN = 3
TOO_SLOW = f"did not answer within {SEND_TIMEOUT_S:.0f} s"

log = structlog.get_logger()

# Its own, so that nobody who counts on the common one is surprised.
_chance = random.Random()

Observe = Callable[[str, str, float], None]
Purposes = Mapping[str, Purpose]

PURPOSES: Purposes = {FORWARDING: Forwarding()}


class Released:
    """Not tried after all."""


RELEASED = Released()


@dataclass(slots=True)
class Held:
    """A delivery in our hands, and until when.

    Others judge a lease by the time of day. That may leap, after a suspended machine wakes up for
    instance; the monotonic clock may stand still then. So a lease has to be good by both.
    """

    connector: Connector
    claimed: Claimed
    token: int
    until: Moment
    until_monotonic: float


@dataclass(slots=True)
class Tried:
    held: Held
    outcome: Outcome | Released


@dataclass(slots=True)
class Outlet:
    """One connector's way out, in this process."""

    connector: Connector
    shape: Shape
    destination: Sender
    waiting: deque[Held] = field(default_factory=deque)
    running: int = 0
    window: int = WINDOW_MIN
    window_max: int = WINDOW_MAX
    unreachable: int = 0  # parcels in a row
    has_more: bool = False
    is_stale: bool = False

    @property
    def is_probing(self) -> bool:
        return self.unreachable >= PROBE_AFTER

    @property
    def room(self) -> int:
        return max(0, self.window - len(self.waiting) - self.running)

    @property
    def is_full(self) -> bool:
        return self.room * 2 < self.window

    @property
    def is_hungry(self) -> bool:
        return self.has_more and not self.is_full

    def learn(self, outcome: Outcome) -> None:
        """Take more at a time while all goes well, and little when it does not."""
        if isinstance(outcome, Unreachable):
            self.unreachable += 1
            # A probe decides for all that wait with it, so let there be many.
            self.window = self.window_max if self.is_probing else WINDOW_MIN
        else:
            self.unreachable = 0
            self.window = self.window * 2
        self.window = min(self.window, self.window_max)

    def hold(self, held: Sequence[Held], asked: int) -> None:
        self.has_more = len(held) >= asked
        self.waiting.extend(held)
        if held:
            # Large messages are taken in small numbers, so that memory has a bound.
            average = sum(len(each.claimed.body) for each in held) // len(held) + 1
            self.window_max = max(1, min(WINDOW_MAX, WINDOW_CHARACTERS_MAX // average))
            self.window = min(self.window, self.window_max)


@dataclass(slots=True)
class Turn:
    """What a turn found and took; applied once it is committed."""

    gone: set[int] = field(default_factory=set)
    opened: dict[int, Outlet] = field(default_factory=dict)
    until: Moment = 0
    claimed: dict[int, list[Claimed]] = field(default_factory=dict)
    asked: dict[int, int] = field(default_factory=dict)


class Engine:
    """Sends what is due, for every connector, until it is told to stop."""

    def __init__(
        self,
        database: Database,
        writer: int,
        egress: Egress,
        *,
        purposes: Purposes = PURPOSES,
        in_flight_max: int = 16,
        resend_per_s: int = 100,
        observe: Observe = lambda kind, outcome, seconds: None,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self._database = database
        self._writer = writer
        self._egress = egress
        self._purposes = purposes
        self._in_flight_max = in_flight_max
        self._resend_per_s = resend_per_s
        self._observe = observe
        self._is_busy = is_busy
        self._outlets: dict[int, Outlet] = {}
        self._tried: list[Tried] = []
        self._wanted: set[int] = set()
        self._looked_after = 0
        self._looked_at = time.monotonic()
        self._awake = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._standing_back: deque[Outlet] = deque()
        self._next_begin = 0.0
        self._resuming: asyncio.TimerHandle | None = None
        self._is_stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None  # while it runs
        self._last_step = time.monotonic()
        self._last_turn = 0.0

    # --- what others see ---

    @property
    def is_moving(self) -> bool:
        """Whether the engine gets anywhere, for the health of the service."""
        return time.monotonic() - self._last_step < STALLED_S

    def wake(self, numbers: Collection[int]) -> None:
        """There is something new for these connectors."""
        self._wanted.update(numbers)
        self._awake.set()

    def wake_soon(self, numbers: Collection[int]) -> None:
        """The same, from any thread."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(self.wake, numbers)

    async def run(self) -> None:
        """Work until cancelled; then finish what was begun, and give back the rest."""
        self._loop = asyncio.get_running_loop()
        if self._database.engine_name == "sqlite":
            # Nobody else can hold a lease on an embedded database: whoever did is gone.
            await self._in_any_case(lambda: self._recover(until=FOR_EVER))
        chores = asyncio.create_task(self._chores())
        rounds = asyncio.create_task(self._rounds())
        try:
            # A turn is not left in the middle: it would still be committed, and what it had claimed
            # would be leased to nobody.
            await asyncio.shield(rounds)
        finally:
            self._is_stopping = True
            self._loop = None
            self._awake.set()
            chores.cancel()
            await asyncio.wait({chores, rounds}, timeout=STOP_WAIT_S)
            rounds.cancel()  # should it hang
            await self._stop()

    # --- rounds ---

    async def _rounds(self) -> None:
        while not self._is_stopping:
            await self._round()

    async def _round(self) -> None:
        """Wait until there is something to do, and do it."""
        patience_s = self._looked_at + LOOK_EVERY_S - time.monotonic()
        if self._tried:
            patience_s = min(patience_s, SETTLE_WITHIN_S)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._awake.wait()
        # However busy it is: others have retries that nobody tells of.
        if time.monotonic() - self._looked_at >= LOOK_EVERY_S:
            if not await self._in_any_case(self._look):
                return
            self._looked_at = time.monotonic()
        self._awake.clear()
        if not self._is_worth_a_turn() or await self._in_any_case(self._turn):
            self._last_step = time.monotonic()

    def _is_worth_a_turn(self) -> bool:
        """Whether anything can be claimed, or enough has been tried, or long enough ago.

        A turn costs about the same for one message as for a hundred, and takes from ingest.
        """
        for number in list(self._wanted):
            outlet = self._outlets.get(number)
            if outlet is not None and outlet.is_full:
                outlet.has_more = True
                self._wanted.discard(number)
        if self._wanted or len(self._tried) >= SETTLE_AT:
            return True
        if any(outlet.is_hungry for outlet in self._outlets.values()):
            return True
        settle_within_s = BUSY_SETTLE_WITHIN_S if self._is_busy() else SETTLE_WITHIN_S
        return bool(self._tried) and time.monotonic() - self._last_turn >= settle_within_s

    async def _in_any_case(self, step: Callable[[], Awaitable[None]]) -> bool:
        """Run a step; trouble with the database is waited out, anything else is logged."""
        try:
            await step()
        except LongwireError:
            await asyncio.sleep(AFTER_TROUBLE_S)  # the database is away for now
            return False
        except Exception:
            log.exception("the delivery engine stumbled")
            await asyncio.sleep(AFTER_TROUBLE_S)
            return False
        return True

    async def _look(self) -> None:
        """Which connectors have something due, and which are not what they were."""
        after, open_ones = self._looked_after, list(self._outlets)
        found, versions = await self._database.read(
            lambda tx: (
                store.due_connectors(tx, CONNECTORS_PER_LOOK_MAX, after),
                store_connectors.versions(tx, open_ones),
            )
        )
        for number in open_ones:
            if versions.get(number) != self._outlets[number].connector.version:
                self._let_go(number)
        self._wanted.update(found)
        self._looked_after = found[-1] if len(found) == CONNECTORS_PER_LOOK_MAX else 0

    async def _turn(self) -> None:
        self._last_turn = time.monotonic()
        tried, self._tried = self._tried, []
        wanted = self._wanted | {
            number for number, outlet in self._outlets.items() if outlet.is_hungry
        }
        self._wanted = set()
        if not tried and not wanted:
            return
        known = {
            number: (outlet.connector.version, outlet.room)
            for number, outlet in self._outlets.items()
            if number in wanted or outlet.waiting
        }
        began = time.monotonic()
        token = secrets.randbits(62)
        try:
            turn = await self._database.write(
                lambda tx: self._settle_and_claim(tx, tried, wanted, known, token)
            )
        except LongwireError:
            self._put_back(tried, wanted)
            raise
        except Exception:
            # Should a purpose stumble over what it hears, the others must not wait for it for ever.
            log.exception("the delivery engine stumbled; it settles without telling anybody")
            self._put_back(tried, wanted)
            await self._database.write(lambda tx: settle(tx, self._writer, tried, PURPOSES))
            self._tried = self._tried[len(tried) :]
            return
        except BaseException:
            self._put_back(tried, wanted)
            raise
        self._apply(turn, token, began + LEASE_S)

    def _put_back(self, tried: list[Tried], wanted: set[int]) -> None:
        self._tried = tried + self._tried
        self._wanted |= wanted

    def _settle_and_claim(
        self,
        tx: Tx,
        tried: Sequence[Tried],
        wanted: Collection[int],
        known: Mapping[int, tuple[int, int]],
        token: int,
    ) -> Turn:
        """The whole of a turn on an open transaction; changes nothing in this process."""
        settle(tx, self._writer, tried, self._purposes)
        turn = Turn()
        versions = store_connectors.versions(tx, {*wanted, *known})
        turn.gone = {
            number for number, (version, _) in known.items() if versions.get(number) != version
        }
        if self._is_stopping:
            return turn
        turn.until = tx.now + LEASE_S * SECOND
        rooms = {
            number: known[number][1] if number in known and number not in turn.gone else WINDOW_MIN
            for number in sorted(wanted)
            if number in versions
        }
        unknown = [number for number in rooms if number not in known or number in turn.gone]
        for connector in store_connectors.by_number(tx, unknown).values():
            try:
                turn.opened[connector.number] = self._open(tx, connector)
            except Exception as error:
                log.exception("a connector cannot be opened", connector=connector.id)
                store_connectors.note_failure(
                    tx, connector.number, f"it cannot be opened: {type(error).__name__}", 1
                )
        share = max(1, CLAIMS_PER_TURN_MAX // max(1, len(rooms)))
        for number, room in rooms.items():
            if number in unknown and number not in turn.opened:
                continue
            turn.asked[number] = min(room, share)
            turn.claimed[number] = (
                store.claim(tx, number, min(room, share), token, turn.until) if room else []
            )
        return turn

    def _open(self, tx: Tx, connector: Connector) -> Outlet:
        shape, destination = self._purposes[connector.purpose].open(tx, connector, self._egress)
        return Outlet(connector, shape, destination)

    def _apply(self, turn: Turn, token: int, until_monotonic: float) -> None:
        for number in turn.gone:
            self._let_go(number)
        self._outlets |= turn.opened
        for number, claimed in turn.claimed.items():
            outlet = self._outlets[number]
            held = [
                Held(outlet.connector, each, token, turn.until, until_monotonic) for each in claimed
            ]
            outlet.hold(held, turn.asked[number])
            self._pump(outlet)

    def _let_go(self, number: int) -> None:
        """The connector is not what it was; what was not begun yet is given back."""
        outlet = self._outlets.pop(number, None)
        if outlet is None:
            return
        outlet.is_stale = True
        self._give_back(outlet)
        self._wanted.add(number)
        if not outlet.running:
            self._close(outlet)

    def _give_back(self, outlet: Outlet) -> None:
        self._tried += [Tried(held, RELEASED) for held in outlet.waiting]
        outlet.waiting.clear()
        self._awake.set()

    def _close(self, outlet: Outlet) -> None:
        task = asyncio.create_task(outlet.destination.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    # --- sending ---

    def _pump(self, outlet: Outlet) -> None:
        """Begin what may begin now."""
        in_flight_max = 1 if outlet.is_probing else self._in_flight_max
        while outlet.waiting and outlet.running < in_flight_max and not self._is_stopping:
            if not self._may_begin():
                self._stand_back(outlet)
                return
            size = min(outlet.destination.batch_max, len(outlet.waiting))
            parcel = [outlet.waiting.popleft() for _ in range(size)]
            if self._lease_left_s(parcel[0]) < LEASE_LEFT_MIN_S:
                self._tried += [Tried(held, RELEASED) for held in parcel]
                self._wanted.add(outlet.connector.number)
                self._awake.set()
                continue
            outlet.running += 1
            task = asyncio.create_task(self._send(outlet, parcel))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    def _lease_left_s(self, held: Held) -> float:
        by_day = (held.until - self._database.tools.clock.now()) / SECOND
        return min(by_day, held.until_monotonic - time.monotonic())

    def _may_begin(self) -> bool:
        """Whether another parcel may leave now. What devices say comes first."""
        if not self._is_busy():
            return True
        now = time.monotonic()
        begin = max(self._next_begin, now - BUSY_CATCH_UP_S)
        if begin > now:
            return False
        self._next_begin = begin + 1 / BUSY_PARCELS_PER_S
        return True

    def _stand_back(self, outlet: Outlet) -> None:
        """Begin later, when it is this outlet's turn among all that stand back."""
        if outlet not in self._standing_back:
            self._standing_back.append(outlet)
        if self._resuming is None:
            self._resuming = asyncio.get_running_loop().call_later(
                1 / BUSY_PARCELS_PER_S, self._resume
            )

    def _resume(self) -> None:
        self._resuming = None
        for _ in range(len(self._standing_back)):
            outlet = self._standing_back.popleft()
            if not outlet.is_stale:
                self._pump(outlet)
            if self._standing_back and self._standing_back[-1] is outlet:
                return  # no more for now; the next one is first then

    async def _send(self, outlet: Outlet, parcel: list[Held]) -> None:
        began = time.monotonic()
        was_probe = outlet.is_probing
        good: list[Held] = []
        messages: list[Message] = []
        for held in parcel:
            shaped = _shaped(outlet, held.claimed)
            if isinstance(shaped, Refused):
                self._tried.append(Tried(held, shaped))
            else:
                good.append(held)
                messages.append(shaped)
        outcome: Outcome = Unreachable(STOPPED)
        try:
            if messages:
                outcome = await self._outcome(outlet, messages)
                outlet.learn(outcome)
                self._observe(
                    outlet.connector.type,
                    type(outcome).__name__.lower(),
                    time.monotonic() - began,
                )
        finally:
            self._tried += [Tried(held, outcome) for held in good]
            outlet.running -= 1
            self._awake.set()
        is_away = isinstance(outcome, Unreachable) and not outcome.is_final
        if messages and was_probe and outlet.is_probing and is_away:
            # One look was enough: nobody is there for the others either.
            self._tried += [Tried(held, outcome) for held in outlet.waiting]
            outlet.waiting.clear()
        if outlet.is_stale:
            if not outlet.running:
                self._close(outlet)
        else:
            self._pump(outlet)

    async def _outcome(self, outlet: Outlet, messages: Sequence[Message]) -> Outcome:
        is_batch = outlet.destination.batch_max > 1
        name = new_id("bat") if is_batch else messages[0].id
        parcel = Parcel(name, messages, self._database.tools.clock.now())
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                return await outlet.destination.send(parcel)
        except TimeoutError:
            return Unreachable(TOO_SLOW)
        except Exception:
            log.exception("a destination stumbled", connector=outlet.connector.id)
            return Unreachable("could not be sent because of a mistake in longwire")

    async def _stop(self) -> None:
        """Finish what was begun, for a while; give back the rest."""
        for outlet in self._outlets.values():
            self._give_back(outlet)
        if self._sending:
            await asyncio.wait(self._sending, timeout=STOP_WAIT_S)
        for task in list(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        self._wanted.clear()
        await self._in_any_case(self._turn)
        for outlet in self._outlets.values():
            self._close(outlet)
        await asyncio.gather(*self._closing, return_exceptions=True)

    # --- chores ---

    async def _chores(self) -> None:
        last_recovery = time.monotonic()
        while True:
            await asyncio.sleep(CHORES_EVERY_S)
            await self._in_any_case(self._resend)
            await self._in_any_case(lambda: replays.step(self._database, self._writer, self.wake))
            if time.monotonic() - last_recovery >= RECOVER_EVERY_S:
                last_recovery = time.monotonic()
                await self._in_any_case(self._recover)

    async def _recover(self, until: int | None = None) -> None:
        """Take over what somebody claimed and never settled."""
        found = ORPHANS_PER_STEP_MAX
        while found == ORPHANS_PER_STEP_MAX:
            found = await self._database.write(
                lambda tx: recover(tx, self._writer, until, self._purposes)
            )

    async def _resend(self) -> None:
        if await self._database.read(store_connectors.is_any_resending):
            woken = await self._database.write(lambda tx: resend(tx, self._resend_per_s))
            if woken:
                self.wake(woken)


def _shaped(outlet: Outlet, claimed: Claimed) -> Message | Refused:
    try:
        return outlet.shape(claimed)
    except Exception:
        log.exception("a message cannot be shaped", connector=outlet.connector.id)
        return Refused(
            "could not be put into its format because of a mistake in longwire", is_final=True
        )


# --- on an open transaction ---


def settle(tx: Tx, writer: int, tried: Sequence[Tried], purposes: Purposes = PURPOSES) -> None:
    """Write down what became of some tries, as far as their leases are still ours."""
    endings: dict[int, list[Ending]] = defaultdict(list)
    owners: dict[int, Connector] = {}
    gone: dict[int, str] = {}
    for (number, token), group in _by_lease(tried).items():
        connector = owners[number] = group[0].held.connector
        done = {
            each.held.claimed.seq: (each.held.claimed, each.outcome.answer)
            for each in group
            if isinstance(each.outcome, Delivered)
        }
        if done:
            for seq in store.succeed(tx, number, token, list(done)):
                claimed, answer = done[seq]
                endings[number].append(Ending(claimed, "delivered", answer=answer))
        freed = [each.held.claimed.seq for each in group if isinstance(each.outcome, Released)]
        if freed:
            store.release(tx, number, token, freed)
        for each in group:
            outcome = each.outcome
            if isinstance(outcome, Refused | Unreachable):
                ending = _give_up_or_wait(tx, each.held, token, outcome)
                if ending is None:
                    continue
                endings[number].append(ending)
                if isinstance(outcome, Refused) and outcome.disables:
                    _disable(tx, connector, outcome.reason)
                    gone[number] = outcome.reason  # whatever became of others at the same time
    for number in sorted(endings):  # everybody in the same order: no deadlocks
        ended = endings[number]
        failed = [each for each in ended if each.end != "delivered"]
        if len(failed) < len(ended):
            store_connectors.note_success(tx, number)
        if failed:
            reason = gone.get(number, failed[-1].reason)
            store_connectors.note_failure(tx, number, reason, len(failed))
        purpose = purposes.get(owners[number].purpose)
        if purpose is not None:
            purpose.ended(tx, writer, owners[number], ended)


def _by_lease(tried: Sequence[Tried]) -> dict[tuple[int, int], list[Tried]]:
    found: dict[tuple[int, int], list[Tried]] = defaultdict(list)
    for each in tried:
        found[(each.held.connector.number, each.held.token)].append(each)
    return found


def _give_up_or_wait(
    tx: Tx, held: Held, token: int, outcome: Refused | Unreachable
) -> Ending | None:
    """After a failure; None when the lease was not ours any more."""
    connector, claimed, reason = held.connector, held.claimed, outcome.reason
    number, seqs = connector.number, [claimed.seq]
    tries_max = retry_policy.tries_max(connector.retries_max)
    if reason in OURS:
        tries_max = max(tries_max, OUR_TRIES_MIN)
    if outcome.is_final or claimed.attempts >= tries_max:
        stored = tx.now + connector.storing_s * SECOND if connector.storing_s else None
        is_ours = bool(store.fail(tx, number, token, seqs, stored, reason))
        return Ending(claimed, "failed", reason) if is_ours else None
    asked = outcome.retry_after_s if isinstance(outcome, Refused) else None
    delay = retry_policy.wait(claimed.attempts, connector.retry_delay_s, _chance.random(), asked)
    if reason in OURS:
        delay = 0
    is_ours = bool(store.retry(tx, number, token, seqs, tx.now + delay, reason))
    return Ending(claimed, "waiting", reason) if is_ours else None


def _disable(tx: Tx, connector: Connector, reason: str) -> None:
    auth_epoch.change(tx)  # nobody matches anything with it any more
    if store_connectors.disable(tx, connector):
        audit.note(
            tx,
            SYSTEM,
            f"{connector.purpose}.disable",
            connector.id,
            group_id=connector.group_id,
            detail=reason,
        )


def recover(tx: Tx, writer: int, until: int | None = None, purposes: Purposes = PURPOSES) -> int:
    """Put back what nobody holds any more, or give it up; how many that were."""
    found = store.orphans(tx, tx.now if until is None else until, ORPHANS_PER_STEP_MAX)
    owners = store_connectors.by_number(tx, {each.connector_number for each in found})
    tried = []
    for orphan in found:
        connector = owners.get(orphan.connector_number)
        if connector is None:
            # Deleted meanwhile: its deliveries are about to go.
            store.release(tx, orphan.connector_number, orphan.token, [orphan.seq])
            continue
        claimed = Claimed(
            orphan.connector_number,
            orphan.seq,
            "",
            0,
            orphan.generation,
            orphan.attempts,
            0,
            "",
            "",
        )
        tried.append(Tried(Held(connector, claimed, orphan.token, 0, 0.0), Unreachable(ORPHANED)))
    settle(tx, writer, tried, purposes)
    return len(found)


def resend(tx: Tx, most: int) -> set[int]:
    """A step of every resend: put some back into the queue, or see that all is done."""
    woken: set[int] = set()
    for each in store_connectors.resends(tx):
        if store.resend(tx, each.number, each.before, most):
            woken.add(each.number)
        elif not store.is_resending(tx, each.number, each.before):
            store_connectors.end_resend(tx, each.number)
    return woken
