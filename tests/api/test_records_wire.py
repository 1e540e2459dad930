"""Records over the API: every field of the four kinds, their special cases, and validation.

The record POSTs have their own path through the service. A client must not notice.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from longwire.web.fields import InputLimits
from tests.world import KINDS, NOON, Person, World, nothing_happens, ok, record_of, refused

pytestmark = pytest.mark.engine_free

ODD = ' {"a" : 1.0,\n\t"a":"ü\\u00fc\U0001f6f0\\\\"}\x01\u2028'  # any text, to the letter

FULL: dict[str, dict[str, Any]] = {
    "data": {
        "data": ODD,
        "configuration": ODD,
        "__raw": "0a1B",
        "deviceType": "a word of the device's own",
        "mode": "eco",
        "reason": "moved",
        "deviceName": "as sent",
    },
    "event": {
        "type": "doorOpened",
        "deviceType": "door",
        "message": ODD,
        "data": ODD,
        "severity": "high",
    },
    "geoloc": {
        "status": -(2**63),
        "source": 2**63 - 1,
        "radius": 0,
        "lat": -90,
        "lng": 179.987654321,
        "location": ODD,
        "data": ODD,
        "__raw": "",
    },
    "telemetry": {
        "deviceType": "",
        "duplicates": ["one", ODD, ""],
        "data": ODD,
        "score": -7,
        "nbBs": 3,
        "rc": 2**53 + 1,
    },
}

REQUIRED = {
    "data": {"deviceId", "timestamp", "data", "configuration", "__raw", "deviceType"},
    "event": {"deviceId", "timestamp", "type"},
    "geoloc": {"deviceId", "timestamp"},
    "telemetry": {"deviceId", "timestamp", "deviceType"},
}

WORD = ["w" * 257, 7, ["w"], "a\x00b"]
TEXT = ["t" * 262_145, 7, {"a": 1}, "\x00"]
WHOLE = [2**63, -(2**63) - 1, 1.5, "7", True]

WRONG: dict[str, dict[str, list[Any]]] = {
    "data": {
        "data": [*TEXT, None],
        "configuration": [*TEXT, None],
        "__raw": [*TEXT, None],
        "deviceType": [*WORD, None],
        "mode": WORD,
        "reason": WORD,
        "deviceName": [*WORD, ""],
    },
    "event": {
        "type": [*WORD, "", None],
        "deviceType": WORD,
        "message": TEXT,
        "data": TEXT,
        "severity": WORD,
    },
    "geoloc": {
        "status": WHOLE,
        "source": WHOLE,
        "radius": WHOLE,
        "lat": [90.0001, -91, "1", 10**400],
        "lng": [180.0001, -181, [1], True],
        "location": TEXT,
        "data": TEXT,
        "__raw": TEXT,
    },
    "telemetry": {
        "deviceType": [*WORD, None],
        "duplicates": ["one", ["d"] * 1_001, {"a": 1}],
        "data": TEXT,
        "score": WHOLE,
        "nbBs": WHOLE,
        "nbBS": WHOLE,
        "rc": WHOLE,
    },
}
ALWAYS_WRONG: dict[str, list[Any]] = {
    "deviceId": ["", "d" * 129, 7, None],
    "groupId": ["", "g" * 129, 7],
    "timestamp": [
        *("", " ", "now", "2026-02-30", "2026-03-01T12:00:00+25:00", "1e9", "12:00", "a\x00"),
        *(None, True, [], {}, 10**15, 1e300, -(10**14)),
    ],
}

SPELLINGS: dict[str | float, str] = {
    "2026-03-01T12:00:00Z": NOON,
    "2026-03-01t12:00:00.000z": NOON,
    "2026-03-01T17:30:00+05:30": NOON,
    "2026-03-01 12:00": NOON,
    "2026-03-01": "2026-03-01T00:00:00.000Z",
    "2026-03-01T12:00:00.1234567Z": "2026-03-01T12:00:00.123456Z",
    "2026-03-01T12:00:00.120": "2026-03-01T12:00:00.120Z",
    "1772366400": NOON,
    "1772366400.5": "2026-03-01T12:00:00.500Z",
    "1772366400001": "2026-03-01T12:00:00.001Z",
    1_772_366_401: "2026-03-01T12:00:01.000Z",
    1_772_366_402.25: "2026-03-01T12:00:02.250Z",
    1_772_366_403_004: "2026-03-01T12:00:03.004Z",
    0: "1970-01-01T00:00:00.000Z",
    -1.5: "1969-12-31T23:59:58.500Z",
    "0001-01-01": "0001-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.999999Z": "9999-12-31T23:59:59.999999Z",
}


def answered(kind: str) -> dict[str, Any]:
    """The fields of a full record as they are returned."""
    fields = dict(FULL[kind])
    if kind == "telemetry":
        fields["nbBS"] = fields.pop("nbBs")  # in with a small s, out with a capital one
    return fields


def delete_at(person: Person, kind: str, device: str, at: Any) -> httpx.Response:
    method = "PUT" if kind == "data" else "DELETE"
    params = {"deviceId": device, "timestamp": at}
    return person.request(method, f"/device/{kind}", params=params)


# --- every field ---


def test_every_field_is_returned_as_it_was_sent(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group, name="Buoy")
    for kind in KINDS:
        body = {"deviceId": device, "timestamp": NOON, **FULL[kind]}
        answer = ada.post(f"/device/{kind}", {**body, "seenAt": 7, "id": "x", "color": "red"})
        assert answer.headers["content-type"] == "application/json"
        whole = ok(answer)
        expected = {"deviceId": device, "timestamp": NOON, "groupId": group, **answered(kind)}
        assert whole == expected, kind
        assert ok(ada.get(f"/device/{kind}", deviceId=device)) == {"items": [whole]}
        # With no more than it must have, it says no more, but for what we know ourselves.
        least = record_of(device, kind, timestamp="2026-03-02T00:00:00.000Z")
        assert least.keys() == REQUIRED[kind]
        nothing = dict.fromkeys(FULL[kind].keys() - REQUIRED[kind])
        for sent in (least, {**least, **nothing, "groupId": None}):
            made = ok(ada.post(f"/device/{kind}", sent))
            filled_in = {"groupId": group, **({"deviceName": "Buoy"} if kind == "data" else {})}
            assert made == {**least, **filled_in}, kind
        assert len(ada.records(device, kind)) == 2, "null is as good as left out"


def test_omitted_fields_are_filled_in_with_the_values_at_arrival(world: World) -> None:
    ada = world.person("ada")
    first, second = ada.group("first"), ada.group("second")
    device = ada.device(first, name="Buoy")
    ada.reports(device, data="1", timestamp="2026-03-01")
    ok(ada.put("/device", {"deviceId": device, "groupId": first, "name": 'Böje "7"\\'}))
    ada.reports(device, data="2", timestamp="2026-03-02")
    move = {"deviceId": device, "groupId": first, "toGroupId": second}
    ok(ada.put("/device/transfer", move))
    ada.reports(device, data="3", timestamp="2026-03-03", deviceName="mine", groupId=second)
    found = [(each["deviceName"], each["groupId"]) for each in ada.records(device)]
    assert found == [("Buoy", first), ('Böje "7"\\', first), ("mine", second)]
    # The name makes no other record, whether it was sent or filled in.
    ada.reports(device, data="3", timestamp="2026-03-03")
    ada.reports(device, data="3", timestamp="2026-03-03", deviceName="another")
    assert len(ada.records(device)) == 3


def test_a_group_in_a_record_must_be_the_group_of_its_device(world: World) -> None:
    ada = world.person("ada")
    group = ada.group("group")
    below = ada.group("below", parent=group)
    device = ada.device(group)
    with nothing_happens(world):
        for kind in KINDS:
            for claimed in (below, "1", "nowhere", f"0{group}", f" {group}"):
                sent = record_of(device, kind, groupId=claimed)
                assert ada.post(f"/device/{kind}", sent).status_code == 400, claimed
                problem = refused(ada.post(f"/device/{kind}", sent), 400, "groupId")
                assert problem["errors"][0]["in"] == "body"
    for kind in KINDS:
        assert ada.reports(device, kind, groupId=group)["groupId"] == group


def test_base_stations_are_counted_in_either_spelling(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    sent = record_of(device, "telemetry")
    for both in ({"nbBs": 3}, {"nbBS": 3}, {"nbBs": 3, "nbBS": 3}, {"nbBs": None, "nbBS": 3}):
        answer = ada.post("/device/telemetry", {**sent, **both})
        assert ok(answer)["nbBS"] == 3
        assert "nbBs" not in answer.text
    assert len(ada.records(device, "telemetry")) == 1, "all the same record"
    assert ada.reports(device, "telemetry", nbBs=0)["nbBS"] == 0
    with nothing_happens(world):
        differing = {**sent, "nbBs": 3, "nbBS": 4}
        refused(ada.post("/device/telemetry", differing), 400, "nbBs")
        items = [{**sent, "nbBs": 5}, differing, {**sent, "nbBS": 5}, {**differing, "nbBs": 0}]
        batch = ada.post("/device/telemetry/batch", {"items": items})
        refused(batch, 400, "items[1].nbBs", "items[3].nbBs")


# --- dates ---


@pytest.mark.slow
def test_a_date_is_accepted_in_every_format_and_returned_in_one(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    for kind in KINDS:
        device = ada.device(group)
        for spelling, expected in SPELLINGS.items():
            made = ada.reports(device, kind, timestamp=spelling, data=str(spelling))
            assert made["timestamp"] == expected, spelling
        times = [each["timestamp"] for each in ada.records(device, kind)]
        assert times == sorted(SPELLINGS.values())
        for spelling, expected in SPELLINGS.items():
            found = ada.records(device, kind, beginDate=spelling, limit=1_000)
            assert found[0]["timestamp"] == expected, spelling
        for spelling in SPELLINGS:
            answer = delete_at(ada, kind, device, spelling)
            at = SPELLINGS[spelling]
            if at in times:
                ok(answer)
                times = [each for each in times if each != at]
            else:
                refused(answer, 404, "timestamp")
        assert ada.records(device, kind) == []


# --- what is refused ---


def wrong_records(kind: str, device: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(the wrong field, a record that is right but for it)"""
    for field, values in {**ALWAYS_WRONG, **WRONG[kind]}.items():
        for value in values:
            yield field, {**record_of(device, kind), field: value}
    for field in REQUIRED[kind]:
        whole = record_of(device, kind)
        whole.pop(field)
        yield field, whole


