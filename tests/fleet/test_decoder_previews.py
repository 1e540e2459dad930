"""A decoder is tried on stored payloads before anybody depends on it."""

import json

import pytest

from longwire.fleet import decoder_previews
from tests.world import Person, World, nothing_happens, ok, refused

DRAFT = """function decodeUplink(input) {
  if (input.bytes[0] > 100) throw new Error("too hot");
  return {data: {celsius: input.bytes[0]}};
}"""


def preview(person: Person, group: str, **fields: object) -> list[dict[str, object]]:
    body = {"type": "temperature", "groupId": group, **fields}
    return list(ok(person.post("/device/type/preview", body))["items"])


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_draft_is_compared_with_what_is_stored_and_then_becomes_the_decoder(
    world: World,
) -> None:
    ada, operator = world.person("ada"), world.operator
    group = ada.group("Harbour")
    device = ada.device(group, type="temperature", name="Cold room")
    other = ada.device(group, type="meter")
    for each in (device, other):  # their records are old, and nothing is to happen by itself
        configuration = {"groupId": group, "configuration": '{"silentAfterSeconds": 0}'}
        ok(ada.put("/device", {"deviceId": each, **configuration}))
    for raw in ("05", "ff", ""):
        ada.reports(device, __raw=raw, data='{"kept": 1}')
        world.clock.let_pass(seconds=1)
    ada.reports(other, __raw="06")
    with nothing_happens(world):
        hot, cold = preview(ada, group, decoder="javascript", decoderSource=DRAFT)
    assert (hot["payload"], hot["deviceName"], hot["stored"]) == ("ff", "Cold room", {})
    assert "too hot" in str(hot["error"]) and "values" not in hot
    assert (cold["payload"], cold["values"]) == ("05", {"celsius": 5})
    (given,) = preview(
        ada, group, decoder="javascript", decoderSource=DRAFT, payloads=[{"payload": "07"}]
    )
    assert given["values"] == {"celsius": 7} and "deviceId" not in given

    change = {"type": "temperature", "decoder": "javascript", "decoderSource": DRAFT}
    before = ok(ada.get("/device/type/decoder", type="temperature"))
    assert "decoder" not in before
    refused(ada.put("/device/type/decoder", change), 403)
    set_ = ok(operator.put("/device/type/decoder", {**change, "ifUpdatedAt": before["updatedAt"]}))
    assert set_["decoderSource"] == DRAFT
    again = operator.put("/device/type/decoder", {**change, "ifUpdatedAt": before["updatedAt"]})
    assert refused(again, 409)["code"] == "changed_meanwhile"
    # Without a draft, the decoder of the type is tried.
    assert [each.get("values") for each in preview(ada, group)] == [None, {"celsius": 5}]
    ok(operator.put("/device/type/decoder", {"type": "temperature"}))
    refused(ada.post("/device/type/preview", {"type": "temperature", "groupId": group}), 409)


MEASURES = """function decodeUplink(input) {
  return {data: {moisture: input.bytes[0], port: input.fPort, open: input.bytes[0] > 9,
    soil: {celsius: 11.5, note: "dry"}, list: [1]}, warnings: ["low"]};
}"""


