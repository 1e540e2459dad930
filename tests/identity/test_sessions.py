"""Sessions: signing in with a browser, cookies, cross-site requests, and their end."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from ipaddress import ip_network

import httpx
import pytest

from longwire.errors import Unavailable
from longwire.identity import sessions, tokens
from longwire.model import SYSTEM
from longwire.settings import Settings
from longwire.store.identity import expiry
from longwire.store.schema import metadata
from tests.browser import OWN_PAGE, Browser
from tests.waiting import PATIENCE_S, eventually
from tests.world import AdjustableClock, World, nothing_happens, ok, record_of, refused

MakeWorld = Callable[..., World]
HOUR = 3_600


@pytest.fixture
def browsers(world: World) -> Iterator[Callable[[], Browser]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Browser(world))


def every_row(world: World) -> str:
    return world.read(
        lambda tx: "\n".join(
            repr(tuple(row)) for table in metadata.sorted_tables for row in tx.rows(table.select())
        )
    )


# --- signing in and out ---


@pytest.mark.engine_free
def test_a_person_signs_in_works_and_signs_out(
    world: World, browsers: Callable[[], Browser]
) -> None:
    ada, browser = world.person("ada"), browsers()
    refused(browser.http.get("/session"), 401)
    response = browser.sign_in(clientId=ada.client_id, clientSecret=ada.client_secret)
    signed_in = ok(response)
    assert (signed_in["user"]["id"], signed_in["method"]) == (ada.id, "client")
    assert signed_in["isOperator"] is False
    cookie = response.headers["set-cookie"]
    assert cookie.startswith("longwire=lwb_")
    assert cookie.endswith("; Max-Age=1209600; Path=/; HttpOnly; SameSite=Strict")

    assert ok(browser.http.get("/session")) == signed_in
    group = ok(browser.http.post("/group", json={"name": "quay"}))["id"]
    assert ok(ada.get("/group", groupId=group))[0]["name"] == "quay"
    (item,) = ok(browser.http.get("/sessions"))["items"]
    assert item["isThis"] is True
    assert (item["userAgent"], item["address"]) == ("Browser/1.0", "127.0.0.1")
    (item,) = ok(ada.get("/sessions"))["items"]
    assert item["isThis"] is False

    secret = browser.cookie
    assert secret is not None and secret not in every_row(world)
    ended = browser.http.delete("/session")
    assert ok(ended)["value"] is True
    assert ended.headers["set-cookie"].startswith("longwire=; Max-Age=0;")
    assert browser.cookie is None
    browser.http.cookies.set("longwire", secret)
    refused(browser.http.get("/session"), 401)
    actions = [action for actor, action, _ in world.audit() if actor == ada.id]
    assert [each for each in actions if each.startswith("session")] == [
        "session.create",
        "session.end",
    ]


@pytest.mark.parametrize("engine", ["sqlite"])
def test_over_https_the_cookie_is_bound_to_the_host(make_world: MakeWorld) -> None:
    world = make_world(trusted_proxies=(ip_network("127.0.0.1"),))
    from_outside = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}
    ada = world.person("ada")
    body = {"clientId": ada.client_id, "clientSecret": ada.client_secret}
    response = world.http.post("/session", json=body, headers=OWN_PAGE | from_outside)
    cookie = response.headers["set-cookie"]
    assert cookie.startswith("__Host-longwire=lwb_") and cookie.endswith("; Secure")
    secret = cookie.partition("=")[2].partition(";")[0]
    with httpx.Client(base_url=world.url, timeout=PATIENCE_S) as http:

        def is_accepted(name: str, **headers: str) -> bool:
            sent = {**OWN_PAGE, **headers, "Cookie": f"{name}={secret}"}
            return http.get("/session", headers=sent).status_code == 200

        assert is_accepted("__Host-longwire", **from_outside)
        assert not is_accepted("longwire", **from_outside)
        assert not is_accepted("__Host-longwire")
        plain = from_outside | {"X-Forwarded-Proto": "http"}
        problem = refused(http.post("/session", json=body, headers=OWN_PAGE | plain), 400)
        assert "HTTPS" in problem["detail"]


@pytest.mark.parametrize("engine", ["sqlite"])
def test_whatever_does_not_match_is_refused_alike(
    make_world: MakeWorld,
) -> None:
    world = make_world(token_failures_per_client_max=4)
    world.clock.freeze()
    ada = world.person("ada")
    app = ada.app_client(ada.group())
    wrong = [
        {"clientId": ada.client_id, "clientSecret": "lws_wrong"},
        {"clientId": "cli_nobody", "clientSecret": ada.client_secret},
        {"clientId": app.client_id, "clientSecret": app.client_secret},
    ]
    with Browser(world) as browser:
        with nothing_happens(world):
            details = {refused(browser.sign_in(**each), 401)["detail"] for each in wrong}
            refused(browser.sign_in(), 400)
            refused(browser.sign_in(clientId="x"), 400)
            refused(browser.sign_in(clientId=3), 400, "clientId")
            refused(browser.http.post("/session", content=b"clientId=1", headers={}), 400)
            refused(
                browser.http.post(
                    "/session", content=b"{}", headers={"Content-Type": "text/plain"}
                ),
                415,
            )
            refused(browser.sign_in(clientId="x" * 9_000), 413)
        assert len(details) == 1
        # The token endpoint and this one share their limit: together they allow four failures.
        assert world.ask_token(ada.client_id, "lws_wrong").status_code == 401
        refused(browser.sign_in(**wrong[0]), 401)
        refused(browser.sign_in(**wrong[0]), 401)
        limited = browser.sign_in(clientId=ada.client_id, clientSecret=ada.client_secret)
        refused(limited, 429)
        assert int(limited.headers["retry-after"]) > 0
        assert world.ask_token(ada.client_id, ada.client_secret).status_code == 429


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite"])
def test_nobody_signs_in_all_the_time(world: World) -> None:
    """One session too many ends another one, which costs everybody their caches."""
    world.clock.freeze()
    ada, bob = world.person("ada"), world.person("bob")
    with Browser(world) as browser:
        for _ in range(200):
            browser.sign_in_as(ada)
        given = {"clientId": ada.client_id, "clientSecret": ada.client_secret}
        refused(browser.sign_in(**given), 429)
        refused(browser.sign_in(**given | {"clientSecret": "wrong"}), 429)
        browser.sign_in_as(bob)
        world.clock.let_pass(seconds=1)
        ok(browser.sign_in(**given))


# --- who acts ---


@pytest.mark.engine_free
def test_authorization_wins_and_records_never_look_at_cookies(
    world: World, browsers: Callable[[], Browser]
) -> None:
    ada, bob, browser = world.person("ada"), world.person("bob"), browsers()
    device = ada.device(ada.group())
    browser.sign_in_as(ada)
    with_token = {"Authorization": f"Bearer {bob.token}"}
    assert ok(browser.http.get("/user/me"))["id"] == ada.id
    assert ok(browser.http.get("/user/me", headers=with_token))["id"] == bob.id
    refused(browser.http.get("/user/me", headers={"Authorization": "Bearer wrong"}), 401)
    refused(browser.http.get("/session", headers=with_token), 401)
    for kind in ("data", "event"):
        refused(browser.http.post(f"/device/{kind}", json=record_of(device, kind)), 401)
    body = {"items": [record_of(device, "data")]}
    refused(browser.http.post("/device/data/batch", json=body), 401)
    # A token needs none of what a cookie needs.
    elsewhere = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    headers = {"Authorization": f"Bearer {ada.token}", **elsewhere}
    ok(world.http.post("/device/data", json=record_of(device, "data"), headers=headers))


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize(
    "name, value, is_safe_too",
    [
        ("X-Longwire-Console", None, False),
        ("X-Longwire-Console", "0", False),
        ("Origin", "https://evil.example", True),
        ("Origin", "null", True),
        ("Sec-Fetch-Site", "cross-site", True),
        ("Sec-Fetch-Site", "same-site", True),
        ("Sec-Fetch-Site", "none", False),
    ],
)
def test_each_check_refuses_another_site_by_itself(
    world: World, browsers: Callable[[], Browser], name: str, value: str | None, is_safe_too: bool
) -> None:
    ada, browser = world.person("ada"), browsers()
    browser.sign_in_as(ada)
    right = {**OWN_PAGE, "Origin": world.url}
    sent = {key: each for key, each in {**right, name: value}.items() if each is not None}
    with httpx.Client(base_url=world.url, cookies=browser.http.cookies, timeout=PATIENCE_S) as http:
        with nothing_happens(world):
            for method, path, body in (
                ("POST", "/group", {"name": "forged"}),
                ("PUT", "/user", {"name": "forged"}),
                ("DELETE", "/session", None),
                ("POST", "/session", {"clientId": ada.client_id, "clientSecret": "x"}),
            ):
                response = http.request(method, path, json=body, headers=sent)
                assert refused(response, 403)["code"] == "cross_site", path
        read = http.get("/user/me", headers=sent)
        assert read.status_code == (403 if is_safe_too else 200)
        ok(http.post("/group", json={"name": "own"}, headers=right))
        # A browser that sends neither of the two has only the header to show.
        ok(http.post("/group", json={"name": "own"}, headers={"X-Longwire-Console": "1"}))


@pytest.mark.parametrize("engine", ["sqlite"])
def test_the_origin_may_be_the_public_one_or_that_of_the_request(make_world: MakeWorld) -> None:
    world = make_world(public_url="https://Longwire.Example/iot")
    ada = world.person("ada")
    with Browser(world) as browser:
        browser.sign_in_as(ada)
        for origin, host, status in (
            ("https://longwire.example", "inner:8080", 200),
            ("http://localhost:8080", "localhost:8080", 200),
            ("https://localhost:8080", "localhost:8080", 403),
            ("http://localhost:8081", "localhost:8080", 403),
            ("http://longwire.example", "inner:8080", 403),
        ):
            (kept,) = browser.http.cookies.jar
            cookie = f"{kept.name}={kept.value}"
            headers = {"Origin": origin, "Host": host, "Cookie": cookie}
            response = browser.http.put("/user", json={"name": "Ada"}, headers=headers)
            assert response.status_code == status, (origin, host)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_two_cookies_of_one_name_are_none(world: World, browsers: Callable[[], Browser]) -> None:
    """A neighbour on the same host may have set one of them."""
    browser = browsers()
    browser.sign_in_as(world.person("ada"))
    twice = f"longwire={browser.cookie}; longwire=lwb_{'x' * 43}"
    refused(browser.http.get("/session", headers={"Cookie": twice}), 401)
    other = f'other="a=b"; longwire={browser.cookie};'
    ok(browser.http.get("/session", headers={"Cookie": other}))
    lines = [("Cookie", f"longwire={browser.cookie}"), ("Cookie", "other=1")]
    with httpx.Client(base_url=world.url, timeout=PATIENCE_S) as http:
        refused(http.get("/session", headers=lines), 400)


# --- how long it lasts ---


@pytest.mark.engine_free
def test_a_session_ends_when_it_is_not_used_and_at_last_in_any_case(
    world: World, browsers: Callable[[], Browser]
) -> None:
    ada = world.person("ada")
    used, idle = browsers(), browsers()
    used.sign_in_as(ada)
    idle.sign_in_as(ada)
    for _ in range(2):
        world.clock.let_pass(seconds=6.5 * HOUR)
        assert used.is_signed_in()
    assert not idle.is_signed_in()
    assert len(used.session_ids()) == 1
    for _ in range(28):
        world.clock.let_pass(seconds=11.3 * HOUR)
        assert used.is_signed_in()
    world.clock.let_pass(seconds=11 * HOUR)
    assert not used.is_signed_in()
    assert world.write(lambda tx: expiry.delete_expired(tx, "session", 100)) == 2
    # The sessions are gone, so nobody can be signed in with them, whatever the clock says.
    world.clock.let_pass(days=-30)
    assert world.read(lambda tx: sessions.list_of(tx, ada.id)) == []


@pytest.mark.engine_free
def test_the_operator_says_how_long_sessions_last(make_world: Callable[..., World]) -> None:
    world = make_world(session_idle_s=1_000, session_lifetime_s=2_000)
    with Browser(world) as browser:
        browser.sign_in_as(world.person("ada"))
        for _ in range(2):
            world.clock.let_pass(seconds=900)
            assert browser.is_signed_in()
        world.clock.let_pass(seconds=300)
        assert not browser.is_signed_in()
        browser.sign_in_as(world.person("bob"))
        world.clock.let_pass(seconds=1_100)
        assert not browser.is_signed_in()


@pytest.mark.engine_free
def test_its_use_is_written_every_five_minutes_at_most(
    world: World, browsers: Callable[[], Browser]
) -> None:
    world.clock.freeze()
    browser = browsers()
    browser.sign_in_as(world.person("ada"))

    def seen_at() -> str:
        return str(ok(browser.http.get("/sessions"))["items"][0]["seenAt"])

    first = seen_at()
    world.clock.let_pass(seconds=299)
    with nothing_happens(world):
        assert seen_at() == first
    world.clock.let_pass(seconds=1)
    second = seen_at()
    assert second > first
    with nothing_happens(world):
        assert seen_at() == second


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_session_can_read_while_nothing_can_be_written(
    world: World, browsers: Callable[[], Browser], monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = browsers()
    browser.sign_in_as(world.person("ada"))
    world.clock.let_pass(seconds=400)

    async def fail(work: object) -> None:
        raise Unavailable

    monkeypatch.setattr(world.database, "write", fail)
    ok(browser.http.get("/user/me"))
    refused(browser.http.put("/user", json={"name": "Ada"}), 503)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_one_session_too_many_ends_the_least_recently_used(make_world: MakeWorld) -> None:
    world = make_world(sessions_per_user_max=2)
    ada, bob = world.person("ada"), world.person("bob")
    with Browser(world) as first, Browser(world) as second, Browser(world) as third:
        first.sign_in_as(ada)
        second.sign_in_as(ada)
        world.clock.let_pass(seconds=400)
        assert first.is_signed_in()
        third.sign_in_as(bob)
        third.sign_in_as(ada)
        signed_in = [each.is_signed_in() for each in (first, second, third)]
        assert signed_in == [True, False, True]
        assert len(world.read(lambda tx: sessions.list_of(tx, bob.id))) == 1


# --- ending it ---


@pytest.mark.engine_free
def test_a_person_ends_their_own_sessions_and_nobody_elses(
    world: World, browsers: Callable[[], Browser]
) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    here, elsewhere, of_eve = browsers(), browsers(), browsers()
    here.sign_in_as(ada)
    elsewhere.sign_in_as(ada)
    of_eve.sign_in_as(eve)
    (other,) = set(here.session_ids()) - {
        each["sessionId"] for each in ok(here.http.get("/sessions"))["items"] if each["isThis"]
    }
    with nothing_happens(world):
        foreign = of_eve.http.delete("/session", params={"sessionId": other})
        nonexistent = of_eve.http.delete("/session", params={"sessionId": "ses_none"})
        assert refused(foreign, 404)["errors"] == refused(nonexistent, 404)["errors"]
        refused(eve.delete("/session"), 400, "sessionId")
        refused(world.nobody.delete("/session", sessionId=other), 401)
    ended = here.http.delete("/session", params={"sessionId": other})
    ok(ended)
    assert "set-cookie" not in ended.headers
    assert not elsewhere.is_signed_in()
    assert here.is_signed_in() and of_eve.is_signed_in()
    refused(here.http.delete("/session", params={"sessionId": other}), 404)
    ok(ada.delete("/session", sessionId=here.session_ids()[0]))
    assert not here.is_signed_in()


@pytest.mark.engine_free
def test_a_session_does_not_outlive_its_credentials(
    world: World, browsers: Callable[[], Browser]
) -> None:
    ada = world.person("ada")
    other = world.write(lambda tx: tokens.issue_credential(tx, SYSTEM, "ada@example.com"))
    first, second = browsers(), browsers()
    first.sign_in_as(ada)
    ok(second.sign_in(clientId=other.credential.client_id, clientSecret=other.secret))
    world.write(lambda tx: tokens.revoke_credential(tx, SYSTEM, ada.client_id))
    assert (first.is_signed_in(), second.is_signed_in()) == (False, True)

    short = world.write(
        lambda tx: tokens.issue_credential(
            tx, SYSTEM, "ada@example.com", expires_at=tx.now + HOUR * 1_000_000
        )
    )
    ok(first.sign_in(clientId=short.credential.client_id, clientSecret=short.secret))
    world.clock.let_pass(seconds=HOUR)
    assert not first.is_signed_in()


@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_session_that_ended_in_one_process_ends_in_the_others(settings: Settings) -> None:
    here, there = World(settings, AdjustableClock()), World(settings, AdjustableClock())
    try:
        ada = here.person("ada")
        with Browser(here) as browser, Browser(there) as same:
            browser.sign_in_as(ada)
            same.http.cookies = browser.http.cookies
            assert same.is_signed_in()
            ok(browser.http.delete("/session"))
            eventually(lambda: not same.is_signed_in())
    finally:
        there.stop()
        here.stop()
