"""What is kept of requests and responses: bounded, masked, and for those who may see it."""

import gzip
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from longwire.clock import DAY, MINUTE, SECOND
from longwire.dates import format_date, parse_date
from longwire.delivery.destinations.base import MASK, Delivered, Outcome, Refused, Unreachable
from longwire.delivery.destinations.http import Basic, Http, HttpParams
from longwire.delivery.exchanges import BODY_BYTES_MAX, Exchange
from longwire.delivery.http import http_exchange
from longwire.delivery.http.recorder import Phase
from longwire.process import maintenance
from longwire.store.delivery import exchanges as store_exchanges
from tests.delivery.receiver import HANG_UP, Receiver, StubResponse
from tests.delivery.test_http import LOOPBACK, OLD_SIGNING, SIGNING, make_batch, run
from tests.waiting import eventually
from tests.world import Person, World, ok, refused

YEARS_S = 10**8
ONCE = {"retryDelay": 1, "maxRetry": 0}
SECRETS = {
    "bearer": 'tok/en+"quoted"&<secret>',
    "secret": SIGNING,
    "previous_secret": OLD_SIGNING,
}


def exchange(receiver: Receiver, **params: Any) -> tuple[Outcome, Exchange]:
    """What becomes of one message, and what is kept of it."""
    params.setdefault("url", receiver.url)

    async def send() -> Outcome:
        webhook = Http(HttpParams(**params), LOOPBACK)
        try:
            return await webhook.send(make_batch())
        finally:
            await webhook.close()

    outcome: Outcome = run(send())
    assert outcome.exchange is not None
    return outcome, outcome.exchange


def echo(spelling: Callable[[str], bytes]) -> StubResponse:
    return StubResponse(status=401, body=b"you sent " + spelling(SECRETS["bearer"]) + b", wrong")


# --- one exchange ---


def test_a_refusal_is_kept_with_what_was_sent_and_its_connection_is_used_again() -> None:
    response = StubResponse(
        status=422,
        headers={"Content-Type": "application/json", "X-Request-Id": "r1", "Set-Cookie": "a=b"},
        body=b'{"error":"no such field"}',
    )
    with Receiver(response) as receiver:
        outcome, kept = exchange(receiver, bearer="abcdef", headers={"X-Key": "ghijkl"})
        assert isinstance(outcome, Refused) and outcome.reason == "answered with status 422"
        assert kept.request.method == "POST" and kept.request.url == receiver.url
        assert kept.request.headers["Authorization"] == f"Bearer {MASK}"
        assert kept.request.headers["X-Key"] == MASK
        assert kept.request.body.text == '{"data":"21.5"}' and not kept.request.body.is_cut
        assert kept.response is not None and kept.phase is Phase.COMPLETE
        assert kept.response.status == 422
        assert kept.response.headers == {
            "content-length": "25",
            "content-type": "application/json",
            "x-request-id": "r1",
        }
        assert kept.response.body.text == '{"error":"no such field"}'


BODIES: dict[str, tuple[StubResponse, str, bool]] = {
    "binary": (StubResponse(status=500, body=b"\x89PNG\x00\x01"), "iVBORwAB", True),
    "a NUL": (StubResponse(status=500, body=b"a\x00b"), "YQBi", True),
    "not UTF-8": (StubResponse(status=500, body=b"\x80\x81\x82"), "gIGC", True),
    "latin": (
        StubResponse(
            status=500, headers={"Content-Type": "text/plain; charset=ISO-8859-1"}, body=b"caf\xe9"
        ),
        "café",
        False,
    ),
    "packed": (
        StubResponse(status=500, headers={"Content-Encoding": "gzip"}, body=gzip.compress(b"why")),
        "why",
        False,
    ),
    "wrongly packed": (
        StubResponse(status=500, headers={"Content-Encoding": "gzip"}, body=b"no gzip"),
        "no gzip",
        False,
    ),
    "nothing": (StubResponse(status=500), "", False),
}


@pytest.mark.parametrize("name", BODIES)
def test_any_body_is_shown_as_what_it_is(name: str) -> None:
    response, text, is_base64 = BODIES[name]
    with Receiver(response) as receiver:
        _, kept = exchange(receiver)
        assert kept.response is not None
        assert (kept.response.body.text, kept.response.body.is_base64) == (text, is_base64)


def test_a_huge_body_is_cut_and_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(b"a" * 50_000_000)
    with Receiver(
        StubResponse(status=500, body="é".encode() * 100_000),
        StubResponse(status=500, headers={"Content-Encoding": "gzip"}, body=bomb),
    ) as receiver:
        for first in "éa":
            _, kept = exchange(receiver)
            assert kept.response is not None and kept.response.body.is_cut
            assert set(kept.response.body.text) == {first}
            assert len(kept.response.body.text.encode()) <= BODY_BYTES_MAX


