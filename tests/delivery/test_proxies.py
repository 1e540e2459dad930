"""Webhooks through proxies, within the rules of the egress guard."""

import json
import ssl
from typing import Any

import pytest

from longwire.delivery.destinations.base import MASK, Delivered, FailureCode, Outcome, Unreachable
from longwire.delivery.destinations.http import Http, HttpParams, ProxyParams
from longwire.delivery.http import http_exchange, tunnels
from longwire.delivery.http.egress import NOT_RESOLVED, Egress
from longwire.delivery.http.proxies import parse_proxy
from longwire.delivery.http.recorder import Phase
from tests.delivery.proxy import LOGIN, Proxy
from tests.delivery.receiver import Receiver
from tests.delivery.test_http import LOOPBACK, make_batch, run
from tests.waiting import eventually
from tests.world import World, ok, refused

SCHEMES = ("http", "socks5", "socks5h")


def send(params: HttpParams, *, egress: Egress = LOOPBACK, times: int = 1) -> list[Outcome]:
    async def story() -> list[Outcome]:
        webhook = Http(params, egress)
        try:
            return [await webhook.send(make_batch()) for _ in range(times)]
        finally:
            await webhook.close()

    outcomes: list[Outcome] = run(story())
    return outcomes


def through(proxy: Proxy, url: str, login: tuple[str, str] | None = None) -> HttpParams:
    username, password = login or (None, None)
    return HttpParams(
        url=url, proxy=ProxyParams(url=proxy.url, username=username, password=password)
    )


