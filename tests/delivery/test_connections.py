"""A connection with many senders: who opens it, who may stay on it, and when it is closed."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from longwire.delivery.destinations import connections
from longwire.delivery.destinations.base import FailureCode, Outcome, Refused, Unreachable
from longwire.delivery.destinations.connections import (
    CONNECTION_LOST,
    ConnectionFailed,
    SharedConnection,
    outcome_of_error,
)
from longwire.delivery.http.egress import NOT_RESOLVED, Egress, EgressDenied


class Plain:
    """A connection that keeps still."""

    def __init__(self) -> None:
        self.is_open = True
        self.times_closed = 0

    async def close(self) -> None:
        self.is_open = False
        self.times_closed += 1


class Place:
    """Where connections are opened, when `is_there` lets them."""

    def __init__(self, egress: Egress | None = None, *, keep_on_cancel: bool = False) -> None:
        self.is_there = asyncio.Event()
        self.is_there.set()
        self.attempts = 0
        self.opened: list[Plain] = []
        self.shared = SharedConnection(
            egress or Egress(), self._open, keep_on_cancel=keep_on_cancel
        )

    async def _open(self) -> Plain:
        self.attempts += 1
        await self.is_there.wait()
        self.opened.append(Plain())
        return self.opened[-1]

    async def stay(self, end: asyncio.Event, error: Exception | None = None) -> Plain:
        async with self.shared.lease() as connection:
            await end.wait()
            if error is not None:
                raise error
            return connection

    async def visit(self) -> Plain:
        async with self.shared.lease() as connection:
            return connection

    @property
    def closed(self) -> list[int]:
        return [each.times_closed for each in self.opened]


def run_story(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(60):
            await story()
        assert asyncio.all_tasks() == {asyncio.current_task()}, "something runs on"

    asyncio.run(whole())


def test_connections_are_kept_up_to_a_limit_of_all_destinations() -> None:
    async def story() -> None:
        egress = Egress(connections_max=2)
        places = [Place(egress) for _ in range(4)]
        for place in [*places, *places]:
            await place.visit()
            while place.shared._closing:
                await asyncio.wait(place.shared._closing)
        assert [len(place.opened) for place in places] == [1, 1, 2, 2]
        assert egress.open_connections.count == 2
        for place in places:
            await place.shared.close()
        assert egress.open_connections.count == 0

    run_story(story)


def test_a_connection_that_nobody_uses_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        place = Place()
        end = asyncio.Event()
        staying = asyncio.create_task(place.stay(end))
        while not place.opened:  # noqa: ASYNC110
            await asyncio.sleep(0)
        monkeypatch.setattr(connections, "IDLE_MAX_S", 0.0)
        place.shared._evict_idle()
        assert place.closed == [0]
        end.set()
        await staying
        place.shared._evict_idle()
        while place.closed == [0]:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert (await place.visit()).is_open
        await place.shared.close()

    run_story(story)


async def steps() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def called_off(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_many_share_one_and_it_stays_open_until_it_is_closed() -> None:
    async def story() -> None:
        place = Place()
        first = await asyncio.gather(*(place.visit() for _ in range(5)))
        assert set(first) == {await place.visit()}
        assert (place.attempts, place.closed) == (1, [0])
        await place.shared.close()
        assert place.closed == [1]
        assert await place.visit() not in first
        await place.shared.close()
        assert place.closed == [1, 1]

    run_story(story)


@pytest.mark.parametrize("keep_on_cancel", [False, True])
def test_trouble_sends_the_next_to_another_one_and_lets_those_finish_who_are_on_it(
    keep_on_cancel: bool,
) -> None:
    async def story() -> None:
        place = Place(keep_on_cancel=keep_on_cancel)
        trouble, end = asyncio.Event(), asyncio.Event()
        unlucky = asyncio.create_task(place.stay(trouble, OSError()))
        patient = asyncio.create_task(place.stay(end))
        await steps()
        trouble.set()
        with pytest.raises(OSError):
            await unlucky
        assert await place.visit() is place.opened[1]
        assert place.closed == [0, 0]
        end.set()
        assert await patient is place.opened[0]
        await steps()
        assert place.closed == [1, 0]
        await place.shared.close()

    run_story(story)


@pytest.mark.parametrize(("keep_on_cancel", "opened"), [(True, 1), (False, 2)])
def test_a_sender_that_is_called_off_is_trouble_only_where_it_was_said(
    keep_on_cancel: bool, opened: int
) -> None:
    async def story() -> None:
        place = Place(keep_on_cancel=keep_on_cancel)
        hasty = asyncio.create_task(place.stay(asyncio.Event()))
        await steps()
        await called_off(hasty)
        await place.visit()
        await steps()
        assert len(place.opened) == opened
        assert place.closed == ([0] if keep_on_cancel else [1, 0])
        await place.shared.close()

    run_story(story)


@pytest.mark.parametrize("keep_on_cancel", [False, True])
def test_who_gives_up_waiting_leaves_the_attempt_to_the_others_and_the_last_one_ends_it(
    keep_on_cancel: bool,
) -> None:
    async def story() -> None:
        place = Place(keep_on_cancel=keep_on_cancel)
        place.is_there.clear()
        hasty, patient = (asyncio.create_task(place.visit()) for _ in range(2))
        await steps()
        await called_off(hasty)
        place.is_there.set()
        assert await patient is place.opened[0]
        await place.shared.close()

        place.is_there.clear()
        alone = asyncio.create_task(place.visit())
        await steps()
        await called_off(alone)
        await steps()
        place.is_there.set()
        await place.visit()
        assert (place.attempts, len(place.opened)) == (3, 2)
        await place.shared.close()

    run_story(story)


def test_one_that_was_lost_is_replaced_and_closed() -> None:
    async def story() -> None:
        place = Place()
        (await place.visit()).is_open = False
        assert await place.visit() is place.opened[1]
        await steps()
        assert place.closed == [1, 0]
        await place.shared.close()

    run_story(story)


def test_closing_reaches_all_that_are_in_use_and_those_who_wait() -> None:
    async def story() -> None:
        place = Place()
        trouble, end = asyncio.Event(), asyncio.Event()
        unlucky = asyncio.create_task(place.stay(trouble, OSError()))
        staying = asyncio.create_task(place.stay(end))
        await steps()
        trouble.set()
        await asyncio.wait([unlucky])
        assert isinstance(unlucky.exception(), OSError)
        place.is_there.clear()
        waiting = asyncio.create_task(place.visit())
        await steps()
        await place.shared.close()
        assert place.closed == [1]
        with pytest.raises(ConnectionAbortedError):
            await waiting
        end.set()
        await staying
        assert place.closed == [1]

    run_story(story)


def test_what_a_library_cancels_by_itself_is_a_lost_connection() -> None:
    async def story() -> None:
        place = Place(keep_on_cancel=True)
        given_up = asyncio.get_running_loop().create_future()
        given_up.cancel()
        with pytest.raises(ConnectionAbortedError):
            async with place.shared.lease():
                await given_up
        assert await place.visit() is place.opened[1]
        await place.shared.close()

    run_story(story)


def test_opening_takes_no_longer_than_allowed_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "CONNECT_TIMEOUT_S", 0.5)

    async def story() -> None:
        place = Place()
        place.is_there.clear()
        late = await asyncio.gather(*(place.visit() for _ in range(3)), return_exceptions=True)
        assert [outcome_of_error(each) for each in late] == [
            Unreachable("timed out", code=FailureCode.TIMED_OUT)
        ] * 3
        place.is_there.set()
        await place.visit()
        assert place.attempts == 2
        await place.shared.close()

    run_story(story)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ConnectionFailed(Refused("the broker is full")), Refused("the broker is full")),
        (
            EgressDenied("not there"),
            Unreachable("not there", is_final=True, code=FailureCode.EGRESS_DENIED),
        ),
        (
            ssl.SSLCertVerificationError(),
            Unreachable("the certificate is not trusted", code=FailureCode.TLS_FAILED),
        ),
        (ssl.SSLError(), Unreachable("TLS handshake failed", code=FailureCode.TLS_FAILED)),
        (socket.gaierror(), Unreachable(NOT_RESOLVED)),
        (ConnectionRefusedError(), Unreachable("connection refused")),
        (TimeoutError(), Unreachable("timed out", code=FailureCode.TIMED_OUT)),
        (OSError(errno.EHOSTUNREACH, ""), Unreachable("no route to host")),
        (ConnectionResetError("secret"), CONNECTION_LOST),
        (asyncio.IncompleteReadError(b"secret", 9), CONNECTION_LOST),
        (
            KeyError("secret"),
            Unreachable("invalid response"),
        ),
    ],
)
def test_an_error_on_the_way_is_said_in_our_words(error: Exception, outcome: Outcome) -> None:
    assert outcome_of_error(error) == outcome
