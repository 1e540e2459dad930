"""Guessing at once and from many addresses: limits hold, and nobody is kept out of an account."""

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ipaddress import ip_network
from typing import Any

import httpx
import pytest

from longwire.identity import sign_in_links
from longwire.model import SYSTEM, LinkSource
from longwire.work.turns import SERVICE, CallerKey, current_caller
from tests.browser import OWN_PAGE, Browser
from tests.identity.test_passwords import EMAIL, GOOD, App, turn_on, with_password
from tests.waiting import eventually
from tests.world import Person, World, ok, refused

MakeWorld = Callable[..., World]
BEHIND_PROXY: dict[str, Any] = {"trusted_proxies": (ip_network("127.0.0.0/8"),)}


def send_from(world: World, address: str, path: str, **given: Any) -> httpx.Response:
    """A request that a proxy has taken from an address."""
    headers = {**OWN_PAGE, "X-Forwarded-For": address, "X-Forwarded-Proto": "https"}
    return world.http.post(path, json=given, headers=headers)


def sign_in_from(world: World, address: str, **given: Any) -> httpx.Response:
    return send_from(world, address, "/session", **given)


def at_once(count: int, send: Callable[[int], httpx.Response]) -> Counter[int]:
    """The statuses of so many requests, sent by so many threads."""
    start = threading.Barrier(count)

    def run(number: int) -> int:
        start.wait(60)
        return send(number).status_code

    with ThreadPoolExecutor(count) as pool:
        return Counter(pool.map(run, range(count)))


@pytest.fixture
def worlds(make_world: MakeWorld, engine: str) -> list[World]:
    """The processes of a service, which know of each other: two on PostgreSQL."""
    worlds = [make_world(**BEHIND_PROXY) for _ in range(2 if engine == "postgresql" else 1)]
    for world in worlds:
        eventually(lambda each=world: len(each.database.cluster.serving) == len(worlds))
        world.clock.freeze()
    return worlds


def with_app(world: World) -> tuple[Person, App]:
    """Ada, who has a password and an authenticator app."""
    with Browser(world) as browser:
        ada = with_password(world, browser)
        app, _ = turn_on(world, browser)
    return ada, app


def mail_link(world: World, ada: Person) -> str:
    return world.write(lambda tx: sign_in_links.create(tx, SYSTEM, ada.id, LinkSource.MAIL))


# --- codes of authenticator apps ---


def test_of_a_hundred_wrong_codes_at_once_ten_are_looked_at(worlds: list[World]) -> None:
    ada, _ = with_app(worlds[0])
    link = mail_link(worlds[0], ada)

    def guess(number: int) -> httpx.Response:
        world = worlds[number % len(worlds)]
        return sign_in_from(world, f"192.0.2.{number}", link=link, totp="wrong")

    statuses = at_once(100, guess)
    assert statuses == {401: 10, 429: 90}


def test_whoever_guesses_codes_with_the_password_does_not_keep_its_owner_out(
    worlds: list[World],
) -> None:
    world = worlds[0]
    ada, app = with_app(world)
    given = {"email": EMAIL, "password": GOOD}

    def exhaust() -> None:
        for number in itertools.count():
            guessed = sign_in_from(world, f"198.51.100.{number}", **given, totp="wrong")
            if guessed.status_code == 429:
                return
            refused(guessed, 401)

    for _ in range(2):
        exhaust()
        refused(sign_in_from(world, "203.0.113.1", **given, totp=app.code()), 429)
        # The mailbox is the owner's alone, and lifts it.
        ok(sign_in_from(world, "203.0.113.1", link=mail_link(world, ada), totp=app.next_code()))
        exhaust()
        printed = world.write(lambda tx: sign_in_links.create_for_terminal(tx, EMAIL))
        ok(sign_in_from(world, "203.0.113.1", link=printed))
        ok(sign_in_from(world, "203.0.113.1", **given, totp=app.next_code()))


