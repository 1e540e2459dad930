"""Webhooks, against a receiver that does what real ones do on their bad days."""

import asyncio
import base64
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import psutil
import pytest
import uvloop
from standardwebhooks import Webhook, WebhookVerificationError

from longwire import __version__
from longwire.clock import SECOND, Moment
from longwire.delivery.destinations.base import (
    MASK,
    Delivered,
    FailureCode,
    OutboundBatch,
    OutboundMessage,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.destinations.http import Basic, Http, HttpParams, parse_retry_after
from longwire.delivery.http import http_exchange, http_limits
from longwire.delivery.http.egress import NOT_RESOLVED, Egress
from tests.certificates import create_tls_context
from tests.delivery.receiver import (
    HANG,
    HANG_UP,
    Received,
    Receiver,
    StubResponse,
    redirect,
)
from tests.waiting import PATIENCE_S

LOOPBACK = Egress(["127.0.0.0/8"])
NOON: Moment = 1_700_000_000 * SECOND
SIGNING = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OLD_SIGNING = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


def run(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def make_batch(
    *bodies: bytes, id: str = "msg_1", content_type: str = "application/json"
) -> OutboundBatch:
    messages = [
        OutboundMessage(
            id=f"{id}_{number}",
            kind="data",
            group_id="g1",
            device_id="d1",
            device_type="thermometer",
            body=body,
            content_type=content_type,
            element=json.dumps({"id": f"{id}_{number}", "data": body.decode("latin-1")}).encode(),
        )
        for number, body in enumerate(bodies or (b'{"data":"21.5"}',))
    ]
    return OutboundBatch(id=id, messages=messages, at=NOON)


class OutcomesOf(Http):
    """A webhook whose outcomes are compared without what is kept of the exchange."""

    async def send(self, batch: OutboundBatch) -> Outcome:
        return msgspec.structs.replace(await super().send(batch), exchange=None)


def send(
    params: HttpParams, *batches: OutboundBatch, egress: Egress = LOOPBACK, at_once: bool = False
) -> list[Outcome]:
    """Send one batch after the other, or all at once, through one destination."""

    async def story() -> list[Outcome]:
        webhook = OutcomesOf(params, egress)
        try:
            if at_once:
                return await asyncio.gather(*(webhook.send(each) for each in batches))
            return [await webhook.send(each) for each in batches]
        finally:
            await webhook.close()

    return run(story())


def sent_to(receiver: Receiver, *batches: OutboundBatch, **params: Any) -> Outcome:
    (outcome,) = send(HttpParams(url=receiver.url, **params), *(batches or (make_batch(),)))
    return outcome


# --- what arrives ---


def test_a_message_arrives_as_it_is() -> None:
    with Receiver() as receiver:
        outcome = sent_to(
            receiver, make_batch(b"21.5 \xc2\xb0C \x00\xff", content_type="text/plain")
        )
        (request,) = receiver.requests
    assert outcome == Delivered(status=200)
    assert (request.method, request.path) == ("POST", "/hook")
    assert request.body == b"21.5 \xc2\xb0C \x00\xff"
    assert request.headers["content-type"] == "text/plain"
    assert request.headers["webhook-id"] == request.headers["idempotency-key"] == "msg_1"
    assert request.headers["webhook-timestamp"] == str(NOON // SECOND)
    assert request.headers["user-agent"] == f"longwire/{__version__}"
    assert not {"webhook-signature", "authorization", "cookie", "accept-encoding"} & set(
        request.headers
    )


def test_an_empty_body_is_an_empty_body() -> None:
    with Receiver() as receiver:
        assert sent_to(receiver, make_batch(b"")) == Delivered(status=200)
        (request,) = receiver.requests
    assert (request.body, request.headers["content-length"]) == (b"", "0")


@pytest.mark.parametrize("size", [1_048_576, 1_048_577, 8_000_000])
def test_a_large_body_arrives_whole(size: int) -> None:
    with Receiver() as receiver:
        assert sent_to(receiver, make_batch(b"x" * size), secret=SIGNING) == Delivered(status=200)
        (request,) = receiver.requests
    assert request.body == b"x" * size
    assert request.headers["content-length"] == str(size)


def test_the_query_and_the_method_are_kept() -> None:
    with Receiver() as receiver:
        url = receiver.url.replace("/hook", "/a%2Fb/%C3%A4?token=x%26y&z=1+1")
        assert send(HttpParams(url=url, method="PUT"), make_batch()) == [Delivered(status=200)]
        (request,) = receiver.requests
    assert (request.method, request.path) == ("PUT", "/a%2Fb/%C3%A4?token=x%26y&z=1+1")


@pytest.mark.parametrize(
    "params, header, value",
    [
        ({"bearer": "abc.def"}, "authorization", "Bearer abc.def"),
        (
            {"basic": Basic(username="me", password="p:ä")},
            "authorization",
            "Basic " + base64.b64encode("me:p:ä".encode()).decode(),
        ),
        ({"headers": {"X-Key": "k 1"}}, "x-key", "k 1"),
        ({"headers": {"authorization": "Key 1"}}, "authorization", "Key 1"),
        ({"headers": {"content-type": "text/csv"}}, "content-type", "text/csv"),
        ({"headers": {"USER-AGENT": "me"}}, "user-agent", "me"),
        ({"headers": {"Cookie": "a=b"}}, "cookie", "a=b"),
    ],
)
def test_headers_and_credentials_are_sent_along(
    params: dict[str, Any], header: str, value: str
) -> None:
    with Receiver() as receiver:
        assert sent_to(receiver, **params) == Delivered(status=200)
        assert receiver.requests[0].headers[header] == value


def test_a_batch_is_one_request_with_all_messages() -> None:
    with Receiver() as receiver:
        outcome = sent_to(receiver, make_batch(b"1", b"2", b"3", id="batch_7"), batch=100)
        (request,) = receiver.requests
    assert outcome == Delivered(status=200)
    assert request.id == "batch_7"
    assert request.headers["content-type"] == "application/json"
    assert request.json == [
        {"id": "batch_7_0", "data": "1"},
        {"id": "batch_7_1", "data": "2"},
        {"id": "batch_7_2", "data": "3"},
    ]


def test_a_batch_of_one_is_an_array_too() -> None:
    with Receiver() as receiver:
        sent_to(receiver, make_batch(b"1"), batch=2)
        assert receiver.requests[0].json == [{"id": "msg_1_0", "data": "1"}]


@pytest.mark.parametrize("batch", [1, 2, 1_000])
def test_the_connector_sets_the_size_of_a_batch(batch: int) -> None:
    params = HttpParams(url="https://example.com", batch=batch)
    assert OutcomesOf(params, LOOPBACK).batch_max == batch


# --- signatures, checked by somebody else's code ---


def signed_request(secret: str, *, batch: int = 1, previous: str | None = None) -> Received:
    now = int(time.time() * SECOND)
    with Receiver() as receiver:
        original = make_batch(b'{"data":"\xc3\xa4"}')
        outcome = sent_to(
            receiver,
            msgspec.structs.replace(original, at=now),
            secret=secret,
            previous_secret=previous,
            batch=batch,
        )
        assert outcome == Delivered(status=200)
        return receiver.requests[0]


@pytest.mark.parametrize(
    "secret",
    [
        SIGNING,
        SIGNING.removeprefix("whsec_"),
        "whsec_" + base64.b64encode(b"k" * 25).decode(),
        "whsec_" + base64.b64encode(b"k" * 64).decode().rstrip("="),
    ],
)
def test_a_signature_is_accepted_by_the_library(secret: str) -> None:
    request = signed_request(secret)
    assert Webhook(secret).verify(request.body, dict(request.headers)) == {"data": "ä"}


def test_while_a_secret_is_rotated_either_verifies() -> None:
    request = signed_request(SIGNING, previous=OLD_SIGNING)
    assert len(request.headers["webhook-signature"].split(" ")) == 2
    for secret in (SIGNING, OLD_SIGNING):
        Webhook(secret).verify(request.body, dict(request.headers))
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + "A" * 32).verify(request.body, dict(request.headers))


def test_a_batch_is_signed_as_a_whole() -> None:
    request = signed_request(SIGNING, batch=5)
    assert isinstance(Webhook(SIGNING).verify(request.body, dict(request.headers)), list)


@pytest.mark.parametrize("changed", ["webhook-id", "webhook-timestamp", "body"])
def test_a_signature_covers_the_id_the_time_and_the_body(changed: str) -> None:
    request = signed_request(SIGNING)
    headers, body = dict(request.headers), request.body
    if changed == "body":
        body += b" "
    else:
        # An earlier second, or another id.
        headers[changed] = str(int(headers[changed]) - 1) if "time" in changed else "msg_2"
    with pytest.raises(WebhookVerificationError):
        Webhook(SIGNING).verify(body, headers)


# --- what the other side answers ---


@pytest.mark.parametrize("status", [200, 201, 202, 204, 206, 226, 299])
def test_any_2xx_is_a_confirmation(status: int) -> None:
    with Receiver(StubResponse(status=status, body=b"thanks")) as receiver:
        assert sent_to(receiver) == Delivered(status=status)


@pytest.mark.parametrize(
    "status, refused",
    [
        (301, Refused("answered with a redirect (301), which is not followed")),
        (302, Refused("answered with a redirect (302), which is not followed")),
        (304, Refused("answered with a redirect (304), which is not followed")),
        (308, Refused("answered with a redirect (308), which is not followed")),
        (400, Refused("answered with status 400")),
        (401, Refused("answered with status 401")),
        (404, Refused("answered with status 404")),
        (408, Refused("answered with status 408")),
        (
            410,
            Refused(
                "answered with status 410, gone",
                is_final=True,
                disables=True,
                code=FailureCode.GONE,
            ),
        ),
        (413, Refused("answered with status 413")),
        (425, Refused("answered with status 425")),
        (429, Refused("answered with status 429")),
        (500, Refused("answered with status 500")),
        (503, Refused("answered with status 503")),
        (599, Refused("answered with status 599")),
        (999, Refused("answered with status 999")),
    ],
)
def test_anything_else_is_a_refusal_in_our_own_words(status: int, refused: Refused) -> None:
    with Receiver(StubResponse(status=status, body=b"my secret text")) as receiver:
        assert sent_to(receiver) == msgspec.structs.replace(refused, status=status)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with Receiver() as elsewhere, Receiver(redirect(elsewhere.url, status)) as receiver:
        outcome = sent_to(receiver)
        assert elsewhere.connections == 0
    assert isinstance(outcome, Refused) and not outcome.is_final


@pytest.mark.parametrize("status", [302, 400, 429, 500, 503])
def test_the_other_side_may_ask_for_time(status: int) -> None:
    with Receiver(StubResponse(status=status, headers={"Retry-After": "7"})) as receiver:
        outcome = sent_to(receiver)
    assert isinstance(outcome, Refused) and outcome.retry_after_s == 7


@pytest.mark.parametrize(
    "text, seconds",
    [
        (None, None),
        ("0", 0),
        ("120", 120),
        ("3600", 3_600),
        ("3601", 3_600),
        ("315360000", 3_600),  # ten years
        ("9" * 60, 3_600),
        ("9" * 65, None),
        ("-1", None),
        ("+5", None),
        ("1.5", None),
        ("1_000", None),
        ("\u0661", None),  # a digit elsewhere
        ("", None),
        ("soon", None),
        ("Tue, 14 Nov 2023 22:14:20 GMT", 60),
        ("Tuesday, 14-Nov-23 22:14:20 GMT", 60),  # as in RFC 850
        ("Tue Nov 14 22:14:20 2023", 60),  # as asctime writes it
        ("Tue, 14 Nov 2023 23:14:20 +0100", 60),
        ("Tue, 14 Nov 2023 22:13:19 GMT", 0),  # a second ago
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 14 Nov 2033 22:13:20 GMT", 3_600),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3_600),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 0),
        ("Tue, 99 Nov 2023 99:99:99 GMT", None),
        ("Tue, 14 Nov 99999999999999 22:14:20 GMT", None),
    ],
)
def test_how_long_to_wait(text: str | None, seconds: int | None) -> None:
    assert parse_retry_after(text, NOON) == seconds


# --- what the other side does to the connection ---

SLOW = StubResponse(body=b"ok", drip_s=0.05)


@pytest.mark.parametrize(
    "answer, reason",
    [
        (HANG, "timed out"),
        (SLOW, "timed out"),
        (StubResponse(headers={"Content-Length": "9"}, body=b"ok"), "timed out"),
        (HANG_UP, "the connection was closed before the response was complete"),
        (
            StubResponse(raw=b"", reset_at=0),
            "the connection was closed before the response was complete",
        ),
        (StubResponse(raw=b"SSH-2.0-OpenSSH_9.6\r\n"), "the response is not valid HTTP"),
        (StubResponse(raw=b"220 smtp ESMTP\r\n"), "the response is not valid HTTP"),
        (StubResponse(raw=b"\x15\x03\x01\x00\x02"), "the response is not valid HTTP"),
        (
            StubResponse(raw=b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
            "the response is not valid HTTP",
        ),
        (StubResponse(raw=b"HTTP/1.1 100 Continue\r\n\r\n" * 8), "timed out"),
    ],
    ids=range(10),
)
def test_no_answer_is_not_a_confirmation(
    answer: StubResponse, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason == "timed out":  # where there is an answer, it may take its time
        monkeypatch.setattr(http_exchange, "TOTAL_TIMEOUT_S", 0.3)
    with Receiver(answer) as receiver:
        params = HttpParams(url=f"{receiver.url}?token=hunter2", bearer="hunter3")
        (outcome,) = send(params, make_batch())
        code = FailureCode.TIMED_OUT if reason == "timed out" else FailureCode.UNREACHABLE
        assert outcome == Unreachable(reason, code=code)


def test_a_broken_chunk_is_not_a_confirmation() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with Receiver(StubResponse(raw=head + b"zz\r\nno number\r\n")) as receiver:
        assert isinstance(sent_to(receiver), Unreachable)


def test_an_answer_that_is_cut_anywhere_is_not_a_confirmation() -> None:
    whole = StubResponse(body=b"thank you")
    cuts = [StubResponse(body=whole.body, reset_at=at) for at in range(len(whole.encode()))]
    with Receiver(*cuts) as receiver:
        outcomes = send(HttpParams(url=receiver.url), *[make_batch()] * len(cuts))
        assert len(receiver.requests) == len(cuts)
    assert {type(outcome) for outcome in outcomes} == {Unreachable}


def test_a_slow_answer_counts_when_it_is_complete() -> None:
    with Receiver(StubResponse(body=b"ok", drip_s=0.001)) as receiver:
        assert sent_to(receiver) == Delivered(status=200)


def test_an_answer_that_does_not_end_is_not_listened_to() -> None:
    with Receiver(StubResponse(endless=True)) as receiver:
        outcomes = send(HttpParams(url=receiver.url), make_batch(), make_batch())
        # The first connection was given up, with all that was still to come on it.
        assert [request.connection for request in receiver.requests] == [1, 2]
    assert outcomes == [Delivered(status=200), Delivered(status=200)]


INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
LONG_INTERIM = b"HTTP/1.1 103 Early Hints\r\n" + b"X: %s\r\n" % (b"y" * 8_000) * 10 + b"\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

MANY_HEADERS = {f"X-{number}": "y" for number in range(10_000)}


@pytest.mark.parametrize(
    "answer, reason",
    [
        (StubResponse(raw=INTERIM * 9), http_limits.TOO_MANY_INTERIM),
        (
            StubResponse(raw=INTERIM, endless=True, block=INTERIM * 1_000),
            http_limits.TOO_MANY_INTERIM,
        ),
        (StubResponse(raw=LONG_INTERIM * 2), http_limits.HEAD_TOO_LARGE),
        (StubResponse(headers={"X": "y" * 100_000}), http_limits.HEAD_TOO_LARGE),
        (StubResponse(headers=MANY_HEADERS), http_limits.HEAD_TOO_LARGE),
        (
            StubResponse(raw=CHUNKED + b"1;", endless=True, block=b"extension" * 1_000),
            http_limits.RESPONSE_TOO_LARGE,
        ),
    ],
    ids=[
        *("interim", "endless interim", "long interim", "long header", "many headers"),
        "endless chunk extension",
    ],
)
def test_a_response_that_never_gets_to_the_point_is_aborted(
    answer: StubResponse, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = 0
    on_header = http_exchange._ServerConnection.on_header

    def count(self: Any, name: bytes, value: bytes) -> None:
        nonlocal parsed
        parsed += 1
        on_header(self, name, value)

    monkeypatch.setattr(http_exchange._ServerConnection, "on_header", count)
    with Receiver(answer) as receiver:
        assert sent_to(receiver) == Unreachable(reason, code=FailureCode.LIMIT_EXCEEDED)
    assert parsed <= http_limits.HEADERS_MAX + 1  # whatever has arrived


def test_a_few_interim_responses_are_ordinary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "KEEP_ALIVE_S", PATIENCE_S)
    with Receiver(StubResponse(raw=INTERIM * 8 + StubResponse().encode())) as receiver:
        assert (
            send(HttpParams(url=receiver.url), make_batch(), make_batch())
            == [Delivered(status=200)] * 2
        )
        assert receiver.connections == 1


@pytest.mark.parametrize("late", [False, True])
def test_what_comes_after_the_response_is_not_kept(late: bool) -> None:
    """Nor taken for the response to the next request."""

    async def story(receiver: Receiver) -> list[Outcome]:
        webhook = OutcomesOf(HttpParams(url=receiver.url), LOOPBACK)
        outcomes = [await webhook.send(make_batch())]
        if late:
            receiver.push(answer.encode() * 10_000)
            connections = webhook._connections
            assert connections is not None
            while connections.idle_count:  # noqa: ASYNC110 - until it is closed
                await asyncio.sleep(0.01)
        outcomes.append(await webhook.send(make_batch()))
        await webhook.close()
        return outcomes

    answer = StubResponse(body=b"ok")
    first = answer if late else StubResponse(raw=answer.encode() * 10_000)
    with Receiver(first, StubResponse(status=503)) as receiver:
        delivered, refused = run(story(receiver))
        assert (delivered, refused) == (
            Delivered(status=200),
            Refused("answered with status 503", status=503),
        )
        assert [request.connection for request in receiver.requests] == [1, 2]


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 1_000_000])
def test_the_size_of_an_answer_changes_nothing(size: int) -> None:
    with Receiver(StubResponse(body=b"x" * size)) as receiver:
        assert (
            send(HttpParams(url=receiver.url), *[make_batch()] * 3) == [Delivered(status=200)] * 3
        )


def test_an_answer_is_not_unpacked() -> None:
    gzipped = StubResponse(headers={"Content-Encoding": "gzip"}, body=b"not gzip at all")
    with Receiver(gzipped) as receiver:
        assert sent_to(receiver) == Delivered(status=200)


def test_a_put_is_not_repeated_behind_our_back() -> None:
    with Receiver(200, HANG_UP, 200) as receiver:
        outcomes = send(
            HttpParams(url=receiver.url, method="PUT"), make_batch(), make_batch(), make_batch()
        )
        assert len(receiver.requests) == 3
    assert [type(outcome) for outcome in outcomes] == [Delivered, Unreachable, Delivered]


def test_a_receiver_that_is_down_refuses_and_one_that_is_back_is_found() -> None:
    async def story(receiver: Receiver) -> list[Outcome]:
        webhook = OutcomesOf(HttpParams(url=receiver.url), LOOPBACK)
        outcomes = [await webhook.send(make_batch())]
        receiver.down()
        outcomes.append(await webhook.send(make_batch()))
        receiver.up()
        outcomes.append(await webhook.send(make_batch()))
        await webhook.close()
        return outcomes

    # It closes every connection by itself, so that going down shows in the next one only.
    with Receiver(StubResponse(headers={"Connection": "close"})) as receiver:
        outcomes = run(story(receiver))
    assert outcomes == [
        Delivered(status=200),
        Unreachable("connection refused"),
        Delivered(status=200),
    ]


def test_a_name_that_does_not_resolve() -> None:
    (outcome,) = send(HttpParams(url="http://nowhere.invalid/"), make_batch())
    assert outcome == Unreachable(NOT_RESOLVED)


class ResolvedEgress(Egress):
    """Finds the same addresses for every name."""

    def __init__(self, *addresses: str) -> None:
        super().__init__(["127.0.0.0/8"])
        self._found = addresses

    async def resolve(self, host: str) -> list[str]:
        return [*self._found]


@pytest.mark.usefixtures("patient_connections")
def test_connections_that_are_opened_at_once_go_through_all_addresses() -> None:
    egress = ResolvedEgress("127.0.0.9", "127.0.0.8", "127.0.0.1")
    with Receiver() as receiver:  # which listens on one of them
        params = HttpParams(url=receiver.url.replace("127.0.0.1", "receiver.example"))
        batches = [make_batch(id=f"msg_{number}") for number in range(16)]
        outcomes = send(params, *batches, egress=egress, at_once=True)
    assert outcomes == [Delivered(status=200)] * 16


# --- the engine gives up ---


def test_a_cancelled_send_closes_its_connection_and_the_next_batch_is_sent() -> None:
    async def story(receiver: Receiver) -> Outcome:
        webhook = OutcomesOf(HttpParams(url=receiver.url), LOOPBACK)
        giving_up = asyncio.create_task(webhook.send(make_batch()))
        while not receiver.requests:  # noqa: ASYNC110 (filled by another thread)
            await asyncio.sleep(0.01)
        giving_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await giving_up
        outcome = await webhook.send(make_batch())
        await webhook.close()
        return outcome

    with Receiver(HANG, 200) as receiver:
        assert run(story(receiver)) == Delivered(status=200)
        assert [request.connection for request in receiver.requests] == [1, 2]


def test_a_receiver_that_does_not_read_keeps_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "TOTAL_TIMEOUT_S", 0.2)
    this_process = psutil.Process()

    def is_connected(port: int) -> bool:
        return any(
            each.raddr and each.raddr.port == port for each in this_process.net_connections()
        )

    async def story(port: int) -> None:
        webhook = OutcomesOf(HttpParams(url=f"http://127.0.0.1:{port}/"), LOOPBACK)
        outcome = await webhook.send(make_batch(b"x" * 20_000_000))
        assert outcome == Unreachable("timed out", code=FailureCode.TIMED_OUT)
        async with asyncio.timeout(60):
            while is_connected(port):  # noqa: ASYNC110 (the kernel has no event for it)
                await asyncio.sleep(0.01)
        await webhook.close()

    with socket.create_server(("127.0.0.1", 0)) as deaf:
        run(story(deaf.getsockname()[1]))


def test_closing_does_not_wait_for_a_receiver_that_does_not_read() -> None:
    async def story(deaf: socket.socket) -> Outcome:
        webhook = OutcomesOf(HttpParams(url=f"http://127.0.0.1:{deaf.getsockname()[1]}/"), LOOPBACK)
        sending = asyncio.create_task(webhook.send(make_batch(b"x" * 20_000_000)))
        connection, _ = await asyncio.to_thread(deaf.accept)
        with connection:
            await asyncio.to_thread(connection.recv, 1)
            async with asyncio.timeout(60):
                await webhook.close()
                return await sending

    with socket.create_server(("127.0.0.1", 0)) as deaf:
        outcome = run(story(deaf))
    assert outcome == Unreachable("the connection was closed before the response was complete")


def test_an_answer_before_the_request_was_read_counts() -> None:
    def answer_at_once(hasty: socket.socket) -> None:
        connection, _ = hasty.accept()
        with connection:
            connection.recv(1_000)
            connection.sendall(StubResponse(status=413).encode())
            over.wait(60)

    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as hasty:
        thread = threading.Thread(target=answer_at_once, args=[hasty])
        thread.start()
        params = HttpParams(url=f"http://127.0.0.1:{hasty.getsockname()[1]}/")
        outcomes = send(params, make_batch(b"x" * 20_000_000))
        over.set()
        thread.join()
    assert outcomes == [Refused("answered with status 413", status=413)]


def test_a_destination_that_was_closed_opens_again_when_needed() -> None:
    async def story(receiver: Receiver) -> list[Outcome]:
        webhook = OutcomesOf(HttpParams(url=receiver.url), LOOPBACK)
        await webhook.close()
        outcomes = []
        for _ in range(2):
            outcomes.append(await webhook.send(make_batch()))
            await webhook.close()
        return outcomes

    with Receiver() as receiver:
        assert run(story(receiver)) == [Delivered(status=200)] * 2


# --- connections ---


def test_one_connection_serves_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "KEEP_ALIVE_S", PATIENCE_S)
    with Receiver(200, 500, StubResponse(body=b"thanks")) as receiver:
        send(HttpParams(url=receiver.url), *[make_batch()] * 50)
        assert len(receiver.requests) == 50
        assert receiver.connections == 1


