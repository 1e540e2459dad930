"""Passwords and authenticator apps: signing in, changing them, guessing, and forgetting."""

import asyncio
import base64
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import argon2
import httpx
import pytest

from longwire.errors import TooManyRequests, Unavailable
from longwire.identity import passwords, sign_in_links, totp
from longwire.identity.passwords import PasswordHashing
from longwire.model import SYSTEM, LinkSource
from tests.browser import OWN_PAGE, Browser
from tests.identity.test_sign_in_links import URL, secret_of, show_link
from tests.notifications.standins import MailServer
from tests.waiting import eventually
from tests.world import Person, World, nothing_happens, ok, refused

MakeWorld = Callable[..., World]
EMAIL = "ada@example.com"
GOOD = "correct horse battery"
BETTER = "staple in the stable"


@pytest.fixture
def browsers(world: World) -> Iterator[Callable[[], Browser]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Browser(world))


def set_password(browser: Browser, new: str, old: str | None = None) -> httpx.Response:
    return browser.http.put("/user/password", json={"new": new, "old": old})


def with_password(world: World, browser: Browser, password: str = GOOD) -> Person:
    """Ada, who has signed in and set a password."""
    ada = world.person("ada")
    browser.sign_in_as(ada)
    ok(set_password(browser, password))
    return ada


# --- signing in ---


@pytest.mark.engine_free
def test_a_password_signs_in_and_is_stored_for_nobody_to_guess(
    world: World, browsers: Callable[[], Browser]
) -> None:
    first, other, new = browsers(), browsers(), browsers()
    other.sign_in_as(world.person("ada"))
    world.write(lambda tx: sign_in_links.create_for_terminal(tx, EMAIL))
    link = world.write(lambda tx: sign_in_links.create_for_terminal(tx, EMAIL))
    ada = with_password(world, first)
    # Whoever sets a password wants nobody else in: other sessions and links are gone.
    assert first.is_signed_in() and not other.is_signed_in()
    refused(new.sign_in(link=link), 401)
    signed_in = ok(new.sign_in(email="ADA@example.com", password=GOOD))
    assert (signed_in["user"]["id"], signed_in["method"]) == (ada.id, "password")
    assert (signed_in["hasPassword"], signed_in["hasTotp"]) == (True, False)
    rows = repr(world.everything())
    assert GOOD not in rows and "argon2" not in rows


