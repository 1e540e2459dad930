"""Passkeys over HTTP, with an authenticator that can also cheat."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from tests.sign_in.authenticator import USER_PRESENT, USER_VERIFIED, SoftPasskey
from tests.world import Person, World, nothing_happens, ok, refused

ORIGIN = "http://localhost:8080"
SQLITE = pytest.mark.parametrize("engine", ["sqlite"])

Browse = Callable[..., "Browser"]


class Browser:
    """A browser on a page of the service, with its cookies."""

    def __init__(self, world: World) -> None:
        headers = {"X-Longwire-Console": "1"}
        self.http = httpx.Client(base_url=world.url, headers=headers, timeout=60)

    def register(self, passkey: SoftPasskey, name: str = "Phone") -> httpx.Response:
        options = ok(self.http.post("/user/passkey/options"))["publicKey"]
        body = {"name": name, "credential": passkey.create(options)}
        return self.http.post("/user/passkey", json=body)

    def challenge(self) -> dict[str, Any]:
        return dict(ok(self.http.post("/session/passkey/options"))["publicKey"])

    def sign_in(self, passkey: SoftPasskey) -> httpx.Response:
        return self.send(passkey.sign(self.challenge()))

    def send(self, credential: Any) -> httpx.Response:
        return self.http.post("/session/passkey", json={"credential": credential})

    def passkeys(self) -> list[dict[str, Any]]:
        return list(ok(self.http.get("/user/passkeys"))["items"])


@pytest.fixture
def browse() -> Iterator[Browse]:
    """Starts browsers of people who have just signed in, or of nobody."""
    browsers: list[Browser] = []

    def start(world: World, person: Person | None = None) -> Browser:
        browsers.append(Browser(world))
        if person is not None:
            client = {"clientId": person.client_id, "clientSecret": person.client_secret}
            ok(browsers[-1].http.post("/session", json=client))
        return browsers[-1]

    yield start
    for browser in browsers:
        browser.http.close()


@pytest.mark.engine_free
def test_a_passkey_signs_its_owner_in_who_names_nobody(world: World, browse: Browse) -> None:
    ada, passkey = world.person("ada"), SoftPasskey(origin=ORIGIN)
    at_home, elsewhere = browse(world, ada), browse(world)
    created = ok(at_home.register(passkey))
    assert created["name"] == "Phone"
    assert at_home.passkeys() == [created]

    signed_in = elsewhere.sign_in(passkey)
    assert ok(signed_in)["user"]["email"] == "ada@example.com"
    assert "HttpOnly; SameSite=Strict" in signed_in.headers["set-cookie"]
    assert ok(elsewhere.http.get("/session"))["method"] == "passkey"
    assert ok(elsewhere.http.get("/user/me"))["id"] == ada.id
    assert elsewhere.passkeys()[0]["seenAt"] > created["createdAt"]

    body = {"passkeyId": created["passkeyId"], "name": "Old phone"}
    assert ok(at_home.http.put("/user/passkey", json=body))["name"] == "Old phone"
    # Deleted, it signs nobody in, and whoever did is out.
    ok(at_home.http.delete("/user/passkey", params={"passkeyId": created["passkeyId"]}))
    refused(elsewhere.http.get("/session"), 401)
    refused(elsewhere.sign_in(passkey), 401)
    assert at_home.passkeys() == []
    assert [action for _, action, _ in world.audit() if action.startswith("passkey")] == [
        *("passkey.create", "passkey.update", "passkey.delete"),
    ]


@pytest.mark.slow
@SQLITE
def test_what_proves_nothing_signs_nobody_in(world: World, browse: Browse) -> None:
    ada, ben = world.person("ada"), world.person("ben")
    passkey = SoftPasskey(origin=ORIGIN)
    owner, browser = browse(world, ada), browse(world)
    ok(owner.register(passkey))
    ok(browser.sign_in(passkey))
    replayed = passkey.sign(browser.challenge())
    ok(browser.send(replayed))
    browser = browse(world)

    def cheat(**changes: Any) -> dict[str, Any]:
        """What the authenticator signs with something wrong."""
        honest = {name: getattr(passkey, name) for name in changes}
        for name, value in changes.items():
            setattr(passkey, name, value)
        credential = passkey.sign(browser.challenge())
        for name, value in honest.items():
            setattr(passkey, name, value)
        return credential

    registering = ok(owner.http.post("/user/passkey/options"))["publicKey"]
    stranger = SoftPasskey(origin=ORIGIN)
    stranger.user, stranger.count = ada.id.encode(), 100
    late = passkey.sign(browser.challenge())
    other_key = stranger.sign(browser.challenge())
    other_key["id"] = other_key["rawId"] = late["id"]
    with nothing_happens(world):
        for credential in (
            replayed,
            cheat(origin="http://evil.test"),
            cheat(origin="http://localhost.evil.test"),
            cheat(site="evil.test"),
            cheat(flags=USER_PRESENT),
            cheat(flags=USER_VERIFIED),
            cheat(user=ben.id.encode()),
            cheat(count=0),  # a copy of the key
            other_key,
            stranger.sign(browser.challenge()),
            passkey.sign(registering),
            passkey.sign({"challenge": "AAAA"}),
            {},
            {"rawId": 1, "response": []},
            {**late, "response": {**late["response"], "signature": "AAAA"}},
            {**late, "response": {**late["response"], "authenticatorData": "AAAA"}},
            {**late, "response": {**late["response"], "clientDataJSON": "e30"}},
        ):
            refused(browser.send(credential), 401)
    world.clock.let_pass(seconds=301)
    refused(browser.send(late), 401)
    refused(browser.http.post("/session/passkey", json={}), 400, "credential")
    no_header = {"X-Longwire-Console": "0"}
    refused(browser.http.post("/session/passkey/options", headers=no_header), 403)
    refused(browser.http.post("/session/passkey", headers=no_header, json={}), 403)
    ok(browser.sign_in(passkey))


@pytest.mark.slow
@SQLITE
def test_only_whoever_has_just_signed_in_registers_a_passkey(world: World, browse: Browse) -> None:
    ada, ben = world.person("ada"), world.person("ben")
    browser, other = browse(world, ada), browse(world, ben)
    passkey = SoftPasskey(origin=ORIGIN)
    options = ok(browser.http.post("/user/passkey/options"))["publicKey"]
    assert (options["rp"]["id"], options["attestation"]) == ("localhost", "none")
    chosen = options["authenticatorSelection"]
    assert (chosen["residentKey"], chosen["userVerification"]) == ("required", "required")

    def register(browser: Browser, credential: Any) -> httpx.Response:
        return browser.http.post("/user/passkey", json={"name": "x", "credential": credential})

    created = passkey.create(options)
    unverified, elsewhere = SoftPasskey(origin=ORIGIN), SoftPasskey(origin="https://evil.test")
    unverified.flags = USER_PRESENT
    with nothing_happens(world):
        refused(register(other, created), 400, "credential")  # a challenge of somebody else
        refused(register(browser, unverified.create(options)), 400, "credential")
        refused(register(browser, elsewhere.create(options)), 400, "credential")
        refused(register(browser, {"response": {"clientDataJSON": "=="}}), 400, "credential")
        sign_in = browser.challenge() | {"user": options["user"]}
        refused(register(browser, passkey.create(sign_in)), 400, "credential")
        # A token is not a session, and a session of yesterday is not a fresh one.
        refused(ada.post("/user/passkey/options"), 403)
        refused(ada.post("/user/passkey", {"name": "x", "credential": created}), 403)
    ok(register(browser, created))
    refused(register(browser, created), 400, "credential")  # used before
    refused(browser.register(passkey), 409)  # registered before
    listed = ok(browser.http.post("/user/passkey/options"))["publicKey"]["excludeCredentials"]
    assert [each["id"] for each in listed] == [created["id"]]
    world.clock.let_pass(seconds=601)
    refused(browser.http.post("/user/passkey/options"), 403)
    refused(register(browser, created), 403)


@SQLITE
def test_passkeys_of_others_do_not_exist(world: World, browse: Browse) -> None:
    owner, other = browse(world, world.person("ada")), browse(world, world.person("ben"))
    passkey = ok(owner.register(SoftPasskey(origin=ORIGIN)))["passkeyId"]
    assert other.passkeys() == []
    with nothing_happens(world):
        for unknown in (passkey, "psk_unknown"):
            body = {"passkeyId": unknown, "name": "mine"}
            refused(other.http.put("/user/passkey", json=body), 404, "passkeyId")
            refused(other.http.delete("/user/passkey", params={"passkeyId": unknown}), 404)


@SQLITE
def test_a_user_has_no_more_passkeys_than_allowed(
    make_world: Callable[..., World], browse: Browse
) -> None:
    world = make_world(passkeys_per_user_max=1)
    browser = browse(world, world.person("ada"))
    ok(browser.register(SoftPasskey(origin=ORIGIN)))
    problem = refused(browser.register(SoftPasskey(origin=ORIGIN)), 409)
    assert problem["code"] == "limit_reached"


def test_of_the_same_proof_sent_many_times_at_once_one_counts(world: World, browse: Browse) -> None:
    browser, passkey = browse(world, world.person("ada")), SoftPasskey(origin=ORIGIN)
    options = ok(browser.http.post("/user/passkey/options"))["publicKey"]
    body = {"name": "x", "credential": passkey.create(options)}
    with ThreadPoolExecutor(8) as pool:
        sent = list(pool.map(lambda _: browser.http.post("/user/passkey", json=body), range(8)))
    assert sorted(each.status_code for each in sent) == [200, *[400] * 7]
    assert len(browser.passkeys()) == 1
    credential = passkey.sign(browser.challenge())
    others = [browse(world) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda each: each.send(credential), others))
    assert sorted(each.status_code for each in answers) == [200, *[401] * 7]
    assert sum("set-cookie" in each.headers for each in answers) == 1


@SQLITE
def test_the_id_of_somebody_elses_passkey_cannot_be_registered(
    world: World, browse: Browse
) -> None:
    ada, ben = world.person("ada"), world.person("ben")
    owner, other = browse(world, ada), browse(world, ben)
    passkey, copy = SoftPasskey(origin=ORIGIN), SoftPasskey(origin=ORIGIN)
    ok(owner.register(passkey))
    copy.id = passkey.id
    with nothing_happens(world):
        refused(other.register(copy), 409)
        # Nor does another key under that id sign anybody in.
        for user in (ada, ben):
            copy.user, copy.count = user.id.encode(), 100
            refused(browse(world).sign_in(copy), 401)
    assert other.passkeys() == []
    assert ok(browse(world).sign_in(passkey))["user"]["id"] == ada.id


@SQLITE
def test_a_registration_ends_with_its_session(world: World, browse: Browse) -> None:
    ada = world.person("ada")
    browser, passkey = browse(world, ada), SoftPasskey(origin=ORIGIN)
    options = ok(browser.http.post("/user/passkey/options"))["publicKey"]
    ok(browser.http.delete("/session"))
    body = {"name": "x", "credential": passkey.create(options)}
    refused(browser.http.post("/user/passkey", json=body), 401)
    assert browse(world, ada).passkeys() == []


@SQLITE
def test_a_passkey_of_who_has_left_opens_the_account_but_not_the_group(
    world: World, browse: Browse
) -> None:
    ada, ben = world.person("ada"), world.person("ben")
    group = ada.group()
    ada.invite(ben, group, "viewer")
    passkey = SoftPasskey(origin=ORIGIN)
    ok(browse(world, ben).register(passkey))
    browser = browse(world)
    ok(browser.sign_in(passkey))
    ok(browser.http.get("/group/devices", params={"groupId": group}))
    ok(ada.delete("/group/user", groupId=group, userId=ben.id))
    for each in (browser, browse(world)):
        ok(each.sign_in(passkey))
        refused(each.http.get("/group/devices", params={"groupId": group}), 404)


@SQLITE
def test_challenges_and_large_proofs_leave_nothing_behind(world: World, browse: Browse) -> None:
    browser, passkey = browse(world, world.person("ada")), SoftPasskey(origin=ORIGIN)
    ok(browser.register(passkey))
    credential = passkey.sign(browser.challenge())
    with nothing_happens(world), capture_logs() as logs:
        challenges = {browser.challenge()["challenge"] for _ in range(100)}
        assert len(challenges) == 100
        for member in ("clientDataJSON", "authenticatorData", "signature", "userHandle"):
            for size, status in ((14_000, 401), (17_000, 413)):
                large = {**credential["response"], member: "e" * size}
                refused(browser.send({**credential, "response": large}), status)
        for levels, status in ((20, 401), (40, 400)):
            deep: Any = "x"
            for _ in range(levels):
                deep = {"response": deep}
            refused(browser.send(deep), status)
    # Nor does the log repeat what strangers send.
    reasons = [each["reason"] for each in logs if each["event"] == "a passkey was refused"]
    assert len(reasons) == 5
    assert max(map(len, reasons)) <= 200
    ok(browser.send(credential))


@SQLITE
def test_failures_from_an_address_are_limited(world: World, browse: Browse) -> None:
    world.clock.freeze()
    browser = browse(world)
    statuses = [browser.send({}).status_code for _ in range(61)]
    assert statuses == [401] * 60 + [429]
    world.clock.let_pass(seconds=2)
    assert browser.send({}).status_code == 401


@SQLITE
@pytest.mark.parametrize(
    "public_url, site, origin",
    [
        ("https://longwire.example.com", "longwire.example.com", "https://longwire.example.com"),
        ("https://a.example.com:8443/x", "a.example.com", "https://a.example.com:8443"),
        ("http://longwire.example.com", None, None),
        ("https://192.0.2.7", None, None),
    ],
)
def test_passkeys_are_for_the_public_host_name_over_https(
    make_world: Callable[..., World],
    browse: Browse,
    public_url: str,
    site: str | None,
    origin: str | None,
) -> None:
    world = make_world(public_url=public_url)
    browser = browse(world, world.person("ada"))
    if site is None or origin is None:
        refused(browser.http.post("/user/passkey/options"), 409)
        refused(browser.http.post("/session/passkey/options"), 409)
        return
    passkey = SoftPasskey(origin=origin, site=site)
    ok(browser.register(passkey))
    ok(browser.sign_in(passkey))
    passkey.origin = ORIGIN
    refused(browser.sign_in(passkey), 401)