def test_sixty_four_batches_can_be_in_flight() -> None:
    with Receiver(StubResponse(held=True), release_after=64) as receiver:
        outcomes = send(HttpParams(url=receiver.url), *[make_batch()] * 64, at_once=True)
        assert receiver.connections == 64
    assert outcomes == [Delivered(status=200)] * 64


def test_idle_connections_are_kept_up_to_a_limit_of_all_destinations() -> None:
    async def story(receiver: Receiver) -> None:
        egress = Egress(["127.0.0.0/8"], connections_max=2)
        webhooks = [OutcomesOf(HttpParams(url=receiver.url), egress) for _ in range(5)]
        for webhook in webhooks:
            assert await webhook.send(make_batch()) == Delivered(status=200)
            while egress.open_connections.count > 2:  # noqa: ASYNC110 - until it is closed
                await asyncio.sleep(0.001)
        for webhook in webhooks:
            await webhook.close()

    with Receiver() as receiver:
        run(story(receiver))
        assert receiver.connections == 5


def test_cookies_are_not_kept() -> None:
    with Receiver(StubResponse(headers={"Set-Cookie": "session=1; Path=/"})) as receiver:
        send(HttpParams(url=receiver.url), make_batch(), make_batch())
        assert "cookie" not in receiver.requests[1].headers