@pytest.mark.parametrize("login", [None, ("ada", "opensesame")])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_messages_go_through_a_proxy_on_one_connection(
    scheme: str, login: tuple[str, str] | None
) -> None:
    with Receiver() as receiver, Proxy(scheme, login=login) as proxy:
        url = receiver.url.replace("127.0.0.1", "localhost")
        outcomes = send(through(proxy, url, login), times=3)
        assert outcomes == [Delivered(status=200)] * 3
        assert receiver.connections == 1
        assert receiver.requests[0].headers["host"] == f"localhost:{receiver.port}"
        assert "proxy-authorization" not in receiver.requests[0].headers
        # SOCKS5 alone gets an address that was checked; the others look the name up.
        asked = "127.0.0.1" if scheme == "socks5" else "localhost"
        assert proxy.asked == [(asked, receiver.port)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tls_is_with_the_receiver_and_not_with_the_proxy(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    with Receiver(tls=True, name="localhost") as receiver, Proxy(scheme) as proxy:
        assert [each.code for each in refusals(send(through(proxy, receiver.url)))] == [
            FailureCode.TLS_FAILED
        ]
        context = ssl.create_default_context(cadata=receiver.certificate.decode())
        monkeypatch.setattr(http_exchange, "load_tls_context", lambda: context)
        assert send(through(proxy, receiver.url)) == [Delivered(status=200)]


def refusals(outcomes: list[Outcome]) -> list[Unreachable]:
    found = [each for each in outcomes if isinstance(each, Unreachable)]
    assert len(found) == len(outcomes)
    return found


FAILURES: list[tuple[str, str | int, str]] = [
    ("http", "close", "it closed the connection"),
    ("socks5", "close", "it closed the connection"),
    ("http", "garbage", "it does not speak HTTP"),
    ("socks5", "garbage", "it does not speak SOCKS5"),
    ("http", "flood", "its response is too large"),
    ("socks5", "flood", "it does not speak SOCKS5"),
    ("http", 502, "it answered with status 502"),
    ("socks5", 2, "its rules do not allow the connection"),
    ("socks5h", 5, "the connection was refused there"),
    ("socks5h", 99, "it could not connect"),
]


@pytest.mark.parametrize(("scheme", "fails", "reason"), FAILURES)
def test_a_proxy_that_fails_is_named_in_our_own_words(
    scheme: str, fails: str | int, reason: str
) -> None:
    with Receiver() as receiver, Proxy(scheme, fails=fails) as proxy:
        (outcome,) = refusals(send(through(proxy, receiver.url)))
        # A connection may also be reset before its last words are read.
        assert outcome.reason in (
            f"the proxy: {reason}",
            "the proxy: the connection to it was lost",
        )
        assert not outcome.is_final
        assert outcome.exchange is not None and outcome.exchange.phase is Phase.PROXY
        assert receiver.requests == []


def test_a_proxy_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tunnels, "CONNECT_TIMEOUT_S", 0.2)
    with Proxy("http", fails="hang") as proxy:
        (outcome,) = refusals(send(through(proxy, "http://127.0.0.1:9/")))
        assert (outcome.reason, outcome.code) == ("the proxy: timed out", FailureCode.TIMED_OUT)


@pytest.mark.parametrize("scheme", ["http", "socks5"])
@pytest.mark.parametrize("given", [None, ("ada", "wrong")])
def test_a_proxy_that_wants_another_login(scheme: str, given: tuple[str, str] | None) -> None:
    with Receiver() as receiver, Proxy(scheme, login=LOGIN) as proxy:
        (outcome,) = refusals(send(through(proxy, receiver.url, given)))
        assert outcome.code is FailureCode.LOGIN_REJECTED
        assert outcome.reason.startswith("the proxy: it does not accept the login")
        assert send(through(proxy, receiver.url, LOGIN)) == [Delivered(status=200)]


def test_a_proxy_that_dies_costs_one_attempt_and_is_not_passed_by() -> None:
    async def story() -> list[Outcome]:
        webhook = Http(through(proxy, receiver.url), LOOPBACK)
        try:
            outcomes = [await webhook.send(make_batch())]
            proxy.drop()
            outcomes += [await webhook.send(make_batch()) for _ in range(2)]
            return outcomes
        finally:
            await webhook.close()

    with Receiver() as receiver, Proxy("http") as proxy:
        first, *others = run(story())
        assert first == Delivered(status=200)
        assert refusals(others)[-1].reason == "the proxy: connection refused"
        assert len(receiver.requests) == 1, "nothing goes past a proxy"


# --- the guard ---


def test_the_guard_decides_about_the_proxy_and_about_what_is_behind_it() -> None:
    public = Egress()  # this machine is not public
    with Receiver() as receiver, Proxy("http") as proxy:
        # The proxy itself: an address that may not be reached, and a name with one.
        denied = send(
            HttpParams(url="http://192.0.43.8/", proxy=ProxyParams(url=proxy.url)), egress=public
        )
        assert refusals(denied)[0].code is FailureCode.EGRESS_DENIED
        named = ProxyParams(url=f"http://localhost:{proxy.port}")
        hidden = send(HttpParams(url="http://192.0.43.8/", proxy=named), egress=public)
        assert refusals(hidden)[0].reason == f"the proxy: {NOT_RESOLVED}"
        # The operator's may be anywhere; what is behind it may not.
        operators = Egress(proxies=[as_operators(proxy.url)])
        for url in (receiver.url, receiver.url.replace("127.0.0.1", "localhost")):
            (outcome,) = refusals(send(HttpParams(url=url), egress=operators))
            assert outcome.code is FailureCode.EGRESS_DENIED or outcome.reason == NOT_RESOLVED
        assert proxy.asked == [] and receiver.requests == []


def as_operators(url: str) -> Any:
    return parse_proxy(url, is_operators=True)


def test_the_operators_proxy_is_used_for_all_and_before_those_of_connectors() -> None:
    with Receiver() as receiver, Proxy("http") as outer, Proxy("socks5") as inner:
        egress = Egress(["127.0.0.0/8"], proxies=[as_operators(outer.url)])
        assert send(HttpParams(url=receiver.url), egress=egress) == [Delivered(status=200)]
        assert outer.asked == [("127.0.0.1", receiver.port)]
        outer.asked.clear()
        assert send(through(inner, receiver.url), egress=egress) == [Delivered(status=200)]
        assert outer.asked == [("127.0.0.1", inner.port)]
        assert inner.asked == [("127.0.0.1", receiver.port)]


WRONG = [
    ("ftp://proxy.example.com:21", "must be http://, socks5://, socks5h:// with a host"),
    ("http://proxy.example.com/path", "nothing behind the host"),
    ("http://ada:secret@proxy.example.com", "must not contain a user name or password"),
    ("http://proxy.example.com:0", "must not have the port 0"),
    ("http://10.1.2.3:3128", "10.1.2.3 is not a public address"),
    ("socks5://0x7f.1:1080", "127.0.0.1 is not a public address"),
    ("http://pro xy", "must not contain spaces"),
    ("http://", "must be"),
]


@pytest.mark.parametrize(("url", "why"), WRONG)
def test_a_proxy_that_cannot_be_taken(url: str, why: str) -> None:
    params = HttpParams(url="https://example.com/", proxy=ProxyParams(url=url))
    ((field, reason),) = params.validate(Egress())
    assert field == "proxy" and why in reason


@pytest.mark.parametrize(
    ("url", "login", "why"),
    [
        ("http://p.example.com", ("ada", None), "a login needs"),
        ("http://p.example.com", ("a:b", "c"), "colon"),
        ("socks5://p.example.com", ("ada", "é" * 128), "255 bytes"),
    ],
)
def test_a_login_that_cannot_be_used(url: str, login: tuple[str, str | None], why: str) -> None:
    proxy = ProxyParams(url=url, username=login[0], password=login[1])
    ((_, reason),) = HttpParams(url="https://example.com/", proxy=proxy).validate(Egress())
    assert why in reason


def test_the_password_of_a_proxy_is_a_secret_of_its_connector(world: World) -> None:
    ada, viewer = world.person("ada"), world.person("viewer")
    group = ada.group()
    ada.invite(viewer, group, "viewer")
    device = ada.device(group)
    with Receiver() as receiver, Proxy("socks5", login=("ada", "canary")) as proxy:
        login = {"url": proxy.url, "username": "ada", "password": "canary"}
        connector = ada.connector(group, receiver.url, params={"proxy": login})
        which = {"groupId": group, "connectorId": connector}
        ada.reports(device)
        receiver.wait_for(1)
        eventually(lambda: ada.events(group, connector)["stats"]["totalSucceed"] == 1)
        assert proxy.asked
        seen = ok(viewer.get("/connector", **which))["params"]
        assert json.loads(seen)["proxy"] == {**login, "password": MASK}
        ok(ada.put("/connector", {**which, "params": seen.replace(f"/{MASK}", "/hook")}))
        kept = json.loads(ok(ada.get("/connector", **which))["params"])
        assert kept["proxy"] == login
        assert "canary" not in ada.get("/group/audit", groupId=group).text
        local = {"url": receiver.url, "proxy": {"url": "http://10.1.2.3:3128"}}
        changed = {**which, "params": json.dumps(local)}
        refused(ada.put("/connector", changed), 400, "params.proxy")