@pytest.mark.usefixtures("shipped_hasher")
@pytest.mark.parametrize("engine", ["sqlite"])
def test_wrong_passwords_and_unknown_accounts_look_alike_and_are_limited(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []
    matches = passwords._matches
    monkeypatch.setattr(
        passwords, "_matches", lambda *given: checked.append(given[0]) or matches(*given)
    )
    world.clock.freeze()
    with Browser(world) as browser:
        with_password(world, browser)
        world.person("bob")  # who has none
        with nothing_happens(world):
            problems = {
                refused(browser.sign_in(email=email, password=password), 401)["detail"]
                for email, password in (
                    (EMAIL, "wrong"),
                    ("bob@example.com", GOOD),
                    ("nobody@example.com", GOOD),
                )
            }
            assert len(problems) == 1
            # Each of them took the time of one check, with the parameters of today.
            assert len(checked) == 3
            assert len({each.split("$")[3] for each in checked}) == 1
            refused(browser.sign_in(email=EMAIL), 400)
            refused(browser.sign_in(email="x", password=GOOD), 400, "email")
            refused(browser.sign_in(password=GOOD, totp="1"), 400)
            for _ in range(4):
                refused(browser.sign_in(email=EMAIL, password="wrong"), 401)
            limited = browser.sign_in(email=EMAIL, password=GOOD)
            refused(limited, 429)
            assert int(limited.headers["retry-after"]) > 0
            assert len(checked) == 7
        world.clock.let_pass(seconds=60)
        ok(browser.sign_in(email=EMAIL, password=GOOD))


@pytest.mark.parametrize("engine", ["sqlite"])
def test_the_operator_can_turn_passwords_off(make_world: MakeWorld) -> None:
    world = make_world(password_sign_in=False)
    with Browser(world) as browser:
        with_password(world, browser)
        assert "password" not in ok(browser.http.get("/console/settings"))["signIn"]
        refused(browser.sign_in(email=EMAIL, password=GOOD), 403)


@pytest.mark.usefixtures("shipped_hasher")
@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_hash_of_other_parameters_is_renewed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    weak = argon2.PasswordHasher(time_cost=1, memory_cost=8 * 1024, parallelism=1)
    with Browser(world) as browser:
        with monkeypatch.context() as formerly:
            formerly.setattr(passwords, "_hasher", weak)
            ada = with_password(world, browser)

        def stored() -> str:
            return str(world.read(lambda tx: passwords.get_hash(tx, ada.id)))

        assert "m=8192,t=1," in stored()
        refused(browser.sign_in(email=EMAIL, password="wrong"), 401)
        assert "m=8192,t=1," in stored()
        ok(browser.sign_in(email=EMAIL, password=GOOD))
        renewed = stored()
        assert "m=32768,t=2," in renewed
        ok(browser.sign_in(email=EMAIL, password=GOOD))
        assert stored() == renewed


def test_two_passwords_are_checked_at_once_and_few_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many addresses guess, memory and threads are bounded, and so is the wait."""
    running, most, release = [0], [0], threading.Event()
    lock = threading.Lock()

    def slow(stored: str, password: str) -> bool:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        release.wait(60)
        with lock:
            running[0] -= 1
        return True

    monkeypatch.setattr(passwords, "_matches", slow)

    async def story() -> tuple[list[object], list[object]]:
        hashing = PasswordHashing()

        def check(address: str, *, is_known: bool = False) -> "asyncio.Task[bool]":
            return asyncio.create_task(hashing.matches(None, GOOD, address, is_known=is_known))

        strangers = [check(f"192.0.2.{number // 5}") for number in range(40)]
        strangers += [check(f"2001:db8::{number}:0:0:0:1") for number in range(9)]
        await asyncio.sleep(0)
        # However many strangers wait, whoever was there before has half of the places.
        known = [check(f"192.0.2.{number // 5}", is_known=True) for number in range(35)]
        await asyncio.sleep(0)
        release.set()
        results = await asyncio.gather(*strangers, return_exceptions=True)
        results_of_known = await asyncio.gather(*known, return_exceptions=True)
        assert await hashing.matches(None, GOOD, "192.0.2.1", is_known=False)
        hashing.close()
        return list(results), list(results_of_known)

    results, of_known = asyncio.run(story())
    assert most[0] <= 2
    for each, refusals in ((results, (6, 18)), (of_known, (6, 4))):
        assert each.count(True) == 25
        kinds = [type(result) for result in each if result is not True]
        # The fifth of an address, and those beyond the places.
        assert (kinds.count(TooManyRequests), kinds.count(Unavailable)) == refusals


# --- changing it ---


@pytest.mark.parametrize("engine", ["sqlite"])
def test_after_ten_minutes_the_present_password_is_needed(
    world: World, browsers: Callable[[], Browser]
) -> None:
    browser = browsers()
    ada = with_password(world, browser)
    refused(set_password(browser, "too short"), 400, "new")
    world.clock.let_pass(seconds=601)
    assert browser.is_signed_in()  # which is noted
    client = ada.app_client(ada.group())
    with nothing_happens(world):
        refused(set_password(browser, BETTER), 403)
        refused(set_password(browser, BETTER, "wrong"), 400, "old")
        refused(ada.put("/user/password", {"new": BETTER}), 403)
        refused(world.nobody.put("/user/password", {"new": BETTER}), 401)
        refused(client.put("/user/password", {"new": BETTER, "old": GOOD}), 403)
        refused(ada.put("/user/password", {"new": BETTER, "old": GOOD}), 403)
    ok(set_password(browser, BETTER, GOOD))
    assert browser.is_signed_in()
    # A token alone sets no first password: it would outlive the token.
    refused(world.person("bob").put("/user/password", {"new": BETTER, "old": ""}), 403)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_guesses_of_the_present_password_are_limited(make_world: MakeWorld) -> None:
    world = make_world(sign_in_failures_per_account_max=2)
    world.clock.freeze()
    with Browser(world) as browser:
        with_password(world, browser)
        for _ in range(2):
            refused(set_password(browser, BETTER, "wrong"), 400, "old")
        refused(set_password(browser, BETTER, GOOD), 429)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_who_was_shown_a_link_cannot_set_a_password_with_it(
    world: World, browsers: Callable[[], Browser]
) -> None:
    ada, bob, browser = world.person("ada"), world.person("bob"), browsers()
    group = ada.group()
    ada.invite(bob, group, "viewer")
    ok(browser.sign_in(link=secret_of(show_link(ada, "bob@example.com", group))))
    with nothing_happens(world):
        refused(set_password(browser, GOOD), 403)
        refused(browser.http.post("/user/totp"), 403)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_forgotten_password_is_replaced_by_mail(make_world: MakeWorld) -> None:
    with MailServer() as server:
        world = make_world(**server.settings())
        with Browser(world) as browser, Browser(world) as other:
            with_password(world, browser)
            responses = [
                other.http.post("/user/password/reset", json={"email": email})
                for email in (EMAIL, "nobody@example.com")
            ]
            assert responses[0].content == responses[1].content
            eventually(lambda: len(server.mails) == 2)  # the other tells that one was set
            (found,) = filter(None, (URL.search(each.text) for each in server.mails))
            assert found[2] == "reset"
            ok(other.sign_in(link=found[3]))
            ok(set_password(other, BETTER))
            assert not browser.is_signed_in()
            refused(browser.sign_in(email=EMAIL, password=GOOD), 401)
            ok(browser.sign_in(email=EMAIL, password=BETTER))


# --- authenticator apps ---


def test_codes_are_those_of_the_rfc() -> None:
    secret = b"12345678901234567890"
    for second, code in (
        (59, "94287082"),
        (1_111_111_109, "07081804"),
        (1_111_111_111, "14050471"),
        (1_234_567_890, "89005924"),
        (2_000_000_000, "69279037"),
        (20_000_000_000, "65353130"),
    ):
        assert totp.compute_code(secret, second // 30, digits=8) == code
        assert totp.compute_code(secret, second // 30) == code[2:]


class App:
    """An authenticator app."""

    def __init__(self, world: World, secret: str) -> None:
        self._world = world
        self._secret = base64.b32decode(secret)

    def code(self, *, steps: int = 0) -> str:
        step = self._world.clock.now() // 30_000_000 + steps
        return totp.compute_code(self._secret, step)

    def next_code(self) -> str:
        """A code that was not used yet."""
        self._world.clock.let_pass(seconds=30)
        return self.code()


def turn_on(world: World, browser: Browser) -> tuple[App, list[str]]:
    enrolled = ok(browser.http.post("/user/totp"))
    assert enrolled["uri"].startswith("otpauth://totp/longwire%3Aada%40example.com?secret=")
    app = App(world, enrolled["secret"])
    codes = ok(browser.http.put("/user/totp", json={"code": app.code()}))["recoveryCodes"]
    return app, list(codes)


def test_a_code_is_needed_beside_the_password_and_works_once(
    world: World, browsers: Callable[[], Browser]
) -> None:
    world.clock.freeze()
    browser, other = browsers(), browsers()
    with_password(world, browser)
    ok(browser.http.post("/user/totp"))
    ok(other.sign_in(email=EMAIL, password=GOOD))  # not needed before it is confirmed
    refused(browser.http.put("/user/totp", json={"code": "000000x"}), 400, "code")
    app, recovery = turn_on(world, browser)
    refused(browser.http.post("/user/totp"), 409)
    assert len(set(recovery)) == 10
    rows = repr(world.everything())
    assert not any(each in rows or each.replace("-", "") in rows for each in recovery)
    given = {"email": EMAIL, "password": GOOD}
    with nothing_happens(world):
        assert refused(other.sign_in(**given), 401)["code"] == "totp_required"
        for wrong in (app.code(), app.code(steps=3), app.code(steps=-3), "x", "\u0663"):
            problem = refused(other.sign_in(**given, totp=wrong), 401)
            assert problem["code"] == "not_authenticated"
            world.clock.let_pass(seconds=-0.001)
    world.clock.let_pass(seconds=120)
    # Without the password a code is nothing, and is not used up by it.
    refused(other.sign_in(email=EMAIL, password="wrong", totp=app.code()), 401)
    code = app.code()
    assert ok(other.sign_in(**given, totp=f"{code[:3]} {code[3:]}"))["hasTotp"] is True
    refused(other.sign_in(**given, totp=code), 401)
    ok(other.sign_in(**given, totp=app.code(steps=1)))  # a clock that is a little fast
    refused(other.sign_in(**given, totp=app.code(steps=-1)), 401)  # older than one that was used
    world.clock.let_pass(seconds=600)
    ok(other.sign_in(**given, totp=recovery[0].upper()))
    refused(other.sign_in(**given, totp=recovery[0]), 401)
    ok(other.sign_in(**given, totp=app.next_code()))
    world.clock.let_pass(seconds=600)
    refused(other.http.request("DELETE", "/user/totp", json={"code": "123"}), 400, "code")
    ok(other.http.request("DELETE", "/user/totp", json={"code": recovery[1]}))
    refused(other.http.request("DELETE", "/user/totp", json={"code": recovery[2]}), 409)
    ok(browser.sign_in(**given))


@pytest.mark.parametrize("engine", ["sqlite"])
def test_links_by_mail_need_a_code_and_those_of_the_terminal_do_not(
    world: World, browsers: Callable[[], Browser]
) -> None:
    browser, other = browsers(), browsers()
    ada = with_password(world, browser)
    app, _ = turn_on(world, browser)
    mailed = world.write(lambda tx: sign_in_links.create(tx, SYSTEM, ada.id, LinkSource.MAIL))
    with nothing_happens(world):
        assert refused(other.sign_in(link=mailed), 401)["code"] == "totp_required"
        refused(other.sign_in(link=mailed, totp="000"), 401)
    ok(other.sign_in(link=mailed, totp=app.next_code()))
    refused(other.sign_in(link=mailed, totp=app.next_code()), 401)
    printed = world.write(lambda tx: sign_in_links.create_for_terminal(tx, EMAIL))
    ok(other.sign_in(link=printed))


@pytest.mark.parametrize("engine", ["sqlite"])
def test_codes_are_guessed_ten_times_from_any_addresses(make_world: MakeWorld) -> None:
    world = make_world(sign_in_failures_per_account_max=1_000)
    world.clock.freeze()
    with Browser(world) as browser:
        with_password(world, browser)
        app, _ = turn_on(world, browser)
        given = {"email": EMAIL, "password": GOOD}
        for _ in range(10):
            refused(browser.sign_in(**given, totp="wrong"), 401)
        limited = browser.sign_in(**given, totp=app.code(steps=1))
        refused(limited, 429)
        world.clock.let_pass(seconds=int(limited.headers["retry-after"]))
        ok(browser.sign_in(**given, totp=app.code()))


@pytest.mark.parametrize("engine", ["sqlite"])
def test_what_changes_ways_to_sign_in_needs_a_new_session(
    world: World, browsers: Callable[[], Browser]
) -> None:
    browser = browsers()
    ada = with_password(world, browser)
    ok(browser.http.post("/user/totp"))
    world.clock.let_pass(seconds=601)
    assert browser.is_signed_in()  # which is noted
    with nothing_happens(world):
        refused(browser.http.post("/user/totp"), 403)
        refused(browser.http.put("/user/totp", json={"code": "1"}), 403)
        refused(ada.post("/user/totp"), 403)
        refused(browser.http.put("/user/totp", json={}), 400, "code")
        cross = {**OWN_PAGE, "Origin": "https://evil.example"}
        refused(browser.http.put("/user/password", json={"new": GOOD}, headers=cross), 403)