def test_proxies_and_passwords_of_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password hunter2\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with Receiver() as proxy, Receiver() as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert sent_to(receiver) == Delivered(status=200)
        assert proxy.connections == 0
        assert "authorization" not in receiver.requests[0].headers


# --- where it may go ---


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
def test_a_denied_destination_is_not_reached_and_nobody_notices_there(host: str) -> None:
    with Receiver() as receiver:
        params = HttpParams(url=f"http://{host}:{receiver.port}/?token=hunter2")
        (outcome,) = send(params, make_batch(), egress=Egress())
        assert receiver.connections == 0
    # A name may lead elsewhere later, and an internal one looks like an unknown one.
    assert isinstance(outcome, Unreachable) and outcome.is_final == (host != "localhost")
    assert ("may not be reached" in outcome.reason) == outcome.is_final
    assert "hunter2" not in outcome.reason


# --- TLS ---


def trust(monkeypatch: pytest.MonkeyPatch, certificate: bytes) -> None:
    """What the operating system would do for a certificate it knows."""
    context = ssl.create_default_context(cadata=certificate.decode())
    monkeypatch.setattr(http_exchange, "load_tls_context", lambda: context)


def test_a_certificate_that_nobody_knows_is_not_accepted() -> None:
    with Receiver(tls=True) as receiver:
        assert sent_to(receiver) == Unreachable(
            "the certificate is not trusted", code=FailureCode.TLS_FAILED
        )
        assert receiver.requests == []


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_certificate_that_is_known_is_accepted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Receiver(tls=True, name=name) as receiver:
        trust(monkeypatch, receiver.certificate)
        assert sent_to(receiver) == Delivered(status=200)


