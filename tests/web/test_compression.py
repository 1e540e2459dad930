"""Compressed responses: for those who accept them, where no secret is in them, at little cost."""

import gzip
import json
import zlib
from typing import Any

import httpx
import pytest

from longwire.web import compression
from longwire.web.compression import accepts_gzip, compress
from longwire.web.routing import Request
from tests.world import World, ok

pytestmark = pytest.mark.engine_free

ACCEPTS = {"Accept-Encoding": "gzip"}
REFUSES = {"Accept-Encoding": "identity"}
# A field whose name has one of these may be what somebody wants to guess.
SECRET_WORDS = ("secret", "token", "password", "params")


def schemas_of(document: dict[str, Any], part: Any) -> set[str]:
    """The names of all properties in a schema and what it refers to."""
    names: set[str] = set()
    seen: set[str] = set()

    def walk(node: Any) -> None:
        if isinstance(node, list):
            for each in node:
                walk(each)
        if not isinstance(node, dict):
            return
        names.update(node.get("properties", {}))
        reference = node.get("$ref", "")
        if reference and reference not in seen:
            seen.add(reference)
            walk(document["components"]["schemas"][reference.rpartition("/")[2]])
        for each in node.values():
            walk(each)

    walk(part)
    return names - {"nextToken"}


@pytest.mark.slow
def test_no_response_with_a_secret_is_compressed(world: World) -> None:
    document = world.app.build_openapi()
    compressed = 0
    for route in world.app.routes:
        if not route.may_be_compressed or route.takes_request:
            continue
        compressed += 1
        responses = document["paths"][route.path][route.method.lower()]["responses"]
        names = schemas_of(document, responses["200"])
        secrets = {name for name in names if any(word in name.lower() for word in SECRET_WORDS)}
        assert not secrets, f"{route.method} {route.path} needs has_secrets"
    assert compressed > 30


def test_a_page_of_records_is_compressed_for_who_accepts_it(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    for number in range(20):
        ada.reports(device, timestamp=1_700_000_000_000 + number, data=f"{number:040d}")

    def get(headers: dict[str, str], path: str = "/device/data") -> httpx.Response:
        params = {"deviceId": device} if path == "/device/data" else {"groupId": group}
        return ada.request("GET", path, headers=headers, params=params)

    plain = get(REFUSES)
    assert "content-encoding" not in plain.headers
    for _ in range(2):  # the second one from the cache, on SQLite
        small = get(ACCEPTS)
        assert small.headers["content-encoding"] == "gzip"
        assert small.json() == plain.json()
        assert int(small.headers["content-length"]) < len(plain.content) / 2
    head = ada.request("HEAD", "/device/data", headers=ACCEPTS, params={"deviceId": device})
    assert head.headers["content-encoding"] == "gzip" and head.content == b""

    # A group has its token in it, and an error is small.
    assert "content-encoding" not in get(ACCEPTS, "/group").headers
    assert "content-encoding" not in ada.request("GET", "/device/data", headers=ACCEPTS).headers


@pytest.mark.slow
def test_a_large_response_is_compressed_in_a_thread_unless_all_are_busy(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = world.http.get("/openapi.json", headers=ACCEPTS)
    assert document.headers["content-encoding"] == "gzip"
    assert len(document.content) > compression.BYTES_ON_LOOP_MAX
    monkeypatch.setattr(compression, "THREADS", 0)
    uncompressed = world.http.get("/openapi.json", headers=ACCEPTS)
    assert "content-encoding" not in uncompressed.headers
    assert ok(uncompressed) == document.json()


def test_the_length_of_a_compressed_response_does_not_tell_its_content() -> None:
    text = json.dumps({"items": [{"n": number} for number in range(200)]}).encode()
    made = [compress(text) for _ in range(100)]
    assert len({len(each) for each in made}) > 10
    for each in made:
        assert gzip.decompress(each) == text
        assert zlib.decompress(each, 31) == text


@pytest.mark.parametrize(
    "header, accepts",
    [
        (None, False),
        (b"", False),
        (b"gzip", True),
        (b"GZIP, deflate, br", True),
        (b"br, gzip;q=0.5", True),
        (b"gzip;q=0", False),
        (b"gzip; q=0.000", False),
        (b"*", True),
        (b"identity", False),
        (b"xgzip", False),
    ],
)
def test_who_accepts_gzip(header: bytes | None, accepts: bool) -> None:
    headers = {} if header is None else {b"accept-encoding": header}
    request = Request("GET", "/", b"", headers, frozenset(), "-", False, "1")
    assert accepts_gzip(request) is accepts
