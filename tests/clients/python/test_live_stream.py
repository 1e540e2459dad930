"""The live stream of the Python client."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from longwire.live import hub
from longwire_client import AsyncClient, Client, errors, events
from tests.world import Person, World

pytestmark = pytest.mark.engine_free


def collect(stream: Any, count: int) -> list[Any]:
    """So many arrivals, and everything else that came before the last of them."""
    found = list[Any]()
    for event in stream:
        found.append(event)
        if sum(len(each.items) for each in found if isinstance(each, events.Records)) >= count:
            return found
    return found


def values(found: list[Any]) -> list[str]:
    return [
        each.record.data
        for event in found
        if isinstance(event, events.Records)
        for each in event.items
    ]


def test_the_stream_goes_on_after_a_restart_without_a_gap(
    world: World, client: Client, ada: Person
) -> None:
    group = ada.group()
    device = ada.device(group, name="Cold room")
    stream = client.live(group)
    events_of = iter(stream)
    assert isinstance(next(events_of), events.Connected)
    ada.reports(device, data="1")
    found = collect(events_of, 1)
    assert found[-1].items[0].device_name == "Cold room"
    assert found[-1].items[0].kind == "data"
    assert stream.last_id is not None
    world.restart(keep_port=True)
    ada.reports(device, data="2")
    again = collect(events_of, 1)
    assert isinstance(next(each for each in again), events.Connected)
    assert values(again) == ["2"]
    # In another process, from where the first one was.
    ada.reports(device, data="3")
    later = collect(client.live([group], kinds=["data"], last_id=stream.last_id), 2)
    assert values(later) == ["2", "3"]


def test_it_says_what_was_lost(
    client: Client, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = ada.group()
    device = ada.device(group)
    ada.reports(device, data="0")
    last_id = next(iter(client.records.arrivals(group))).id
    monkeypatch.setattr(hub, "BOX_RECORDS_MAX", 2)
    for number in range(1, 6):
        ada.reports(device, data=str(number))
    for event in client.live(group, last_id=last_id):
        if isinstance(event, events.Lost):
            break
        assert not isinstance(event, events.Records)
    missed = client.records.arrivals(group, after=event.gap.from_, ascending=True)
    assert [each.record.data for each in missed] == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_events_may_arrive_in_any_pieces(size: int) -> None:
    stream = (
        b": hello\n\nevent: hello\nid: 1\ndata: {}\r\n\n"
        b"event: records\nid: 2\ndata: [1,\ndata: 2]\n\n"
        b": heartbeat\nid: 3\n\nevent: lost\ndata: cut o"
    )
    parser = events.EventParser()
    found = [
        each
        for start in range(0, len(stream), size)
        for each in parser.feed(stream[start : start + size])
    ]
    assert found == [("hello", b"{}"), ("records", b"[1,\n2]")]
    assert parser.last_id == "3"
    parser.restart()
    assert list(parser.feed(b"data: x\n\n")) == [("", b"x")]
    assert parser.last_id == "3"


def test_a_stream_that_is_not_allowed_ends(
    world: World, client: Client, ada: Person, connect: Callable[..., Client]
) -> None:
    with pytest.raises(errors.NotFound):
        next(iter(client.live("1")))
    group = ada.group()
    eve = world.person("eve")
    ada.invite(eve, group, ada.role("record.read"))
    stream = iter(connect(person=eve).live(group))
    assert isinstance(next(stream), events.Connected)
    ada.delete("/group/user", groupId=group, userId=eve.id)
    with pytest.raises((errors.NotFound, errors.NotAllowed)):
        for _ in stream:
            pass


def test_the_same_stream_with_asyncio(world: World, ada: Person) -> None:
    group = ada.group()
    device = ada.device(group)

    async def story() -> str:
        credentials = {"client_id": ada.client_id, "client_secret": ada.client_secret}
        async with AsyncClient(world.url, **credentials) as client:
            async for event in client.live(group):
                if isinstance(event, events.Connected):
                    await asyncio.to_thread(ada.reports, device, data="1")
                if isinstance(event, events.Records):
                    return str(event.items[0].record.data)
        return ""

    assert asyncio.run(story()) == "1"
