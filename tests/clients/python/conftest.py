"""The Python client, against a service in the process of the test."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from longwire_client import Client, Retries
from tests.delivery.receiver import HANG_UP, Received, Receiver, StubResponse
from tests.world import Person, World

# Nothing to wait for on one machine.
SOON = Retries(attempts=5, first_delay_s=0.001, delay_max_s=0.01)


class Proxy(Receiver):
    """Passes requests on to the service; a script says what happens to some of them."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._http = httpx.Client(timeout=60)
        self.respond_with(self.forward)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._http.close()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def forward(self, request: Received) -> StubResponse:
        hop = {"host", "connection", "content-length", "accept-encoding"}
        response = self._http.request(
            request.method,
            self._world.url + request.path,
            headers={name: value for name, value in request.headers.items() if name not in hop},
            content=request.body,
        )
        kept = {"content-type", "x-request-id", "retry-after"}
        headers = {name: value for name, value in response.headers.items() if name in kept}
        return StubResponse(response.status_code, headers, response.content)

    def lose(self, request: Received) -> StubResponse:
        """The service carries the request out, but its response does not arrive."""
        self.forward(request)
        return HANG_UP

    def paths(self, start: str) -> list[str]:
        """The requests whose method and path begin so."""
        return [
            line
            for each in list(self.requests)
            if (line := f"{each.method} {each.path}").startswith(start)
        ]


def problem(status: int, code: str, **headers: str) -> StubResponse:
    body = {"status": status, "code": code, "detail": code, "errors": [], "requestId": "r"}
    described = {"Content-Type": "application/problem+json", **headers}
    return StubResponse(status, described, json.dumps(body).encode())


@pytest.fixture
def proxy(world: World) -> Iterator[Proxy]:
    with Proxy(world) as started:
        yield started


@pytest.fixture
def ada(world: World) -> Person:
    return world.person()


@pytest.fixture
def connect(world: World, ada: Person) -> Iterator[Callable[..., Client]]:
    """Makes clients of ada."""
    with ExitStack() as stack:

        def make(url: str | None = None, person: Person = ada, **options: Any) -> Client:
            if "token" not in options:
                options |= {"client_id": person.client_id, "client_secret": person.client_secret}
            client = Client(url or world.url, **{"retries": SOON, **options})
            return stack.enter_context(client)

        yield make


@pytest.fixture
def client(connect: Callable[..., Client]) -> Client:
    return connect()