def test_a_host_with_a_final_dot_has_the_certificate_of_the_same_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Receiver(tls=True, name="localhost") as receiver:
        trust(monkeypatch, receiver.certificate)
        params = HttpParams(url=receiver.url.replace("localhost", "localhost."))
        assert send(params, make_batch(), egress=ResolvedEgress("127.0.0.1")) == [
            Delivered(status=200)
        ]


def test_a_certificate_for_somebody_else_is_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    with Receiver(tls=True, name="localhost") as receiver:
        trust(monkeypatch, receiver.certificate)
        receiver.name = "127.0.0.1"
        assert sent_to(receiver) == Unreachable(
            "the certificate is not trusted", code=FailureCode.TLS_FAILED
        )


def test_a_certificate_of_yesterday_is_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = Receiver(tls=True)
    receiver.tls, receiver.certificate = create_tls_context("127.0.0.1", days=-1)
    with receiver:
        trust(monkeypatch, receiver.certificate)
        assert sent_to(receiver) == Unreachable(
            "the certificate is not trusted", code=FailureCode.TLS_FAILED
        )


def test_there_is_no_falling_back_to_plain_text() -> None:
    with Receiver() as receiver:
        params = HttpParams(url=receiver.url.replace("http:", "https:"))
        assert send(params, make_batch()) == [
            Unreachable("TLS handshake failed", code=FailureCode.TLS_FAILED)
        ]
        assert receiver.requests == []


