"""Ordered connectors: a failed message holds back the later ones of its device, and no other."""

import itertools
import json
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from longwire.delivery.destinations.base import Delivered, Refused, Unreachable
from longwire.delivery.engine import claiming
from longwire.delivery.engine.worker import RELEASED, AttemptRecord, LeasedDelivery
from longwire.model import Channel, ChannelPurpose
from longwire.records import RecordKind
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import dead_letters, ordered_deliveries
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.delivery.deliveries import NewDelivery
from longwire.store.delivery.delivery_states import HELD_BACK, DeliveryState
from longwire.store.delivery.ordered_deliveries import OrderedClaim
from longwire.work.leases import Lease
from tests.delivery.receiver import Received, Receiver
from tests.delivery.test_engine import Line
from tests.waiting import eventually
from tests.world import World, ok, record_of, refused

CONNECTOR = ChannelPurpose.CONNECTOR


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(token_lifetime_s=10**8)


class OrderedLine(Line):
    """An ordered connector, and several devices."""

    def __init__(self, world: World, url: str, *, devices: int = 3, **fields: Any) -> None:
        self.url = url
        params = {"ordered": True, **fields.pop("params", {})}
        super().__init__(world.person(f"ada{next(world.numbers)}"), url, params=params, **fields)
        self.devices = [self.device]
        self.devices += [self.person.device(self.group) for _ in range(devices - 1)]

    def report_all(self, *texts: str) -> None:
        """Each of these from every device, in one request."""
        items = [
            record_of(each, timestamp=self._moment(), data=text)
            for text in texts
            for each in self.devices
        ]
        ok(self.person.post("/device/data/batch", {"items": items}))

    def deliver(self) -> None:
        """Let time pass until nothing waits."""

        def is_done() -> bool:
            self.person.world.clock.let_pass(seconds=2_000)
            return self.stats()[0] == 0

        eventually(is_done)


