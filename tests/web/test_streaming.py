"""Responses in chunks: clients that stop reading or leave, streams that fail, and a stop."""

import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import closing
from dataclasses import dataclass, field

import httpx
import pytest

from longwire.api.services import AsyncContext
from longwire.web.fields import Query
from longwire.web.routing import Route, Stream, StreamResponse, routes_by_path
from tests.waiting import PATIENCE_S, eventually
from tests.world import World, refused

CHUNK = bytes(32 * 1024)
MIB = 1024 * 1024


class Which(Query):
    fails: bool = False


@dataclass
class Endless:
    """A stream without an end, which knows how far it has come."""

    taken: int = 0
    ended: list[str] = field(default_factory=list)

    async def open(self, context: AsyncContext, query: Which) -> StreamResponse:
        """Stream for ever."""
        return StreamResponse(self.chunks(fails=query.fails), "application/x-endless")

    async def chunks(self, *, fails: bool) -> AsyncGenerator[bytes, None]:
        try:
            while not (fails and self.taken > 3):
                self.taken += 1
                yield CHUNK
            raise RuntimeError("on purpose")
        finally:
            self.ended.append("ended")


@pytest.fixture
def endless() -> Endless:
    return Endless()


@pytest.fixture
def write_timeout_s() -> float:
    return PATIENCE_S


@pytest.fixture
def world(make_world: Callable[..., World], endless: Endless, write_timeout_s: float) -> World:
    world = make_world(write_timeout_s=write_timeout_s)
    route = Route(
        "GET",
        "/endless",
        endless.open,
        "any valid token",
        object_rule="none",
        tag="Service",
        stream=Stream(open_per_caller_max=2, open_max=3, media_types=()),
    )
    world.app._request_handler._routes |= routes_by_path([route])
    return world


@pytest.fixture
def engine() -> str:
    return "sqlite"


def open_stream(world: World, token: str | None, path: str = "/endless") -> socket.socket:
    """Send the request, and read nothing."""
    client = socket.create_connection(("127.0.0.1", world.port))
    head = f"GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n"
    client.sendall(head.encode())
    return client


@pytest.mark.parametrize("write_timeout_s", [1.0])
def test_a_client_that_does_not_read_holds_the_stream_back_and_is_cut_off(
    world: World, endless: Endless
) -> None:
    with closing(open_stream(world, world.operator.token)):
        eventually(lambda: endless.ended == ["ended"])
    # What the buffers of two sockets and of the connection take.
    assert endless.taken * len(CHUNK) < 16 * MIB


def test_a_client_that_leaves_ends_the_stream(world: World, endless: Endless) -> None:
    with closing(open_stream(world, world.operator.token)) as client:
        assert client.recv(16).startswith(b"HTTP/1.1 200")
    eventually(lambda: endless.ended == ["ended"])


def test_a_stream_that_fails_does_not_look_complete(world: World, endless: Endless) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
        world.operator.get("/endless", fails="true")
    assert endless.ended == ["ended"]


def test_a_head_request_opens_no_stream(world: World, endless: Endless) -> None:
    response = world.operator.request("HEAD", "/endless")
    assert (response.status_code, response.headers["content-type"]) == (
        200,
        "application/x-endless",
    )
    assert endless.taken == 0


@pytest.mark.parametrize("write_timeout_s", [1.0])
def test_a_stop_does_not_wait_for_streams(world: World, endless: Endless) -> None:
    with closing(open_stream(world, world.operator.token)) as client:
        assert client.recv(16).startswith(b"HTTP/1.1 200")
        world.restart()
        assert endless.ended == ["ended"]


def test_streams_are_limited_by_caller_and_in_all_and_validated_like_any_request(
    world: World, endless: Endless
) -> None:
    others = [world.person(name) for name in ("ada", "bob")]
    refused(world.nobody.get("/endless"), 401)
    refused(world.operator.get("/endless", fails="perhaps"), 400, "fails")
    with closing(open_stream(world, world.operator.token)) as first:
        first.recv(16)
        with closing(open_stream(world, world.operator.token)) as second:
            second.recv(16)
            assert world.operator.get("/endless").headers["retry-after"] == "10"
            with closing(open_stream(world, others[0].token)) as third:
                third.recv(16)
                refused(others[1].get("/endless"), 429)
        eventually(lambda: len(endless.ended) >= 2)
        with closing(open_stream(world, world.operator.token)) as again:
            assert again.recv(16).startswith(b"HTTP/1.1 200")
