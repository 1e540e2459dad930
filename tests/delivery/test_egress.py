"""Where connections may go: addresses in every disguise, names that change, resolvers that hang."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
import pytest
import uvloop

from longwire.delivery.destinations.base import Unreachable
from longwire.delivery.destinations.connections import outcome_of_error
from longwire.delivery.http import egress as guard
from longwire.delivery.http.egress import (
    RESOLUTIONS_MAX,
    RESOLUTIONS_PER_CALLER_MAX,
    Egress,
    EgressDenied,
)
from longwire.delivery.http.http_client import build_connector
from longwire.work.turns import CallerKey, current_caller
from tests.delivery.receiver import Receiver
from tests.waiting import PATIENCE_S, eventually

LOOPBACK = ("127.0.0.0/8", "::1/128")


def run(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


# --- addresses ---


@pytest.mark.parametrize(
    "address",
    [
        *("1.1.1.1", "8.8.8.8", "93.184.215.14", "172.15.255.255", "172.32.0.0", "100.63.255.255"),
        *("100.128.0.0", "192.0.1.1", "198.17.255.255", "198.20.0.0", "223.255.255.255"),
        *("169.253.255.255", "169.255.0.0", "168.63.129.15", "126.255.255.255", "128.0.0.0"),
        *(
            "2606:4700:4700::1111",
            "2a00:1450:4001:80b::200e",
            "2001:200::1",
            "2001:4860:4860::8888",
        ),
        "64:ff9b::808:808",  # NAT64 of 8.8.8.8
        "::ffff:8.8.8.8",
    ],
)
def test_a_public_address_may_be_reached(address: str) -> None:
    assert Egress().is_permitted(address)


REFUSED = [
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255"),
    *("127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255"),
    *("192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1"),
    *("198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255"),
    *("240.0.0.1", "255.255.255.255", "100.100.100.200", "168.63.129.16"),
    *("::", "::1", "fe80::1", "febf::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1"),
    *("ff0e::1", "2001:db8::1", "3fff::1", "100::1", "5f00::1", "4000::1"),
    # An IPv4 address inside: mapped, compatible, translated, 6to4, Teredo, NAT64 of both kinds.
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "::10.0.0.1"),
    *("::ffff:0:127.0.0.1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:808:808::1"),
    *("2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:0:7f00:1::", "64:ff9b::7f00:1"),
    *("64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1", "64:ff9b:1::808:808", "64:ff9b:1::7f00:1"),
]


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_not_public_may_not_be_reached(address: str) -> None:
    assert not Egress().is_permitted(address)
    with pytest.raises(EgressDenied, match="is not a public address"):
        Egress().check(address)


@pytest.mark.parametrize(
    "text",
    [
        *("", "localhost", "example.com", "8.8.8", "8.8.8.8.", " 8.8.8.8", "8.8.8.8/32"),
        *("010.8.8.8", "134744072", "8.8.8.8\0", "[2606:4700::1]"),
        *("2606:4700::1%eth0", "2606:4700::1%1", "fe80::1%lo"),
    ],
)
def test_what_is_not_one_plain_address_may_not_be_reached(text: str) -> None:
    assert not Egress().is_permitted(text)
    assert not Egress(["0.0.0.0/0", "::/0"]).is_permitted(text)


@pytest.mark.parametrize(
    "allowed, address, is_permitted",
    [
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.0.0.1", True),  # public anyway
        ("10.0.0.0/8", "192.168.0.1", False),
        ("10.0.0.0/8", "127.0.0.1", False),
        ("10.0.0.0/8", "::ffff:10.1.2.3", True),  # the same address
        ("10.0.0.0/8", "::10.1.2.3", False),
        ("10.0.0.0/8", "64:ff9b::10.1.2.3", False),  # another way, not mentioned
        ("10.0.0.0/8", "2002:a01:203::", False),
        ("192.168.7.9", "192.168.7.9", True),
        ("192.168.7.9", "192.168.7.10", False),
        ("::1/128", "::1", True),
        ("::1/128", "127.0.0.1", False),
        ("fd00::/8", "fd12::1", True),
        ("64:ff9b::/96", "64:ff9b::10.1.2.3", True),
        ("127.0.0.0/8", "0.0.0.0", False),
    ],
)
def test_the_operator_allows_by_network(allowed: str, address: str, is_permitted: bool) -> None:
    assert Egress([allowed]).is_permitted(address) is is_permitted


@pytest.mark.parametrize("network", ["10.0.0.1/8", "ten", "", "10.0.0.0/33", "10.0.0.0-10.0.0.9"])
def test_a_network_that_is_none_is_not_taken(network: str) -> None:
    with pytest.raises(ValueError):
        Egress([network])


def test_this_machine_is_not_reached_under_a_public_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Loopback stands for an address of our own that nothing but the system knows to be ours.
    monkeypatch.setattr(guard, "NOT_PUBLIC", ())
    assert not Egress().is_permitted("127.0.0.1")
    assert Egress().is_permitted("8.8.8.8")


# --- at save: nobody is asked ---


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F.1", "0177.0.0.1"),
        *(
            "017700000001",
            "0",
            "0.0",
            "①②⑦.0.0.1",
            "127。0。0。1",
            "\uff11\uff12\uff17.0.0.1",
            "10.1",
        ),
        *("2852039166", "0xa9fea9fe", "169.254.43518", "::1", "0:0:0:0:0:0:0:1", "::ffff:7f00:1"),
        *("::ffff:127.0.0.1", "fe80::1", "64:ff9b::7f00:1", "FEC0::1"),
    ],
)
def test_a_literal_address_is_refused_in_every_spelling(host: str) -> None:
    assert "is not a public address" in str(Egress().validate_host(host))


@pytest.mark.parametrize(
    "host",
    [
        *("", "127.0.0.1\0.example.com", "a b", "a\nb", "a/b", "u@h", "a..b", "x" * 64, "[::1]"),
        *(".", "a" * 254, "h\u00a0h", "host?", "host#", "back\\slash"),
    ],
)
def test_what_cannot_be_the_name_of_a_host_is_refused(host: str) -> None:
    assert Egress(LOOPBACK).validate_host(host) == "not a valid host name"


@pytest.mark.parametrize("host", ["fe80::1%lo", "::1%1", "example.com%eth0", "127%2e0.0.1"])
def test_a_zone_is_refused(host: str) -> None:
    assert "zone" in str(Egress(LOOPBACK).validate_host(host))


@pytest.mark.parametrize(
    "host", ["example.com", "localhost", "8.8.8.8", "134744072", "2606:4700::1", "bücher.example"]
)
def test_a_name_or_a_public_address_is_fine_at_save(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers(monkeypatch, {})
    assert Egress().validate_host(host) is None
    assert asked == []


def test_an_allowed_address_is_fine_at_save() -> None:
    assert Egress(LOOPBACK).validate_host("127.1") is None


# --- names ---

System = Callable[..., Any]
getaddrinfo: System = socket.getaddrinfo


def answers(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, Any], default: list[str] | None = None
) -> list[str]:
    """Play the system's resolver; returns the names it is asked for, as they come."""
    asked: list[str] = []

    def answer(host: str, port: Any, *args: Any, flags: int = 0, **options: Any) -> Any:
        if flags & socket.AI_NUMERICHOST:
            return getaddrinfo(host, port, *args, flags=flags, **options)
        asked.append(host)
        found = names.get(host, default)
        if callable(found):
            found = found()
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (each, 0, 0, 0))
            if ":" in each
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 0))
            for each in found
        ]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return asked