def test_a_body_that_does_not_end_or_is_lost_does_not_hide_the_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A status is an answer, whatever follows it, and nobody waits for the rest."""
    monkeypatch.setattr(http_exchange, "FAILURE_BODY_WAIT_S", 0.2)
    dripping = StubResponse(
        status=503, raw=b"HTTP/1.1 503 No\r\nContent-Length: 900\r\n\r\nbusy", headers={}
    )
    cut = StubResponse(status=503, body=b"x" * 100, reset_at=50)
    endless = StubResponse(status=503, endless=True, block=b"busy" * 100)
    with Receiver(dripping, cut, endless) as receiver:
        for _ in range(3):
            began = time.monotonic()
            outcome, kept = exchange(receiver)
            assert isinstance(outcome, Refused) and outcome.status == 503
            assert kept.response is not None and kept.phase in (Phase.RESPONSE, Phase.COMPLETE)
            assert time.monotonic() - began < http_exchange.TOTAL_TIMEOUT_S / 2


SPELLINGS: dict[str, Callable[[str], bytes]] = {
    "as it is": lambda text: text.encode(),
    "in JSON": lambda text: json.dumps(text).encode(),
    "in HTML": lambda text: (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .encode()
    ),
    "behind the end of what is kept": lambda text: b"x" * 4_080 + text.encode(),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_secret_that_is_echoed_is_masked(name: str) -> None:
    with Receiver(echo(SPELLINGS[name])) as receiver:
        _, kept = exchange(receiver, **SECRETS)
        assert kept.response is not None
        shown = kept.response.body.text
        assert "tok/en" not in shown and "tok\\/en" not in shown
        assert MASK in shown


def test_signatures_passwords_and_keys_in_the_url_are_masked_in_an_echo() -> None:
    def reflect(request: Any) -> StubResponse:
        text = json.dumps([request.path, dict(request.headers)])
        return StubResponse(status=400, headers={"Location": request.path}, body=text.encode())

    with Receiver(reflect) as receiver:
        url = f"{receiver.url}/T0123456789abcdefghij?key=0123456789"
        _, kept = exchange(
            receiver, url=url, secret=SIGNING, basic=Basic(username="ada", password="opensesame")
        )
        assert kept.response is not None
        shown_text = repr(kept.response)
        (request,) = receiver.requests
        assert request.headers["webhook-signature"].removeprefix("v1,") not in shown_text
        assert request.headers["authorization"].removeprefix("Basic ") not in shown_text
        assert "T0123456789" not in shown_text and "0123456789" not in shown_text
        assert request.id in shown_text


def test_how_far_it_came_is_known_where_no_response_began() -> None:
    with Receiver(HANG_UP) as receiver:
        outcome, kept = exchange(receiver)
        assert isinstance(outcome, Unreachable)
        assert (kept.phase, kept.response) == (Phase.REQUEST, None)
        receiver.down()
        assert exchange(receiver)[1].phase is Phase.CONNECT
    with Receiver(tls=True) as receiver:
        assert exchange(receiver)[1].phase is Phase.TLS
        name = receiver.url.replace("127.0.0.1", "nobody.invalid")
        assert exchange(receiver, url=name)[1].phase is Phase.RESOLVE


@pytest.mark.parametrize(
    ("mode", "kept"), [("off", [False, False]), ("failures", [False, True]), ("all", [True, True])]
)
def test_the_connector_says_what_is_kept(mode: str, kept: list[bool]) -> None:
    async def send() -> list[Outcome]:
        webhook = Http(HttpParams(url=receiver.url, store_responses=mode), LOOPBACK)
        try:
            return [await webhook.send(make_batch()) for _ in range(2)]
        finally:
            await webhook.close()

    with Receiver(200, 500) as receiver:
        outcomes = run(send())
        assert [isinstance(each, Delivered) for each in outcomes] == [True, False]
        assert [each.exchange is not None for each in outcomes] == kept


def test_a_receiver_that_fails_all_the_time_fills_nothing() -> None:
    async def send() -> list[Outcome]:
        webhook = Http(HttpParams(url=receiver.url), LOOPBACK)
        try:
            return [await webhook.send(make_batch()) for _ in range(60)]
        finally:
            await webhook.close()

    with Receiver(500) as receiver:
        began = time.monotonic()
        outcomes = run(send())
        kept = sum(each.exchange is not None for each in outcomes)
        assert 20 <= kept <= 20 + 1 + (time.monotonic() - began)


# --- of a service ---


def kept_of(person: Person, group: str, connector: str, **which: str) -> list[dict[str, Any]]:
    found = person.get("/connector/exchanges", groupId=group, connectorId=connector, **which)
    return list(ok(found)["items"])


def test_who_may_change_a_connector_sees_what_its_receiver_answered(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    world = make_world(token_lifetime_s=YEARS_S)
    ada, viewer = world.person("ada"), world.person("viewer")
    group = ada.group()
    ada.invite(viewer, group, "viewer")
    device = ada.device(group)
    canary = StubResponse(status=500, body=b"canary: table orders is full")
    with Receiver(canary) as receiver:
        connector = ada.connector(group, receiver.url, retryPolicy=ONCE)
        which = {"groupId": group, "connectorId": connector}
        ada.reports(device, data="first")
        eventually(lambda: ada.events(group, connector)["stats"]["totalFailed"] == 1)
        (event,) = ada.events(group, connector)["items"]
        message = ok(ada.get("/connector/message", id=event["id"]))
        (attempt,) = message["attempts"]
        (found,) = kept_of(ada, group, connector, messageId=event["id"])
        assert found["id"] == attempt["exchangeId"]
        assert found["request"]["headers"]["webhook-id"] == event["id"]
        assert "first" in found["request"]["body"]["text"]
        assert found["response"]["body"]["text"] == "canary: table orders is full"
        # The words of a receiver are nowhere else.
        refused(viewer.get("/connector/exchanges", **which), 403)
        shown = ok(ada.get("/connector", **which))
        assert shown["error"]["message"] == "answered with status 500"
        others = [
            ada.get("/connector", **which),
            ada.get("/connector/message", id=event["id"]),
            ada.get("/group/audit", groupId=group),
            ada.get("/record/trace", recordId=message["recordId"], deviceId=device),
        ]
        assert not any("canary" in each.text for each in others)
        assert "canary" not in caplog.text
        # It is not kept for ever, and not longer than the connector.
        world.clock.let_pass(seconds=73 * 3_600)
        world._run(
            maintenance.delete_old_exchanges(world.database, maintenance.TraceRetention(72, 2**30))
        )
        assert kept_of(ada, group, connector) == []
        assert kept_of(ada, group, connector, messageId=event["id"]) == []


def test_of_each_connector_the_last_ones_are_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_exchanges, "KEPT_MAX", 3)
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver(lambda got: StubResponse(status=500, body=got.id.encode())) as receiver:
        connector = ada.connector(group, receiver.url, retryPolicy=ONCE)
        for number in range(5):
            ada.reports(device, timestamp=f"2026-03-01T12:00:0{number}Z", data=str(number))
            eventually(
                lambda done=number + 1: ada.events(group, connector)["stats"]["totalFailed"] == done
            )
            world.clock.let_pass(seconds=1)
        pages, token = [], None
        while token is not None or not pages:
            given = {} if token is None else {"nextToken": token}
            page = ok(
                ada.get(
                    "/connector/exchanges",
                    groupId=group,
                    connectorId=connector,
                    limit=2,
                    **given,
                )
            )
            pages.append([each["response"]["body"]["text"] for each in page["items"]])
            token = page.get("nextToken")
        assert [len(each) for each in pages] == [2, 1]
        newest = [each for page in pages for each in page]
        assert newest == list(reversed(receiver.ids))[:3]
        refused(
            ada.get(
                "/connector/exchanges", groupId=group, connectorId=connector, messageId="msg_1_1"
            ),
            400,
            "messageId",
        )


# --- a test by hand ---


def test_a_test_message_shows_what_comes_back_and_is_no_delivery(world: World) -> None:
    ada, viewer = world.person("ada"), world.person("viewer")
    group = ada.group()
    ada.invite(viewer, group, "viewer")
    device = ada.device(group)
    ada.reports(device, data='{"celsius":9.5}')
    record = ok(ada.get("/group/records", groupId=group))["items"][0]["id"]
    with Receiver(StubResponse(status=403, body=b"wrong key"), 204) as receiver:
        connector = ada.connector(group, receiver.url, enabled=False)
        which = {"groupId": group, "connectorId": connector}
        failed = ok(ada.post("/connector/test", which))
        assert (failed["delivered"], failed["outcome"]) == (False, "rejected")
        assert failed["reason"] == "answered with status 403" and failed["phase"] == "complete"
        assert failed["response"]["body"]["text"] == "wrong key"
        sent = ok(ada.post("/connector/test", {**which, "recordId": record}))
        assert sent["delivered"] and sent["response"]["status"] == 204
        first, second = receiver.requests
        assert first.headers["webhook-test"] == "true" and first.id.startswith("test_")
        assert first.json["test"] is True and first.json["deviceId"] == "dev_test"
        assert second.json["test"] is True and second.json["data"] == '{"celsius":9.5}'
        assert json.loads(sent["request"]["body"]["text"]) == second.json
        # Nothing of it is counted, kept or shown as a failure.
        assert ada.events(group, connector)["items"] == []
        assert "error" not in ok(ada.get("/connector", **which))
        assert kept_of(ada, group, connector) == []
        assert [each for _, each, _ in world.audit()].count("connector.test") == 2
        # A draft is sent through, and not saved.
        params = json.dumps({"url": f"{receiver.url}/draft", "secret": SIGNING})
        draft = {"params": params, "type": "http", "format": "raw"}
        tried = ok(
            ada.post(
                "/connector/test", {"groupId": group, "draft": draft, "kind": "data", "data": "hi"}
            )
        )
        assert tried["delivered"] and tried["request"]["headers"]["webhook-signature"]
        assert receiver.requests[-1].body == b"hi"
        assert receiver.requests[-1].path == "/hook/draft"
        assert len(ok(ada.get("/connector/connectors", groupId=group))["test"]) == 1
        # Who may not change it does not send through it.
        refused(viewer.post("/connector/test", which), 403)
        refused(ada.post("/connector/test", {"groupId": group}), 400, "connectorId")
        stranger = {**which, "recordId": "rec_1"}
        refused(ada.post("/connector/test", stranger), 400, "recordId")
        refused(
            ada.post("/connector/test", {**which, "recordId": record, "data": "x"}), 400, "data"
        )
        refused(ada.post("/connector/test", {**which, "kind": "nothing"}), 400, "kind")
        local = {"type": "http", "params": json.dumps({"url": "http://10.1.2.3/"})}
        refused(ada.post("/connector/test", {"groupId": group, "draft": local}), 400, "params.url")


# --- rotating a secret ---


def test_a_secret_is_rotated_in_one_call_and_the_old_one_ends_by_itself(
    make_world: Callable[..., World],
) -> None:
    world = make_world(token_lifetime_s=YEARS_S)
    ada, viewer = world.person("ada"), world.person("viewer")
    group = ada.group()
    ada.invite(viewer, group, "viewer")
    with Receiver() as receiver:
        connector = ada.connector(group, receiver.url, params={"secret": SIGNING})
        which = {"groupId": group, "connectorId": connector}

        def count_signatures() -> int:
            ok(ada.post("/connector/test", which))
            return len(receiver.requests[-1].headers["webhook-signature"].split())

        assert count_signatures() == 1
        rotated = ok(ada.post("/connector/rotateSecret", which))
        params = json.loads(rotated["params"])
        assert params["secret"] != SIGNING and params["previousSecret"] == SIGNING
        ends_in = parse_date(rotated["previousSecretUntil"]) - world.clock.now()
        assert DAY - MINUTE < ends_in <= DAY
        assert count_signatures() == 2
        # A repeated request does not end the secret that receivers still have.
        refused(ada.post("/connector/rotateSecret", which), 400, "connectorId")
        seen = ok(viewer.get("/connector", **which))
        assert seen["previousSecretUntil"] == rotated["previousSecretUntil"]
        assert SIGNING not in seen["params"] and params["secret"] not in seen["params"]
        for path in ("rotateSecret", "endSecretRotation"):
            refused(viewer.post(f"/connector/{path}", which), 403)
        world.clock.let_pass(days=1, seconds=1)
        assert count_signatures() == 1
        assert "previousSecretUntil" not in ok(ada.get("/connector", **which))
        # Until a time, with a secret of one's own; and at once.
        until = format_date(world.clock.now() // SECOND * SECOND + 7 * DAY)
        own = ok(
            ada.post(
                "/connector/rotateSecret",
                {**which, "secret": OLD_SIGNING, "previousUntil": until},
            )
        )
        assert json.loads(own["params"])["previousSecret"] == params["secret"]
        assert own["previousSecretUntil"] == until and count_signatures() == 2
        for _ in range(2):
            ended = ok(ada.post("/connector/endSecretRotation", which))
            assert json.loads(ended["params"]) == {"url": receiver.url, "secret": OLD_SIGNING}
        assert count_signatures() == 1
        for wrong in (
            {"secret": "whsec_abc"},
            {"secret": MASK},
            {"secret": OLD_SIGNING},
            {"previousUntil": "2099-01-01"},
            {"previousUntil": "soon"},
        ):
            refused(ada.post("/connector/rotateSecret", {**which, **wrong}), 400, next(iter(wrong)))
        plain = ada.connector(group, receiver.url)
        refused(ada.post("/connector/rotateSecret", {**which, "connectorId": plain}), 400)
        entries = repr(world.audit()) + ada.get("/group/audit", groupId=group).text
        assert OLD_SIGNING not in entries and params["secret"] not in entries