@pytest.mark.parametrize("engine", ["sqlite"])
def test_whoever_guesses_codes_with_a_session_keeps_nobody_from_signing_in(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    world.clock.freeze()
    with Browser(world) as stolen, Browser(world) as own:
        with_password(world, stolen)
        app, _ = turn_on(world, stolen)

        def guess(_: int) -> httpx.Response:
            return stolen.http.request("DELETE", "/user/totp", json={"code": "wrong"})

        assert at_once(30, guess) == {400: 10, 429: 20}
        ok(own.sign_in(email=EMAIL, password=GOOD, totp=app.next_code()))


# --- passwords and secrets ---


@pytest.mark.parametrize("engine", ["sqlite"])
def test_of_many_wrong_secrets_at_once_few_are_looked_at_and_right_ones_are_not_limited(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    world.clock.freeze()
    ada, bob = world.person("ada"), world.person("bob")
    app = bob.app_client(bob.group())
    group = ada.group()
    mine = ada.app_client(group)
    wrong = at_once(60, lambda _: world.ask_token(app.client_id, "wrong"))
    assert wrong == {401: 5, 429: 55}
    wrong = at_once(
        60, lambda _: sign_in_from(world, "", clientId=bob.client_id, clientSecret="wrong")
    )
    assert wrong == {401: 5, 429: 55}
    # Sixty programs with the same secret start at once, after the service did.
    assert at_once(60, lambda _: world.ask_token(mine.client_id, mine.client_secret)) == {200: 60}


@pytest.mark.engine_free
def test_the_addresses_of_a_site_fail_together(make_world: MakeWorld) -> None:
    world = make_world(sign_in_failures_per_address_max=4, **BEHIND_PROXY)
    world.clock.freeze()

    def fail_from(*addresses: str) -> Counter[int]:
        attempts = (
            sign_in_from(world, address, email=f"{number}@example.com", password="wrong")
            for number, address in enumerate(addresses)
        )
        return Counter(each.status_code for each in attempts)

    assert fail_from(*(f"2001:db8:1:1::{each:x}" for each in range(10))) == {401: 4, 429: 6}
    assert fail_from(*(f"2001:db8:2:{each:x}::1" for each in range(20))) == {401: 16, 429: 4}
    assert fail_from(*(f"192.0.2.{each}" for each in range(20))) == {401: 20}
    assert fail_from(*(f"::ffff:198.51.100.{each}" for each in range(20))) == {401: 20}
    assert fail_from("2001:db8:3::1") == {401: 1}
    links = [
        send_from(world, f"2001:db8:4:4::{each:x}", "/session/link", email=EMAIL).status_code
        for each in range(12)
    ]
    assert Counter(links) == {200: 10, 429: 2}


def test_the_addresses_of_a_site_take_turns_as_one_caller(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(**BEHIND_PROXY)
    seen: set[CallerKey] = set()
    read = world.database.read

    async def watched(work: Any) -> Any:
        seen.add(current_caller.get())
        return await read(work)

    monkeypatch.setattr(world.database, "read", watched)
    for number in range(5):
        headers = {
            "X-Forwarded-For": f"2001:db8:1:1::{number:x}",
            "Authorization": f"Bearer wrong-{number}",
        }
        refused(world.http.get("/user", headers=headers), 401)
    assert [each.owner for each in seen if each != SERVICE] == ["2001:db8:1:1::/64"]


@pytest.mark.engine_free
@pytest.mark.usefixtures("shipped_hasher")
def test_strangers_from_a_whole_network_do_not_close_the_door_to_those_who_were_here(
    worlds: list[World],
) -> None:
    world = worlds[-1]
    home = "2001:db8:77:1::1"
    with Browser(worlds[0]) as browser:
        with_password(worlds[0], browser)
    # Where she was signed in before, perhaps by another process, and before a restart.
    ok(sign_in_from(worlds[0], home, email=EMAIL, password=GOOD))
    numbers = itertools.count(1)

    with _guessing(
        world,
        lambda: sign_in_from(
            world, f"2001:db8:{next(numbers) % 4096:x}::1", email=EMAIL, password="wrong"
        ),
    ) as seen:
        eventually(lambda: seen[503] > 20)  # the places of strangers are taken
        for number in range(12):
            ok(sign_in_from(world, f"2001:db8:77:1::{number:x}", email=EMAIL, password=GOOD))
    assert seen[401] > 0


@contextmanager
def _guessing(world: World, send: Callable[[], httpx.Response]) -> Iterator[Counter[int]]:
    """Sixty threads that send as fast as they can, but for a pause after a refusal."""
    seen: Counter[int] = Counter()
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            status = send().status_code
            seen[status] += 1
            if status != 401:
                stop.wait(0.2)  # each costs this process as much as the service

    with ThreadPoolExecutor(60) as pool:
        for _ in range(60):
            pool.submit(run)
        try:
            yield seen
        finally:
            stop.set()