# --- what cannot be said in HTTP ---


@pytest.mark.parametrize(
    "params",
    [
        {"headers": {"X-A": "a\r\nX-Evil: 1"}},
        {"headers": {"X-A\r\nX-Evil": "1"}},
        {"headers": {"Content-Length": "0"}},
        {"bearer": "a\r\nX-Evil: 1"},
        {"secret": "whsec_???"},
        {"url": "http://[::1/"},
    ],
)
def test_parameters_from_before_a_rule_was_made_are_refused_for_good(
    params: dict[str, Any],
) -> None:
    with Receiver() as receiver:
        (outcome,) = send(HttpParams(**{"url": receiver.url} | params), make_batch())
        assert receiver.connections == 0
    assert isinstance(outcome, Refused) and outcome.is_final


@pytest.mark.parametrize(
    "odd",
    [
        make_batch(id="a\r\nX-Evil: 1"),
        make_batch(id=""),
        make_batch(id="ä"),
        make_batch(content_type="text/plain\r\nX-Evil: 1"),
        make_batch(content_type="text/plain\0"),
    ],
)
def test_a_message_that_would_break_out_of_its_header_is_refused_for_good(
    odd: OutboundBatch,
) -> None:
    with Receiver() as receiver:
        outcome = sent_to(receiver, odd)
        assert receiver.connections == 0
    assert outcome == Refused(
        "the request is not valid HTTP", is_final=True, code=FailureCode.INVALID_MESSAGE
    )


