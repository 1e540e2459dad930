"""Receivers that never finish, flood or hang, and connectors whose templates are costly."""

import json

import pytest

from longwire.delivery.http import http_limits
from tests.abuse.forwarding import (
    create_connectors,
    delete_connectors,
    get_errors,
    post_records,
)
from tests.abuse.victim import Scene
from tests.delivery.receiver import HANG, Receiver, StubResponse
from tests.waiting import eventually

INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;"

ENDLESS_INTERIM = StubResponse(raw=INTERIM, endless=True, block=INTERIM * 1_000)
ENDLESS_EXTENSION = StubResponse(raw=CHUNKED, endless=True, block=b"extension" * 4_000)
ENDLESS_BODY = StubResponse(endless=True)
PIPELINED = StubResponse(raw=StubResponse(body=b"ok").encode() * 4_000)
DRIPPING = StubResponse(body=b"ok", drip_s=1.0)


@pytest.fixture(scope="module")
def service_flags() -> tuple[str, ...]:
    """A budget that is used up at once, however fast the machine is."""
    return ("--compute-ms-per-group-per-s", "10")


@pytest.mark.engine_free
def test_receivers_that_never_get_to_the_point_slow_nobody(scene: Scene) -> None:
    mallory = scene.mallory
    group = mallory.group()
    device = mallory.device(group)
    with (
        Receiver(ENDLESS_INTERIM) as interim,
        Receiver(ENDLESS_EXTENSION) as extension,
        Receiver(ENDLESS_BODY) as body,
        Receiver(PIPELINED) as pipelined,
    ):
        endless = create_connectors(mallory, group, 5, "http", {"url": interim.url})
        create_connectors(mallory, group, 5, "http", {"url": extension.url})
        create_connectors(mallory, group, 5, "http", {"url": body.url})
        create_connectors(mallory, group, 5, "http", {"url": pipelined.url})
        scene.assert_victim_unharmed(post_records(scene, device, 16))
        eventually(lambda: get_errors(mallory, group, endless) == {http_limits.TOO_MANY_INTERIM})


@pytest.mark.engine_free
def test_many_connectors_to_receivers_that_hang_slow_nobody(scene: Scene) -> None:
    mallory = scene.mallory
    group = mallory.group()
    device = mallory.device(group)
    with Receiver(HANG) as hanging, Receiver(DRIPPING) as dripping:
        create_connectors(mallory, group, 75, "http", {"url": hanging.url})
        create_connectors(mallory, group, 75, "http", {"url": dripping.url})
        scene.assert_victim_unharmed(post_records(scene, device, 20))


@pytest.mark.soak  # tests/delivery/test_engine_sharing.py has costly templates too
def test_costly_templates_slow_nobody(scene: Scene) -> None:
    mallory = scene.mallory
    group = mallory.group()
    device = mallory.device(group)
    with Receiver() as receiver:
        params = {"url": receiver.url, "template": f"[{','.join(['message.data'] * 60)}]"}
        costly = create_connectors(mallory, group, 30, "http", params, format="custom")
        scene.assert_victim_unharmed(
            post_records(scene, device, 50, data=json.dumps(list(range(400))))
        )
        eventually(
            lambda: any(
                each.startswith("template_too_expensive")
                for each in get_errors(mallory, group, costly)
            )
        )
        delete_connectors(mallory, group)