def arrivals(receiver: Receiver) -> dict[str, list[str]]:
    """What was accepted of each device, in order."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for request in receiver.requests:
        found[request.json["deviceId"]].append(request.json["data"])
    return dict(found)


def refuse(*texts: str) -> Callable[[Received], int]:
    """A receiver that does not accept some of the messages."""
    return lambda request: 422 if request.json["data"] in texts else 200


def test_a_failed_message_holds_back_the_later_ones_of_its_device_only(world: World) -> None:
    with Receiver() as receiver:
        policy = {"retryDelay": 600, "maxRetry": 5}
        line = OrderedLine(world, receiver.url, devices=2, retryPolicy=policy)
        broken, healthy = line.devices
        receiver.respond_with(
            lambda request: (
                422 if request.json["deviceId"] == broken and "1" in request.json["data"] else 200
            )
        )
        line.report_all("0", "1", "2", "3")
        line.settles(processing=3, succeed=5)
        assert arrivals(receiver)[healthy] == ["0", "1", "2", "3"]
        assert arrivals(receiver)[broken] == ["0", "1"]
        eventually(lambda: line.health["heldBack"] == 2)
        assert line.health["waiting"] == 3
        # Neither a restart nor somebody who wants one of them at once lets it overtake.
        world.restart()
        held = [each["id"] for each in line.events() if each.get("attempts", 0) == 0]
        assert len(held) == 2
        shown = ok(line.person.get("/connector/message", id=held[0]))
        assert "dueAt" not in shown
        ok(line.person.post("/connector/messages/retry", {"groupId": line.group, "ids": held}))
        line.report_all("4")
        line.settles(processing=4, succeed=6)
        eventually(lambda: line.health["heldBack"] == 3)
        assert arrivals(receiver)[broken] == ["0", "1"]
        receiver.respond_with(200)
        line.deliver()
        assert arrivals(receiver)[broken] == ["0", "1", "1", "2", "3", "4"]
        assert line.health["heldBack"] == 0


@pytest.mark.parametrize("end", ["given up", "cancelled"])
def test_what_is_given_up_or_cancelled_holds_back_nothing_and_its_resend_is_in_line(
    world: World, end: str
) -> None:
    with Receiver(refuse("0", "2")) as receiver:
        retries = 0 if end == "given up" else 5
        policy = {"retryDelay": 86_400, "maxRetry": retries}
        line = OrderedLine(world, receiver.url, devices=1, retryPolicy=policy)
        line.says("0", "1", "2", "3")
        if end == "cancelled":
            for _ in range(2):
                eventually(partial(cancel_attempted, line))
        line.settles(succeed=2, failed=2)
        assert arrivals(receiver)[line.device] == ["0", "1", "2", "3"]
        if end == "cancelled":
            return
        # Sent again, they are in line with what waits then, in their order.
        line.change(enabled=False)
        receiver.respond_with(refuse("0"))
        line.resend()
        eventually(lambda: line.stats() == (2, 2, 0))
        line.change(enabled=True, retryPolicy={"retryDelay": 600, "maxRetry": 5})
        line.fails(1)
        line.says("4")
        eventually(lambda: line.health["heldBack"] == 2)
        receiver.respond_with(200)
        line.deliver()
        assert arrivals(receiver)[line.device] == ["0", "1", "2", "3", "0", "0", "2", "4"]


def cancel_attempted(line: Line) -> bool:
    """Cancel the message that waits for its retry; whether there was one."""
    waiting = [each for each in line.events() if each["status"] == "processing"]
    ids = [each["id"] for each in waiting if each.get("attempts")]
    body = {"groupId": line.group, "ids": ids}
    return bool(ids) and ok(line.person.post("/connector/messages/cancel", body))["changed"] == 1


def test_a_batch_has_one_message_of_each_device(world: World) -> None:
    with Receiver() as receiver:
        params = {"batch": 50}
        line = OrderedLine(world, receiver.url, devices=3, params=params)
        line.change(enabled=True)
        line.report_all("0", "1", "2", "3")
        line.settles(succeed=12)
        batches = [[each["deviceId"] for each in request.json] for request in receiver.requests]
        assert all(len(set(each)) == len(each) for each in batches)
        assert max(map(len, batches)) == 3


def test_a_connector_can_be_put_in_order_later_and_out_of_it_again(world: World) -> None:
    with Receiver(422) as receiver:
        policy = {"retryDelay": 86_400, "maxRetry": 5}
        line = Line(world.person(), receiver.url, retryPolicy=policy)
        line.says("0", "1")
        line.wait_for_attempts(1)
        url = {"url": receiver.url}
        line.change(params=json.dumps({**url, "ordered": True}))
        receiver.respond_with(200)
        line.says("2", "3")
        eventually(lambda: line.health["heldBack"] == 2)
        assert len(receiver.requests) == 2
        # What waits keeps its order; what comes does not wait.
        line.change(params=json.dumps(url))
        line.says("4")
        receiver.wait_for(3)
        assert receiver.requests[2].json["data"] == "4"
        world.clock.let_pass(days=2)
        line.settles(succeed=5)
        sent = [each.json["data"] for each in receiver.requests[3:]]
        assert [each for each in sent if each in ("2", "3")] == ["2", "3"]
        assert set(sent) == {"0", "1", "2", "3"}


def test_invalid_parameters_are_refused(world: World) -> None:
    ada = world.person()
    group = ada.group()
    body = {"groupId": group, "type": "http"}
    for member, value in (("ordered", "yes"), ("maxPerSecond", 0), ("maxPerSecond", 1_001)):
        params = json.dumps({"url": "https://example.com", member: value})
        refused(ada.post("/connector", {**body, "params": params}), 400, f"params.{member}")


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_two_processes_keep_the_order(world: World, make_world: Callable[..., World]) -> None:
    other = make_world(token_lifetime_s=10**8)
    eventually(lambda: len(other.database.cluster.delivering) == 2)
    failed: set[tuple[str, str]] = set()

    def fail_each_once(request: Received) -> int:
        key = request.json["deviceId"], request.json["data"]
        if int(key[1]) % 3 or key in failed:
            return 200
        failed.add(key)
        return 422

    with Receiver(fail_each_once) as receiver:
        policy = {"retryDelay": 1, "maxRetry": 5}
        line = OrderedLine(world, receiver.url, devices=8, retryPolicy=policy)
        texts = [str(number) for number in range(12)]
        for text in texts:
            line.report_all(text)
        line.settles(succeed=8 * 12)
        expected = [each for text in texts for each in [text] * (2 - bool(int(text) % 3))]
        assert arrivals(receiver) == dict.fromkeys(line.devices, expected)


# --- any history ---

OUTCOMES = (
    Delivered(),
    Refused("no"),
    Refused("never", is_final=True),
    Unreachable("down"),
    RELEASED,
)
DEVICES = ("first", "second")
OPERATIONS = st.one_of(
    st.tuples(st.just("queue"), st.sampled_from(DEVICES), st.booleans()),
    st.tuples(st.just("claim"), st.integers(1, 3)),
    st.tuples(st.just("settle"), st.integers(0, 5), st.sampled_from(OUTCOMES)),
    st.tuples(st.sampled_from(["cancel", "retry"]), st.integers(0, 9)),
    st.tuples(st.just("resend")),
    st.tuples(st.just("crash")),
    st.tuples(st.just("wait"), st.sampled_from([1, 60, 4_000])),
)


class History:
    """The deliveries of a channel for which the engine does nothing, because it is disabled."""

    def __init__(self, world: World, channel: Channel) -> None:
        self.world = world
        self.channel = channel
        self.leased: list[LeasedDelivery] = []
        self.seqs = itertools.count(1)
        self.tokens = itertools.count(1)
        number = channel.number
        world.write(lambda tx: store_deliveries.delete_for_channel(tx, number, 10_000))

    def rows(self) -> list[Any]:
        def read(tx: Tx) -> list[Any]:
            table = schema.delivery
            mine = table.c.channel_number == self.channel.number
            return list(tx.rows(table.select().where(mine).order_by(table.c.seq)))

        return self.world.read(read)

    def list_open(self, device: str) -> list[Any]:
        return [each for each in self.rows() if each.state < 2 and each.device_id == device]

    def apply(self, operation: tuple[Any, ...]) -> None:
        name, *arguments = operation
        getattr(self, name)(*arguments)
        for device in DEVICES:
            found = self.list_open(device)
            assert sum(each.state == DeliveryState.LEASED for each in found) <= 1
            is_held = [each.due_at == HELD_BACK for each in found]
            assert not is_held or not all(is_held), "somebody has it be due"

    def queue(self, device: str, is_marked: bool) -> None:
        """Not marked are those of the release before."""
        number, seq = self.channel.number, next(self.seqs)
        new = NewDelivery(number, seq, device, RecordKind.DATA, 0, "{}", "{}", None, is_marked)
        self.world.write(lambda tx: store_deliveries.insert(tx, [new]))

    def claim(self, most: int) -> int:
        before = {each: self.list_open(each) for each in DEVICES}
        number, token = self.channel.number, next(self.tokens)

        def claim(tx: Tx) -> OrderedClaim:
            until = tx.now + 10**12
            return ordered_deliveries.claim(tx, number, most, token, until, 2**62)

        claimed = self.world.write(claim).claimed
        assert len(claimed) <= most
        for each in claimed:
            assert each.seq == before[each.device_id][0].seq, "the earliest one"
            assert all(row.state == DeliveryState.QUEUED for row in before[each.device_id])
        lease = Lease(token, 0, 0.0, 0.0)
        self.leased += [LeasedDelivery(self.channel, each, lease) for each in claimed]
        return len(claimed)

    def settle(self, index: int, outcome: Any) -> None:
        if self.leased:
            taken = self.leased.pop(index % len(self.leased))
            attempt = AttemptRecord(taken, outcome)
            self.world.write(lambda tx: claiming.settle(tx, 1, [attempt]))

    def cancel(self, index: int) -> None:
        self._change(index, lambda tx, seq: store_deliveries.cancel(tx, self.channel.number, seq))

    def retry(self, index: int) -> None:
        self._change(
            index, lambda tx, seq: store_deliveries.retry_now(tx, self.channel.number, seq)
        )

    def _change(self, index: int, change: Callable[[Tx, int], object]) -> None:
        rows = self.rows()
        if rows:
            seq = rows[index % len(rows)].seq
            self.world.write(lambda tx: change(tx, seq))

    def resend(self) -> None:
        number = self.channel.number
        self.world.write(lambda tx: dead_letters.resend(tx, number, tx.now, 0, 100))

    def crash(self) -> None:
        """What was leased is taken over; its process may still say what became of it, too late."""
        self.world.write(lambda tx: claiming.recover_orphans(tx, 1, 2**62))

    def wait(self, seconds: int) -> None:
        self.world.clock.let_pass(seconds=seconds)

    def drain(self) -> None:
        """Everything is sent at last."""
        for _ in range(len(self.rows()) + len(self.leased) + 1):
            self.wait(100_000)
            self.claim(10)
            while self.leased:
                self.settle(0, Delivered())
        assert not any(self.list_open(each) for each in DEVICES)


def test_in_any_history_the_earliest_message_of_a_device_is_sent_alone_and_none_is_forgotten(
    world: World,
) -> None:
    """However messages fail, are cancelled, retried and resent."""
    ada = world.person()
    policy = {"retryDelay": 30, "maxRetry": 2}
    connector = ada.connector(
        ada.group(),
        "https://example.com",
        params={"ordered": True},
        enabled=False,
        retryPolicy=policy,
    )
    numbers = world.read(lambda tx: store_channels.get_numbers(tx, CONNECTOR, [connector]))
    channel = world.read(lambda tx: store_channels.get_by_numbers(tx, numbers.values()))

    @seed(7)
    @settings(max_examples=40, deadline=None, database=None)
    @given(st.lists(OPERATIONS, min_size=5, max_size=30))
    def check(operations: list[tuple[Any, ...]]) -> None:
        history = History(world, next(iter(channel.values())))
        for each in operations:
            history.apply(each)
        history.drain()

    check()