@pytest.mark.slow
def test_an_invalid_record_is_refused_with_the_invalid_field_named(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    with nothing_happens(world):
        for kind in KINDS:
            path = f"/device/{kind}"
            refused(ada.post(path, {}), 400, *REQUIRED[kind])
            for field, record in wrong_records(kind, device):
                case = f"{kind}.{field}={str(record.get(field))[:40]!r}"
                response = ada.post(path, record)
                assert response.status_code == 400, f"{case}: {response.text[:200]}"
                problem = refused(response, 400)
                named = [(error["in"], error["field"]) for error in problem["errors"]]
                assert named == [("body", field)], case
            everything = {name: values[0] for name, values in WRONG[kind].items()}
            wrong = {**record_of(device, kind), **everything, "timestamp": "soon"}
            refused(ada.post(path, wrong), 400, "timestamp", *everything)
        several = record_of(device, "telemetry", duplicates=["fine", 7, "fine", "\x00"])
        refused(ada.post("/device/telemetry", several), 400, "duplicates[1]", "duplicates[3]")


def test_the_largest_values_are_accepted(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    word, text = "w" * 256, "t" * 262_144
    for kind, largest in {
        "data": {"data": text, "configuration": text, "mode": word, "deviceName": word},
        "event": {"type": word, "message": text, "data": text, "severity": word},
        "geoloc": {"lat": 90, "lng": -180, "status": 2**63 - 1, "location": text},
        "telemetry": {"duplicates": ["d"] * 1_000, "nbBs": -(2**63), "data": text},
    }.items():
        made = ada.reports(device, kind, **largest)
        assert ada.records(device, kind) == [made]
        assert len(json.dumps(made)) > len(json.dumps(largest))


@pytest.mark.slow
def test_nul_and_lone_surrogates_are_refused_in_every_field(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())

    def sent(path: str, body: Any, text: str) -> httpx.Response:
        content = json.dumps(body).replace("HERE", text).encode()
        return ada.request("POST", path, content=content)

    for kind in KINDS:
        path, record = f"/device/{kind}", record_of(device, kind, data="HERE")
        batch = {"items": [record_of(device, kind), record, record_of(device, kind, data="x")]}
        with nothing_happens(world):
            for bad in (r"\u0000", r"a\u0000b", r"\ud83d", r"\udE00", r"\ude00\ud83d", r"\ud83dx"):
                refused(sent(path, record, bad), 400, "data")
                refused(sent(f"{path}/batch", batch, bad), 400, "items[1].data")
            refused(sent(path, {**record, "deviceId": "HERE"}, r"\ud83d"), 400, "data", "deviceId")
        assert ok(sent(path, record, r"\ud83d\ude00"))["data"] == "\U0001f600"
        assert ok(sent(path, record, r"\\u0000"))["data"] == r"\u0000"
        assert ok(sent(f"{path}/batch", batch, r"\ud83d\udE00"))["duplicates"] == 1


@pytest.mark.slow
def test_a_batch_may_be_larger_than_a_record_but_has_its_limit(world: World) -> None:
    limits = InputLimits()
    ada = world.person("ada")
    device = ada.device(ada.group())
    large = [record_of(device, data=str(n) + "x" * 262_000) for n in range(31)]
    assert len(json.dumps(large[:5])) > limits.body_bytes_max
    assert ok(ada.post("/device/data/batch", {"items": large[:5]}))["stored"] == 5
    with nothing_happens(world):
        fields = dict.fromkeys(("data", "configuration", "__raw", "mode"), "x" * 262_144)
        refused(ada.post("/device/data", record_of(device, **fields)), 413)
        more = [*large, record_of(device, data="y" * 262_144), record_of(device, data="z" * 9_999)]
        assert len(json.dumps(more)) > limits.bulk_body_bytes_max
        refused(ada.post("/device/data/batch", {"items": more}), 413)
    assert ok(ada.post("/device/data/batch", {"items": large}))["stored"] == 26
    assert [each["data"][:2] for each in ada.records(device, limit=7)][:3] == ["0x", "1x", "2x"]


# --- a record is refused as anything else is ---

DEEP = InputLimits().json_depth_max
SMALL = 20_000  # bytes that are too many here; what is too large need not be large

BAD_BODIES: dict[str, Any] = {
    "nothing": b"",
    "a space": b" ",
    "half an object": b'{"name": ',
    "two objects": b"{}{}",
    "a comma too many": b'{"x": 1,}',
    "single quotes": b"{'x': 1}",
    "a comment": b"{} // x",
    "NaN": b'{"x": NaN}',
    "Infinity": b'{"x": -Infinity}',
    "a control character": b'{"x": "\x01"}',
    "no UTF-8": b'{"x": "\xff"}',
    "half of a character": b'{"x": "\xc3',
    "a surrogate in UTF-8": b'{"x": "\xed\xa0\x80"}',
    "UTF-16": "{}".encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "a form": b"name=a&groupId=7",
    "a list": b"[]",
    "a list of objects": b"[{}]",
    "a text": b'"text"',
    "null": b"null",
    "a number": b"7",
    "true": b"true",
    "depth": b'{"x": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "endless depth": b"[" * 9_999,
    "endless depth of objects": b'{"x":' * 3_000,
    "too many bytes": b'{"x": "' + b"x" * SMALL + b'"}',
    "too many bytes of nothing": b" " * (SMALL + 1),
    "too many bytes in pieces": lambda: iter([b'{"x": "', b"x" * SMALL, b'"}']),
}
BAD_HEADERS: dict[str, dict[str, str]] = {
    "no token": {"Authorization": ""},
    "an unknown token": {"Authorization": "Bearer 00000000-0000-0000-0000-000000000000"},
    "another scheme": {"Authorization": "Basic dXNlcjpwYXNz"},
    "two words": {"Authorization": "Bearer a b"},
    "a form's type": {"Content-Type": "application/x-www-form-urlencoded"},
    "a file's type": {"Content-Type": "multipart/form-data; boundary=x"},
    "a text's type": {"Content-Type": "text/plain"},
    "another charset": {"Content-Type": "application/json; charset=latin-1"},
    "an empty type": {"Content-Type": ""},
}
BAD_METHODS = ("PATCH", "OPTIONS", "TRACE")
BAD_PATHS = ("{}/", "{}//", "/{}", "{}%00", "{}/x")


def seen(response: httpx.Response) -> dict[str, Any]:
    """What a client sees of an error response, without the path and the request id."""
    problem = refused(response, response.status_code)
    problem.pop("requestId")
    if response.status_code in (404, 405):
        for words in ("detail", "message"):
            problem.pop(words)  # it names the path
    headers = dict(response.headers)
    for own in ("x-request-id", "content-length", "date", "allow"):
        headers.pop(own, None)
    return {"problem": problem, "headers": headers, "allows": "allow" in response.headers}


@pytest.mark.slow
def test_record_requests_get_the_same_error_responses_as_all_others(
    make_world: Callable[..., World],
) -> None:
    world = make_world(body_bytes_max=SMALL, bulk_body_bytes_max=SMALL)
    ada = world.person("ada")
    device = ada.device(ada.group())
    right: dict[str, Any] = {"/group": {"name": "new"}}
    for kind in KINDS:
        right[f"/device/{kind}"] = record_of(device, kind)
        right[f"/device/{kind}/batch"] = {"items": [record_of(device, kind)]}

    def alike(case: str, send: Callable[[str], httpx.Response]) -> None:
        ordinary = send("/group")
        assert ordinary.status_code in {400, 401, 404, 405, 413, 415}, case
        for path in right:
            assert seen(send(path)) == seen(ordinary), f"{case} to {path}"

    json_type = {"Content-Type": "application/json"}
    with nothing_happens(world):
        for case, content in BAD_BODIES.items():
            alike(
                case,
                lambda path, content=content: ada.request(
                    "POST",
                    path,
                    content=content() if callable(content) else content,
                    headers=json_type,
                ),
            )
        for case, headers in BAD_HEADERS.items():
            alike(
                case,
                lambda path, headers=headers: ada.request(
                    "POST", path, content=json.dumps(right[path]), headers={**json_type, **headers}
                ),
            )
        alike(
            "a token twice",
            lambda path: world.http.post(
                path, json=right[path], headers=[("Authorization", str(ada.token))] * 2
            ),
        )
        for method in BAD_METHODS:
            alike(
                method,
                lambda path, method=method: ada.request(method, path, json=right[path]),
            )
        for pattern in BAD_PATHS:
            alike(
                pattern,
                # Absolute, because a client would take the first part of `//a/b` for a host.
                lambda path, pattern=pattern: ada.post(
                    world.url + pattern.format(path), right[path]
                ),
            )
    # Were the right ones refused too, all of the above would say nothing.
    for path, body in right.items():
        ok(ada.post(path, body))
        without_type = ada.request("POST", path, content=json.dumps(body))
        assert "content-type" not in without_type.request.headers
        ok(without_type)


def test_the_error_response_to_a_record_carries_the_request_id(world: World) -> None:
    ada = world.person("ada")
    headers = {"X-Request-Id": "mine/7"}
    for kind in KINDS:
        for body in ({}, record_of("dev_none", kind)):
            answer = ada.request("POST", f"/device/{kind}", json=body, headers=headers)
            assert answer.json()["requestId"] == answer.headers["x-request-id"] == "mine/7"


def test_an_error_names_the_payload_as_requests_do(world: World) -> None:
    ada = world.person()
    record = record_of(ada.device(ada.group()))
    del record["__raw"]
    refused(ada.post("/device/data", record), 400, "__raw")
    refused(ada.post("/device/data/batch", {"items": [record]}), 400, "items[0].__raw")