def test_a_name_inside_the_network_fails_like_an_unknown_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers(monkeypatch, {"db.internal": ["10.0.0.5"]})
    outcomes = []
    for host in ("db.internal", "nothing.internal"):
        with pytest.raises(socket.gaierror) as failed:
            run(Egress().resolve(host))
        outcomes.append(outcome_of_error(failed.value))
    assert outcomes == [Unreachable(guard.NOT_RESOLVED)] * 2


def test_this_machines_own_name_is_denied() -> None:
    with pytest.raises(socket.gaierror):
        run(Egress().resolve("localhost"))


def test_an_allowed_name_resolves() -> None:
    assert "127.0.0.1" in run(Egress(LOOPBACK).resolve("localhost"))


@pytest.mark.parametrize("host", ["127.1", "0", "::1", "169.254.169.254", "fe80::1%lo"])
def test_an_address_in_place_of_a_name_is_denied(host: str) -> None:
    with pytest.raises(EgressDenied):
        run(Egress().resolve(host))


def test_an_address_in_place_of_a_name_is_itself() -> None:
    assert run(Egress().resolve("134744072")) == ["8.8.8.8"]


@pytest.mark.parametrize(
    "addresses",
    [
        ["8.8.8.8", "127.0.0.1"],
        ["127.0.0.1", "8.8.8.8"],
        ["8.8.8.8", "fd00::1"],  # a public A beside a private AAAA
        ["2606:4700::1", "10.0.0.1"],
        ["8.8.8.8", "1.1.1.1", "::ffff:169.254.169.254"],
    ],
)
def test_one_address_that_is_not_public_is_enough(
    addresses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, {"mixed.example": addresses})
    with pytest.raises(socket.gaierror):
        run(Egress().resolve("mixed.example"))