def test_an_address_in_an_odd_spelling_is_refused_for_good() -> None:
    (outcome,) = send(HttpParams(url="http://2130706433:1/"), make_batch())
    assert isinstance(outcome, Refused) and outcome.is_final


# --- at save ---


def problems(**params: Any) -> list[tuple[str, str]]:
    return HttpParams(**{"url": "https://example.com/hook"} | params).validate(Egress())


@pytest.mark.parametrize(
    "params",
    [
        {"url": "http://example.com"},
        {"url": "https://example.com:8443/a/b?c=d&e=%20"},
        {"url": "https://bücher.example/ä"},
        {"url": "https://8.8.8.8/"},
        {"url": "https://[2606:4700::1]:8443/"},
        {"url": "https://example.com/@me"},
        {"url": "https://example.com?who=a@b"},
        {"bearer": "abc"},
        {"basic": Basic(username="me", password="a:b")},
        {"headers": {"X-Api-Key": "1", "content-type": "text/csv", "Authorization": "Key 1"}},
        {"secret": SIGNING},
        {"secret": SIGNING.removeprefix("whsec_")},
        {"secret": SIGNING, "previous_secret": OLD_SIGNING},
        {"method": "PUT", "batch": 1_000},
    ],
)
def test_good_parameters_have_no_problems(params: dict[str, Any]) -> None:
    assert problems(**params) == []


