"""People sign in with a real OpenID provider: login, consent, and everything that can go wrong."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from longwire import oidc_provider
from longwire.clock import SECOND
from longwire.identity import external_identities
from longwire.identity.external_identities import (
    ExternalIdentity,
    Refusal,
    SignInPolicy,
    SignInRefused,
)
from longwire.store.cache import cache_epochs
from longwire.store.identity import challenges, expiry
from tests.conftest import LOOPBACK
from tests.sign_in.identity_provider import PUBLIC_URL, Browser, IdentityProvider, change_query
from tests.world import World, nothing_happens, ok

MakeWorld = Callable[..., World]
Browse = Callable[[World], Browser]
SQLITE = pytest.mark.parametrize("engine", ["sqlite"])


@pytest.fixture(scope="module")
def provider() -> Iterator[IdentityProvider]:
    running = IdentityProvider()
    yield running
    running.stop()


@pytest.fixture
def browse() -> Iterator[Browse]:
    """Starts browsers, and closes them afterwards."""
    browsers: list[Browser] = []

    def start(world: World) -> Browser:
        browsers.append(Browser(world))
        return browsers[-1]

    yield start
    for browser in browsers:
        browser.http.close()


def failed(code: str) -> str:
    return f"../../console/sign-in?error={code}"


@pytest.mark.engine_free
def test_a_person_is_bound_at_the_first_sign_in_and_recognised_by_the_subject_afterwards(
    make_world: MakeWorld, browse: Browse, provider: IdentityProvider
) -> None:
    world = make_world(**provider.settings())
    ada = world.person("ada")
    provider.account("s-1", email="Ada@Example.com", email_verified=True, given_name="Ada")

    browser = browse(world)
    assert browser.sign_in(provider, "s-1", returnTo="/docs?x=1#top") == "/docs?x=1#top"
    assert browser.who() == "ada@example.com"
    assert ok(browser.http.get("/session"))["method"] == "oidc"
    assert ok(browser.http.get("/user/me"))["id"] == ada.id
    # The cookie of the session is the only one that is left, and no page reads it.
    assert [cookie.name for cookie in browser.http.cookies.jar] == ["longwire"]

    # She gets another address at the provider, and somebody else gets hers.
    provider.account("s-1", email="ada.king@example.com", email_verified=True)
    provider.account("s-2", email="ada@example.com", email_verified=True)
    again, other = browse(world), browse(world)
    assert again.sign_in(provider, "s-1") == "/console/"
    assert again.who() == "ada@example.com"
    assert other.sign_in(provider, "s-2") == failed("other_subject")
    assert other.who() is None


@SQLITE
def test_who_is_unknown_unverified_or_of_another_domain_is_refused_and_changes_nothing(
    make_world: MakeWorld, browse: Browse, provider: IdentityProvider
) -> None:
    world = make_world(**provider.settings(oidc_domains="example.com"))
    world.person("ben")
    world.person("kim")
    browser = browse(world)
    for claims, code in (
        ({"email": "ben@example.com", "email_verified": False}, "email_not_verified"),
        ({"email": "ben@example.com"}, "email_not_verified"),
        ({"email_verified": True}, "email_not_verified"),
        ({"email": "ben@mail.example.com", "email_verified": True}, "domain_not_allowed"),
        ({"email": "ben@example.com@evil.test", "email_verified": True}, "domain_not_allowed"),
        # In lower case, a Kelvin sign is a k.
        ({"email": "\u212aim@example.com", "email_verified": True}, "email_not_verified"),
        ({"email": "zoe@example.com", "email_verified": True}, "unknown_user"),
    ):
        provider.account("b-1", **claims)
        with nothing_happens(world):
            assert browser.sign_in(provider, "b-1") == failed(code)
            assert browser.who() is None


@pytest.mark.engine_free
def test_claims_give_and_take_memberships_as_the_operator_says(
    make_world: MakeWorld, browse: Browse, provider: IdentityProvider
) -> None:
    world = make_world(**provider.settings(oidc_creates_users=True))
    owner, cleo = world.person("owner"), world.person("cleo")
    north, south, hand = owner.group("north"), owner.group("south"), owner.group("by hand")
    owner.invite(cleo, hand, "manager")
    rules = (
        f"{north} manager CN=crew, north\n{north} viewer all; {south} viewer all;{hand} viewer all"
    )
    missing = "\n1 viewer all;" + f"{south} unheard-of CN=crew, north"
    world.settings = replace(world.settings, oidc_memberships=rules + missing)
    world.restart()

    def sign_in(login: str, *values: str) -> dict[str, str]:
        """Sign in with these values of the claim; the roles that the person has then."""
        email = f"{login}@example.com"
        claims = {"email": email, "email_verified": True, "groups": list(values)}
        provider.account(login, **claims, given_name=login.title(), family_name="Oh")
        browser = browse(world)
        assert browser.sign_in(provider, login) == "/console/"
        listed = ok(browser.http.get("/user/groups"))["items"]
        return {group["id"]: group["role"]["id"] for group in listed}

    given = {north: "manager", south: "viewer", hand: "manager"}
    assert sign_in("cleo", "CN=crew, north", "all") == given
    epoch = world.read(cache_epochs.read_epochs).auth
    assert sign_in("cleo", "CN=crew, north", "all") == given
    assert world.read(cache_epochs.read_epochs).auth == epoch  # nobody's cache is invalidated
    # A value is gone: the next rule of its group counts. What was given by hand stays.
    assert sign_in("cleo", "other", "all") == {north: "viewer", south: "viewer", hand: "manager"}
    assert sign_in("cleo") == {hand: "manager"}

    assert sign_in("dora", "all") == {north: "viewer", south: "viewer", hand: "viewer"}
    assert sign_in("dora", "all") == {north: "viewer", south: "viewer", hand: "viewer"}
    people = {each["email"]: each for each in ok(owner.get("/group/users", groupId=north))["items"]}
    assert people["dora@example.com"]["firstName"] == "Dora"


@SQLITE
def test_only_the_browser_that_began_can_finish_once_and_within_ten_minutes(
    make_world: MakeWorld, browse: Browse, provider: IdentityProvider
) -> None:
    world = make_world(**provider.settings())
    world.person("dan")
    provider.account("d-1", email="dan@example.com", email_verified=True)
    browser, stranger, late = browse(world), browse(world), browse(world)
    back = provider.log_in(browser.begin(), "d-1")

    # A link that leads somebody else into an account of the attacker.
    assert stranger.come_back(back) == failed("invalid_state")
    stranger.begin()
    assert stranger.come_back(back) == failed("invalid_state")
    assert stranger.who() is None

    with nothing_happens(world):
        browser.http.head(back.removeprefix(PUBLIC_URL))
    flow = browser.http.cookies["longwire-oidc"]
    assert browser.come_back(back) == "/console/"
    assert browser.who() == "dan@example.com"
    # Reloaded, and replayed with the cookie.
    assert browser.come_back(back) == failed("invalid_state")
    browser.http.cookies.set("longwire-oidc", flow)
    assert browser.come_back(back) in (failed("provider_refused"), failed("invalid_state"))

    back = provider.log_in(late.begin(), "d-1")
    world.clock.let_pass(seconds=601)
    assert late.come_back(back) == failed("invalid_state")
    # Sealed by somebody else, or for something else.
    late.http.cookies.set("longwire-oidc", world.database.context.keyring.seal("{}", "other"))
    assert late.come_back(back) == failed("invalid_state")


@SQLITE
def test_a_wrong_nonce_issuer_or_verifier_signs_nobody_in(
    make_world: MakeWorld, browse: Browse, provider: IdentityProvider
) -> None:
    world = make_world(**provider.settings())
    world.person("eve")
    provider.account("e-1", email="eve@example.com", email_verified=True)
    browser = browse(world)

    there = change_query(browser.begin(), lambda params: params.update(nonce="another"))
    assert browser.come_back(provider.log_in(there, "e-1")) == failed("invalid_token")

    there = change_query(browser.begin(), lambda params: params.update(code_challenge="A" * 43))
    assert browser.come_back(provider.log_in(there, "e-1")) == failed("provider_refused")

    for iss in ("https://other.example.com", None):
        back = provider.log_in(browser.begin(), "e-1")
        other = change_query(back, lambda params, iss=iss: params.update(iss=iss or ""))
        assert browser.come_back(other) == failed("invalid_token")
    assert browser.who() is None


@SQLITE
def test_keys_are_fetched_again_when_they_rotate_but_not_more_often_than_allowed(
    make_world: MakeWorld,
    browse: Browse,
    provider: IdentityProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(oidc_provider, "REFRESH_INTERVAL", 1_000 * SECOND)
    world = make_world(**provider.settings())
    world.person("flo")
    provider.account("f-1", email="flo@example.com", email_verified=True)
    assert browse(world).sign_in(provider, "f-1") == "/console/"
    provider.rotate_keys()
    # The last refresh was a moment ago; a provider that rotates all the time is not asked so often.
    assert browse(world).sign_in(provider, "f-1") == failed("invalid_token")
    world.clock.let_pass(seconds=1_000)
    assert browse(world).sign_in(provider, "f-1") == "/console/"


@SQLITE
def test_errors_of_the_provider_become_codes_and_nothing_of_its_text(
    make_world: MakeWorld, browse: Browse, provider: IdentityProvider
) -> None:
    world = make_world(**provider.settings())
    browser = browse(world)
    assert browser.come_back(provider.refuse(browser.begin())) == failed("access_denied")
    back = change_query(
        browser.begin().replace(provider.issuer, "http://longwire.test"),
        lambda params: params.update(error="<b>x</b>", error_description="<script>"),
    ).replace("http://longwire.test/auth", "http://longwire.test/session/oidc/callback")
    assert browser.come_back(back) == failed("provider_refused")

    # Each attempt makes the service ask the provider, so that an address has only so many.
    limited = make_world(**provider.settings(sign_in_failures_per_address_max=1))
    browser = browse(limited)
    assert browser.sign_in(provider, "nobody") == failed("email_not_verified")
    assert browser.sign_in(provider, "nobody") == failed("too_many_attempts")

    gone = make_world(**provider.settings(oidc_issuer=f"{provider.issuer}/none"))
    assert browse(gone).begin() == "../console/sign-in?error=provider_unavailable"


@SQLITE
def test_over_https_the_cookies_are_those_of_this_host_alone(
    make_world: MakeWorld, browse: Browse, provider: IdentityProvider
) -> None:
    world = make_world(**provider.settings(trusted_proxies=LOOPBACK))
    world.person("ida")
    provider.account("i-1", email="ida@example.com", email_verified=True)
    browser = browse(world)
    browser.http.headers["X-Forwarded-Proto"] = "https"
    begun = browser.http.get("/session/oidc")
    flow, *attributes = begun.headers["set-cookie"].split("; ")
    assert flow.startswith("__Host-longwire-oidc=")
    assert set(attributes) == {"Max-Age=600", "Path=/", "HttpOnly", "SameSite=Lax", "Secure"}
    back = urlsplit(provider.log_in(begun.headers["location"], "i-1"))
    finished = browser.http.get(f"{back.path}?{back.query}", headers={"Cookie": flow})
    session, gone = finished.headers.get_list("set-cookie")
    assert session.startswith("__Host-longwire=lwb_")
    assert {"SameSite=Strict", "Secure", "HttpOnly"} <= set(session.split("; "))
    assert gone.startswith("__Host-longwire-oidc=; Max-Age=0;")


@SQLITE
@pytest.mark.parametrize(
    "path", ["https://evil.test/", "//evil.test", "/\\evil.test", "docs", "/a\r\nb: c", "/" * 1001]
)
def test_a_person_is_led_to_paths_of_this_service_only(
    make_world: MakeWorld, browse: Browse, provider: IdentityProvider, path: str
) -> None:
    world = make_world(**provider.settings())
    response = browse(world).http.get("/session/oidc", params={"returnTo": path})
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == ["returnTo"]


def test_first_sign_ins_at_once_make_one_user_and_bind_one_subject(world: World) -> None:
    identity = ExternalIdentity("https://id.example.com", "s-1", "gil@example.com", True)
    other = replace(identity, subject="s-2")
    policy = SignInPolicy(creates_users=True)

    def sign_in(person: ExternalIdentity) -> str:
        try:
            return world.write(lambda tx: external_identities.sign_in(tx, person, policy)).id
        except SignInRefused as refused:
            return refused.refusal

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(sign_in, [identity, other] * 4))
    first, second = set(results[::2]), set(results[1::2])
    assert len(first) == len(second) == 1
    assert Refusal.OTHER_SUBJECT in first ^ second


@SQLITE
def test_used_challenges_are_forgotten_when_they_have_expired(world: World) -> None:
    later = world.clock.now() + 60_000_000
    assert world.write(lambda tx: challenges.redeem(tx, "a", later))
    assert not world.write(lambda tx: challenges.redeem(tx, "a", later))
    assert world.write(lambda tx: expiry.delete_expired(tx, "used_challenge", 10)) == 0
    world.clock.let_pass(seconds=61)
    assert world.write(lambda tx: expiry.delete_expired(tx, "used_challenge", 10)) == 1