def test_all_public_addresses_are_given_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, {"public.example": ["2606:4700::1", "8.8.8.8", "2606:4700::1"]})
    assert run(Egress().resolve("public.example")) == ["2606:4700::1", "8.8.8.8"]


@pytest.mark.parametrize("host", ["nowhere.example", "a..b", "a\0b", "", "x" * 64 + ".example"])
def test_a_name_without_addresses_does_not_resolve(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, {})
    with pytest.raises(socket.gaierror):
        run(Egress().resolve(host))


def test_a_name_is_revalidated_each_time_it_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = iter([["8.8.8.8"], ["127.0.0.1"]])
    answers(monkeypatch, {"rebind.example": lambda: next(turns)})
    egress = Egress()
    assert run(egress.resolve("rebind.example")) == ["8.8.8.8"]
    with pytest.raises(socket.gaierror):
        run(egress.resolve("rebind.example"))


# --- a resolver that hangs ---


def test_a_name_that_hangs_is_given_up_while_others_resolve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_go = threading.Event()
    answers(
        monkeypatch,
        {"slow.example": lambda: let_go.wait(60) and [], "fast.example": ["8.8.8.8"]},
    )
    monkeypatch.setattr(guard, "RESOLVE_TIMEOUT_S", 0.2)
    egress = Egress()

    async def story() -> tuple[Any, Any]:
        slow = asyncio.create_task(egress.resolve("slow.example"))
        await asyncio.sleep(0)  # its time runs
        monkeypatch.setattr(guard, "RESOLVE_TIMEOUT_S", PATIENCE_S)
        fast = await egress.resolve("fast.example")
        return (await asyncio.gather(slow, return_exceptions=True))[0], fast

    slow, fast = run(story())
    let_go.set()
    assert isinstance(slow, socket.gaierror)
    assert fast == ["8.8.8.8"]