@pytest.mark.engine_free
def test_a_preview_says_which_measurements_the_values_give(world: World) -> None:
    ada = world.person("ada")
    home = ada.group("home")
    field = ada.group("field", parent=home)
    device = ada.device(field, type="meter")
    body = {"type": "meter", "groupId": field, "decoder": "javascript", "decoderSource": MEASURES}
    body["payloads"] = [{"payload": "05", "fPort": 2}, {"payload": "c8", "fPort": 2}]

    def measured() -> list[tuple[object, ...]]:
        items = ok(ada.post("/device/type/preview", body))["measurements"]
        names = ("name", "class", "path", "isDeclared", "payloads", "invalid")
        return [tuple(each.get(name) for name in names) for each in items]

    found = [
        ("moisture", "gauge", "/data/moisture", False, 2, None),
        ("port", "gauge", "/data/port", False, 2, None),
        ("soil.celsius", "gauge", "/data/soil/celsius", False, 2, None),
    ]
    with nothing_happens(world):
        assert measured() == found

    declared = [
        {"name": "wet", "path": "/data/moisture", "class": "gauge", "unit": "%", "maximum": 100},
        {"name": "door", "path": "/data/open", "class": "state"},
        {"name": "litres", "path": "/data/litres", "class": "counter"},
        {"name": "rtt", "kind": "telemetry", "path": "/data/rtt", "class": "gauge"},
    ]
    change = {"type": "meter", "groupId": home, "measurements": declared}
    ok(ada.put("/device/type/measurements", change))
    assert measured() == [
        ("wet", "gauge", "/data/moisture", True, 1, 1),
        ("door", "state", "/data/open", True, 2, None),
        ("litres", "counter", "/data/litres", True, 0, None),
        *found[1:],
    ]
    # The same names as in records that are decoded so.
    operator = world.operator
    decoder = {"type": "meter", "decoder": "javascript", "decoderSource": MEASURES}
    ok(operator.put("/device/type/decoder", decoder))
    ada.reports(device, data="{}", __raw="05")
    ok(ada.post("/device/redecode", {"deviceId": device}))
    values = ok(ada.get("/device/values", deviceId=device))["items"]
    assert {each["name"] for each in values} <= {name for name, *_ in measured()}
    # When a type has as many as it may have, others are not found.
    many = {f"n{number}": number for number in range(70)}
    ada.reports(device, data=json.dumps(many))
    body["decoderSource"] = MEASURES.replace("list:", "fresh: 1, n1: 1, list:")
    names = [name for name, *_ in measured()]
    assert names[:3] == ["wet", "door", "litres"]
    assert set(names[3:]) == {"soil.celsius", "n1"}


@pytest.mark.engine_free
def test_a_preview_says_which_payloads_it_had_no_time_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    group = ada.group("Harbour")
    monkeypatch.setattr(decoder_previews, "TOTAL_S_MAX", -1.0)
    payloads = [{"payload": "05"}, {"payload": "06"}]
    items = preview(ada, group, decoder="javascript", decoderSource=DRAFT, payloads=payloads)
    assert [each["error"] for each in items] == [decoder_previews.NOT_TRIED] * 2


def test_what_is_wrong_is_named_and_nobody_else_may_look(world: World) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    group, foreign = ada.group("Harbour"), eve.group("foreign")
    body = {"type": "temperature", "groupId": group, "decoder": "javascript"}
    path = "/device/type/preview"
    broken = refused(ada.post(path, {**body, "decoderSource": "function ("}), 400, "decoderSource")
    assert "line 1" in broken["errors"][0]["message"]
    refused(ada.post(path, {**body, "decoder": "cobol"}), 400, "decoder")
    refused(ada.post(path, {**body, "limit": 101}), 400, "limit")
    odd = [{"payload": "05"}, {"payload": "5"}, {"payload": "zz"}]
    refused(ada.post(path, {**body, "payloads": odd}), 400)
    refused(ada.post(path, {**body, "deviceId": "dev_none"}), 404, "deviceId")
    refused(ada.post(path, {**body, "type": "none"}), 404, "type")
    theirs = eve.device(foreign, type="temperature")
    refused(ada.post(path, {**body, "deviceId": theirs}), 404, "deviceId")
    refused(eve.post(path, {**body, "decoderSource": DRAFT}), 404, "groupId")
    wrong = {"type": "temperature", "decoder": "javascript", "decoderSource": "nothing"}
    refused(world.operator.put("/device/type/decoder", wrong), 400, "decoder")


@pytest.mark.engine_free
def test_a_draft_that_loops_costs_only_its_own_group(world: World) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    group, foreign = ada.group("Harbour"), eve.group("foreign")
    world.app.computing.drafts.set_budget(ms_per_s=0.001, burst_ms=50)
    loop = "function decodeUplink(input) { while (true) {} }"
    payloads = [{"payload": "05"}] * 3
    items = preview(ada, group, decoder="javascript", decoderSource=loop, payloads=payloads)
    assert "ran out of time" in str(items[0]["error"])
    assert str(items[-1]["error"]).startswith("not tried")
    body = {"type": "temperature", "groupId": group, "decoder": "cayenneLpp"}
    refused(ada.post("/device/type/preview", body), 429)
    (fine,) = preview(
        eve, foreign, decoder="javascript", decoderSource=DRAFT, payloads=[{"payload": "05"}]
    )
    assert fine["values"] == {"celsius": 5}
