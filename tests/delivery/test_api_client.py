"""The client of networks' APIs, against one that does what it likes with the connection."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
import uvloop

from longwire.delivery.destinations.base import FailureCode, Outcome, Unreachable
from longwire.delivery.http import http_limits, http_responses
from longwire.delivery.http.api_client import ApiClient, ApiResponse
from longwire.delivery.http.egress import Egress
from tests.delivery.receiver import Receiver, StubResponse

LOOPBACK = Egress(["127.0.0.0/8"])
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
LONG_INTERIM = b"HTTP/1.1 103 Early Hints\r\n" + b"X: %s\r\n" % (b"y" * 8_000) * 10 + b"\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def run(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def request_twice(receiver: Receiver) -> list[ApiResponse | Outcome]:
    async def story() -> list[ApiResponse | Outcome]:
        client = ApiClient(LOOPBACK)
        responses = [await client.request("POST", receiver.url, {}, {}) for _ in range(2)]
        await client.close()
        return responses

    responses: list[ApiResponse | Outcome] = run(story())
    return responses


@pytest.mark.parametrize(
    "answer, reason",
    [
        (StubResponse(raw=INTERIM * 9), http_limits.TOO_MANY_INTERIM),
        (
            StubResponse(raw=INTERIM, endless=True, block=INTERIM * 1_000),
            http_limits.TOO_MANY_INTERIM,
        ),
        (StubResponse(raw=LONG_INTERIM * 2), http_limits.HEAD_TOO_LARGE),
        (
            StubResponse(raw=CHUNKED + b"1;", endless=True, block=b"extension" * 1_000),
            http_limits.RESPONSE_TOO_LARGE,
        ),
    ],
    ids=["interim", "endless interim", "long interim", "endless chunk extension"],
)
def test_a_response_that_never_gets_to_the_point_is_aborted(
    answer: StubResponse, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = 0
    feed_data = http_responses.BoundedResponseHandler.feed_data

    def count(self: Any, data: Any, size: int = 0) -> None:
        nonlocal parsed
        parsed += 1
        feed_data(self, data, size)

    monkeypatch.setattr(http_responses.BoundedResponseHandler, "feed_data", count)
    with Receiver(answer) as receiver:
        exceeded = Unreachable(reason, code=FailureCode.LIMIT_EXCEEDED)
        assert request_twice(receiver) == [exceeded, exceeded]
    # What one piece of a read can hold, whatever has arrived.
    assert parsed <= 2 * http_responses.PARSED_AT_ONCE_BYTES // 20


def test_what_comes_after_the_response_is_not_taken_for_the_next_one() -> None:
    many = StubResponse(raw=StubResponse(body=b"ok").encode() * 10_000)
    with Receiver(many, StubResponse(status=503)) as receiver:
        statuses = [
            each.status for each in request_twice(receiver) if isinstance(each, ApiResponse)
        ]
        assert statuses == [200, 503]
        assert [request.connection for request in receiver.requests] == [1, 2]