def test_a_hundred_names_that_hang_hold_no_more_than_a_few_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_go = threading.Event()
    asked = answers(monkeypatch, {"fine.example": ["8.8.8.8"]})
    monkeypatch.setattr(guard, "RESOLVE_TIMEOUT_S", PATIENCE_S)
    answering = socket.getaddrinfo

    def hang(host: str, *args: Any, **options: Any) -> Any:
        if host.startswith("slow") and not options.get("flags"):
            asked.append(host)
            let_go.wait(PATIENCE_S)
            raise socket.gaierror(socket.EAI_AGAIN, "later")
        return answering(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    egress = Egress()

    async def story() -> list[Any]:
        names = [asyncio.create_task(egress.resolve(f"slow{n}.example")) for n in range(99)]
        while len(asked) < RESOLUTIONS_MAX:  # noqa: ASYNC110 (by threads)
            await asyncio.sleep(0.01)
        monkeypatch.setattr(guard, "RESOLVE_TIMEOUT_S", 0.1)
        late = await asyncio.gather(egress.resolve("slow99.example"), return_exceptions=True)
        for each in names:
            each.cancel()
        await asyncio.wait(names)
        return late

    (late,) = run(story())
    assert isinstance(late, socket.gaierror)
    assert len(asked) == RESOLUTIONS_MAX
    # The others have waited for too long by now: nobody asks for them, and there is room again.
    monkeypatch.setattr(guard, "RESOLVE_TIMEOUT_S", 0.0)
    let_go.set()
    eventually(lambda: not egress._dns._pending)
    assert len(asked) == RESOLUTIONS_MAX
    monkeypatch.setattr(guard, "RESOLVE_TIMEOUT_S", PATIENCE_S)
    assert run(egress.resolve("fine.example")) == ["8.8.8.8"]
    assert len(asked) == RESOLUTIONS_MAX + 1


def test_whose_names_hang_leaves_threads_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()
    names: dict[str, Any] = {f"slow{n}.example": lambda: let_go.wait(60) and [] for n in range(100)}
    asked = answers(monkeypatch, {**names, "fine.example": ["8.8.8.8"]})
    egress = Egress()

    async def story() -> list[str]:
        current_caller.set(CallerKey.alone("mallory"))
        hanging = [asyncio.create_task(egress.resolve(name)) for name in names]
        await asyncio.sleep(0)  # they are queued
        current_caller.set(CallerKey.alone("ada"))
        try:
            return await egress.resolve("fine.example")
        finally:
            for each in hanging:
                each.cancel()

    assert run(story()) == ["8.8.8.8"]
    assert len(asked) <= RESOLUTIONS_PER_CALLER_MAX + 1
    let_go.set()
    eventually(lambda: not egress._dns._pending)  # while the names are still ours


def test_many_who_ask_for_one_name_share_the_answer_even_when_some_give_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_go = threading.Event()
    asked = answers(monkeypatch, {"shared.example": lambda: let_go.wait(60) and ["8.8.8.8"]})
    egress = Egress()

    async def story() -> list[Any]:
        tasks = [asyncio.create_task(egress.resolve("shared.example")) for _ in range(10)]
        await asyncio.sleep(0.05)
        tasks[0].cancel()
        await asyncio.wait({tasks[0]})
        let_go.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, *others = run(story())
    assert isinstance(first, asyncio.CancelledError)
    assert others == [["8.8.8.8"]] * 9
    # Threads that an earlier test let go may still ask for names of its own.
    assert asked.count("shared.example") == 1


# --- connections ---


def test_a_connection_is_made_to_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = iter([["127.0.0.1"], ["10.0.0.1"]])
    asked = answers(monkeypatch, {"hook.example": lambda: next(turns)})
    with Receiver() as receiver:
        outgoing = run(Egress(LOOPBACK).connect("hook.example", receiver.port))
        with outgoing:
            assert outgoing.getpeername() == ("127.0.0.1", receiver.port)
            assert outgoing.gettimeout() == 0
    assert asked == ["hook.example"]


def test_a_denied_connection_is_not_even_started() -> None:
    with Receiver() as receiver:
        for host in ("localhost", "127.0.0.1", "127.1", "::ffff:127.0.0.1"):
            with pytest.raises((EgressDenied, socket.gaierror)):
                run(Egress().connect(host, receiver.port))
        assert receiver.connections == 0


def test_the_next_address_is_tried_when_one_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers(monkeypatch, {"two.example": ["127.0.0.2", "127.0.0.1"]})
    with Receiver() as receiver:
        outgoing = run(Egress(LOOPBACK).connect("two.example", receiver.port))
        with outgoing:
            assert outgoing.getpeername()[0] == "127.0.0.1"


def test_a_closed_port_is_an_error_of_the_system() -> None:
    with Receiver() as receiver:
        receiver.down()
        with pytest.raises(ConnectionRefusedError):
            run(Egress(LOOPBACK).connect("127.0.0.1", receiver.port))


def test_a_connection_that_is_not_answered_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "CONNECT_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        with pytest.raises(TimeoutError):
            run(Egress(LOOPBACK).connect("127.0.0.1", port))
        for each in waiting:
            each.close()


# --- aiohttp ---


def get(egress: Egress, url: str) -> Any:
    async def request() -> int:
        connector = build_connector(egress)
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.get(url) as response,
        ):
            return response.status

    return run(request())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]"])
def test_aiohttp_does_not_reach_what_is_denied(host: str) -> None:
    with Receiver() as receiver:
        with pytest.raises((EgressDenied, aiohttp.ClientConnectorDNSError)):
            get(Egress(), f"http://{host}:{receiver.port}/")
        assert receiver.connections == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_aiohttp_reaches_what_is_allowed(host: str) -> None:
    with Receiver() as receiver:
        assert get(Egress(LOOPBACK), f"http://{host}:{receiver.port}/") == 200


def test_aiohttp_tries_all_addresses_of_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, {"two.example": ["127.0.0.2", "127.0.0.1"]})
    with Receiver() as receiver:
        assert get(Egress(LOOPBACK), f"http://two.example:{receiver.port}/") == 200


def test_aiohttp_does_not_reach_a_name_with_one_denied_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers(monkeypatch, {"mixed.example": ["127.0.0.1", "10.0.0.1"]})
    with Receiver() as receiver:
        with pytest.raises(aiohttp.ClientConnectorDNSError):
            get(Egress(LOOPBACK), f"http://mixed.example:{receiver.port}/")
        assert receiver.connections == 0