ODD = "must not contain spaces, backslashes or control characters"


@pytest.mark.parametrize(
    "url, why",
    [
        ("ftp://example.com", "must be an absolute URL with http or https and a host"),
        ("file:///etc/passwd", "must be an absolute URL with http or https and a host"),
        ("example.com/hook", "must be an absolute URL with http or https and a host"),
        ("//example.com/hook", "must be an absolute URL with http or https and a host"),
        ("http:///hook", "must be an absolute URL with http or https and a host"),
        ("https:example.com", "must be an absolute URL with http or https and a host"),
        ("https://[::1/", "is not a URL"),
        ("https://[]a@", "is not a URL"),
        ("https://example.com:99999/", "is not a URL"),
        ("https://example.com:0/", "must not have the port 0"),
        ("https://me:pw@example.com/", "must not contain a user name or password"),
        ("https://me@example.com/", "must not contain a user name or password"),
        ("https://@example.com/", "must not contain a user name or password"),
        ("https://example.com/#top", "must not have a fragment"),
        ("https://example.com/#", "must not have a fragment"),
        ("https://exam ple.com/", ODD),
        ("https://example.com/\r\nX: y", ODD),
        ("https://example.com\\@10.0.0.1/", ODD),
        ("http://127.0.0.1/", "127.0.0.1 is not a public address and may not be reached"),
        ("http://127.1/", "127.0.0.1 is not a public address and may not be reached"),
        ("http://2130706433/", "127.0.0.1 is not a public address and may not be reached"),
        ("http://①②⑦.0.0.1/", "127.0.0.1 is not a public address and may not be reached"),
        ("http://[::1]/", "::1 is not a public address and may not be reached"),
        ("http://[fe80::1%25lo]/", "an address with a zone may not be reached"),
        ("http://134744072/", "must have the address written as 8.8.8.8"),
        ("http://a..b/", "not a valid host name"),
    ],
)
def test_a_url_that_cannot_be_taken(url: str, why: str) -> None:
    assert problems(url=url) == [("url", why)]


@pytest.mark.parametrize(
    "headers, why",
    [
        ({name: "x"}, f"{name} cannot be set")
        for name in (
            *("Host", "content-length", "Transfer-Encoding", "CONNECTION", "Idempotency-Key"),
            *("webhook-id", "Webhook-Signature", "webhook-anything", "Expect", "Upgrade", "TE"),
        )
    ]
    + [
        ({name: "x"}, "a header name has invalid characters")
        for name in ("", "X A", "X:A", "X\r\nA", "X\n", "Ä", "X\0", "x" * 129)
    ]
    + [
        ({"X-A": value}, "X-A must be plain text on one line")
        for value in ("a\r\nb", "a\n", "\0", "ä", "\x7f")
    ],
)
def test_headers_that_cannot_be_set(headers: dict[str, str], why: str) -> None:
    assert problems(headers=headers) == [("headers", why)]


def test_a_header_can_be_there_only_once() -> None:
    assert ("headers", "x-a is given twice") in problems(headers={"X-A": "1", "x-a": "2"})


@pytest.mark.parametrize(
    "params, field",
    [
        ({"bearer": "a", "basic": Basic(username="me", password="pw")}, "basic"),
        ({"bearer": "a", "headers": {"AUTHORIZATION": "b"}}, "headers"),
        ({"bearer": "a\nb"}, "bearer"),
        ({"basic": Basic(username="a:b", password="pw")}, "basic"),
        ({"secret": "whsec_"}, "secret"),
        ({"secret": "whsec_not base64"}, "secret"),
        ({"secret": "whsec_abc"}, "secret"),
        ({"secret": "any text"}, "secret"),
        ({"secret": "whsec_" + base64.b64encode(b"k" * 23).decode()}, "secret"),
        ({"secret": "whsec_" + base64.b64encode(b"k" * 65).decode()}, "secret"),
        ({"secret": SIGNING, "previous_secret": "whsec_abc"}, "previousSecret"),
        ({"previous_secret": OLD_SIGNING}, "previousSecret"),
    ],
)
def test_credentials_that_cannot_be_used(params: dict[str, Any], field: str) -> None:
    assert [where for where, _ in problems(**params)] == [field]


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"url": ""}',
        '{"url": "https://example.com", "method": "GET"}',
        '{"url": "https://example.com", "batch": 0}',
        '{"url": "https://example.com", "batch": 1001}',
        '{"url": "https://example.com", "bearer": ""}',
        '{"url": "https://example.com", "uri": ""}',
        '{"url": "https://example.com", "basic": {"username": "me"}}',
        '{"url": "https://example.com", "headers": {"X-A": 1}}',
        json.dumps({"url": "https://example.com/" + "x" * 2_048}),
        json.dumps({"url": "https://example.com", "headers": {f"X-{n}": "1" for n in range(51)}}),
    ],
)
def test_parameters_that_do_not_fit_the_schema(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=HttpParams)


def test_the_schema_tells_what_is_secret() -> None:
    (schema,), parts = msgspec.json.schema_components([HttpParams], ref_template="{name}")
    fields = parts[schema["$ref"]]["properties"]
    assert fields["headers"]["additionalProperties"]["writeOnly"]
    assert fields["bearer"]["anyOf"][0]["writeOnly"]
    assert fields["secret"]["anyOf"][0]["writeOnly"]
    assert parts["Basic"]["properties"]["password"]["writeOnly"]
    assert all("description" in fields[name] for name in ("url", "method", "headers", "batch"))


# --- a look without sending ---


def test_what_would_be_sent_is_shown_without_its_secrets() -> None:
    params = HttpParams(
        url="https://example.com/hook",
        method="PUT",
        headers={"X-Key": "hunter2"},
        bearer="hunter3",
        secret=SIGNING,
    )
    request = OutcomesOf(params, LOOPBACK).describe(make_batch(b"21.5", content_type="text/plain"))
    assert msgspec.to_builtins(request) == {
        "method": "PUT",
        "url": "https://example.com/hook",
        "headers": {
            "User-Agent": f"longwire/{__version__}",
            "X-Key": MASK,
            "Authorization": f"Bearer {MASK}",
            "webhook-id": "msg_1",
            "webhook-timestamp": str(NOON // SECOND),
            "webhook-signature": f"v1,{MASK}",
            "Idempotency-Key": "msg_1",
            "Content-Type": "text/plain",
        },
        "body": "21.5",
    }


def test_a_password_is_not_shown_either_and_a_body_need_not_be_text() -> None:
    params = HttpParams(url="https://example.com", basic=Basic(username="me", password="hunter2"))
    request = OutcomesOf(params, LOOPBACK).describe(make_batch(b"\xff"))
    assert request.headers["Authorization"] == f"Basic {MASK}"
    assert request.body == "\ufffd"


def test_what_is_shown_is_what_is_sent() -> None:
    params: Callable[[str], HttpParams] = lambda url: HttpParams(url=url, batch=3)  # noqa: E731
    with Receiver() as receiver:
        send(params(receiver.url), make_batch(b"1", b"2"))
        (request,) = receiver.requests
        shown = OutcomesOf(params(receiver.url), LOOPBACK).describe(make_batch(b"1", b"2"))
    assert shown.body.encode() == request.body
    assert (
        shown.headers.items()
        == {name: request.headers[name.lower()] for name in shown.headers}.items()
    )
