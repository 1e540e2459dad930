"""Device types from the files of their makers: ChirpStack's profiles, The Things Network's."""

import itertools
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from longwire.fleet import codec_guard, decoder_previews, type_imports
from tests.world import Person, World, nothing_happens, ok, refused

SONAR = """
var units = ["dm", "cm"];
function decodeUplink(input) {
  if (input.fPort !== 1) return {errors: ["unknown port"]};
  var warnings = input.bytes.length > 1 ? ["more than one byte"] : [];
  return {data: {depth: input.bytes[0] / 10, unit: units[0], on: "on"}, warnings: warnings};
}
function encodeDownlink(input) { return {bytes: [input.data.pings], fPort: 3}; }
function decodeDownlink(input) { return {data: {pings: input.bytes[0]}}; }
"""
DEVICE = """
[device]
name = "Sonar"
description = "How deep it is"
[[device.firmware]]
version = "1.0"
codec = "old.js"
[[device.firmware]]
version = "2.0"
profiles = ["EU868.toml", "US915.toml"]
codec = "sonar.js"
"""
# As some of them are: with comments, and numbers of JavaScript.
EXAMPLES = """[
  {"name": "1.7 m", "input": {"fPort": 0x01, "bytes": [0x11]}, // seventeen
   "expected": {"data": {"depth": 1.7, "unit": "dm", "on": "on"}}},
  {"name": "two", "input": {"fPort": 1, "bytes": [10, 2]},
   "expected": {"data": {"depth": 1.0, "unit": "dm", "on": "on"},
                "warnings": ["more than one byte"]}},
  {"name": "port", "input": {"fPort": 2, "bytes": [1]}, "expected": {"errors": ["unknown port"]}},
]"""
ENCODED = (
    '[{"name": "ping", "input": {"data": {"pings": 7}}, "expected": {"bytes": [7], "fPort": 3}}]'
)
CHIRPSTACK = {
    "vendors/acme/vendor.toml": '[vendor]\nname = "Acme"\n',
    "vendors/acme/devices/sonar.toml": DEVICE,
    "vendors/acme/profiles/EU868.toml": '[profile]\nregion = "EU868"\n',
    "vendors/acme/codecs/sonar.js": SONAR,
    "vendors/acme/codecs/test_decode_sonar.json": EXAMPLES,
    "vendors/acme/codecs/test_encode_sonar.json": ENCODED,
}
THINGS = {
    "acme/probe.yaml": """
name: Probe
description: How deep it is
firmwareVersions:
  - version: '1.0'
    profiles:
      EU863-870: {id: probe-eu868, codec: probe-codec}
      US902-928: {id: probe-us915, codec: probe-codec}
battery: {type: 2 C alkaline}
sensors: [level]
""",
    "acme/probe-codec.yaml": """
uplinkDecoder:
  fileName: probe.js
  examples:
    - description: On
      input: {fPort: 1, bytes: [0x11], recvTime: 2024-01-01T00:00:00Z}
      output:
        data: {depth: 1.7, unit: dm, on: on}
      normalizedOutput:
        data:
          - level: 1.7
downlinkEncoder:
  fileName: probe-down.js
  examples:
    - input: {data: {pings: 7}}
      output: {bytes: [7], fPort: 3}
downlinkDecoder:
  fileName: probe-down.js
  examples:
    - input: {fPort: 3, bytes: [7]}
      output: {data: {pings: 7}}
""",
    "acme/probe.js": SONAR.partition("function encode")[0]
    + "function normalizeUplink(input) { return {data: {level: input.data.depth}}; }",
    "acme/probe-down.js": SONAR,
}


def write_files(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def try_files(person: Person, group: str, files: dict[str, str], **more: Any) -> dict[str, Any]:
    body = {"files": files, "groupId": group, "dryRun": True, **more}
    return dict(ok(person.post("/device/type/import", body)))


@pytest.mark.engine_free
def test_a_device_of_chirpstack_becomes_a_type_if_its_examples_pass(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    body = {"files": CHIRPSTACK, "groupId": group}
    with nothing_happens(world):
        tried = try_files(ada, group, CHIRPSTACK)
        refused(bob.post("/device/type/import", body), 404, "groupId")
        refused(ada.post("/device/type/import", {"files": CHIRPSTACK}), 403)
    assert (tried["format"], tried["name"], tried["displayName"], tried["firmwareVersion"]) == (
        *("chirpstack", "acme-sonar", "Acme Sonar", "2.0"),
    )
    assert (tried["passed"], tried["failed"]) == (4, 0)
    assert [each["function"] for each in tried["examples"]] == [
        *("decodeUplink", "decodeUplink", "decodeUplink", "encodeDownlink"),
    ]
    ignored = "; ".join(tried["ignored"])
    assert "EU868.toml" in ignored
    assert "firmware 1.0" in ignored
    assert "description" in ignored
    wrong = {
        **CHIRPSTACK,
        "vendors/acme/codecs/test_decode_sonar.json": EXAMPLES.replace("1.7, ", "1.8, "),
    }
    with nothing_happens(world):
        (failed,) = [
            each for each in try_files(ada, group, wrong)["examples"] if not each["isPassed"]
        ]
        assert failed["name"] == "1.7 m"
        assert failed["expected"]["data"]["depth"] == 1.8
        assert failed["actual"]["data"]["depth"] == 1.7
        answer = refused(
            ada.post("/device/type/import", {**body, "files": wrong}), 400, "examples[0]"
        )
        assert "'depth': 1.8" in answer["detail"]
        assert "'depth': 1.7" in answer["detail"]
    forced = {**body, "files": wrong, "acceptFailing": True, "name": "forced"}
    assert ok(ada.post("/device/type/import", forced))["failed"] == 1
    created = ok(ada.post("/device/type/import", body))
    assert created["message"] == "acme-sonar was created. 4 of 4 examples passed."
    definition = ok(ada.get("/device/type/definition", type="acme-sonar"))
    assert (definition["decoderSource"], definition["groupId"]) == (SONAR, group)
    refused(ada.post("/device/type/import", body), 409, "name")
    refused(ada.post("/device/type/import", {**body, "dryRun": True}), 409, "name")
    older = {**CHIRPSTACK, "vendors/acme/codecs/old.js": SONAR}
    assert try_files(ada, group, older, firmwareVersion="1.0", name="old")["examples"] == []


def test_files_over_a_type_change_it_if_the_examples_pass_and_nothing_otherwise(
    world: World,
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group, other = ada.group(), ada.group("other")
    body: dict[str, Any] = {"files": CHIRPSTACK, "groupId": group}
    ok(ada.post("/device/type/import", {**body, "displayName": "Our sonar"}))
    measurements = [{"name": "depth", "path": "/data/depth", "class": "gauge", "unit": "m"}]
    own = {"defaultConfiguration": '{"pings": 3}', "decodedLocation": "lat,lng"}
    change = {"type": "acme-sonar", "measurements": measurements, "battery": "2 x AA", **own}
    before = ok(ada.put("/device/type/definition", change))

    newer = {
        path: text.replace("/ 10", "/ 100").replace('"2.0"', '"3.0"').replace("1.7,", "0.17,")
        for path, text in CHIRPSTACK.items()
    }
    wrong = {**body, "files": newer, "replace": True, "name": "acme-sonar"}
    right_examples = newer["vendors/acme/codecs/test_decode_sonar.json"].replace("1.0,", "0.1,")
    right = {
        **wrong,
        "files": {**newer, "vendors/acme/codecs/test_decode_sonar.json": right_examples},
        "ifUpdatedAt": before["updatedAt"],
    }
    elsewhere = {**right, "groupId": other}
    with nothing_happens(world):
        refused(ada.post("/device/type/import", wrong), 400, "examples[1]")
        tried = ok(ada.post("/device/type/import", {**right, "dryRun": True}))
        assert tried["message"] == "acme-sonar would be updated. 4 of 4 examples passed."
        assert (tried["displayName"], tried["firmwareVersion"]) == ("Our sonar", "3.0")
        refused(bob.post("/device/type/import", right), 404, "name")
        refused(ada.post("/device/type/import", {**right, "name": "sonar"}), 404, "name")
        refused(ada.post("/device/type/import", {**wrong, "name": None}), 400, "name")
        refused(ada.post("/device/type/import", {**right, "name": "meter", "groupId": None}), 403)
        refused(ada.post("/device/type/import", elsewhere), 400, "groupId")
        refused(ada.post("/device/type/import", {**right, "replace": False}), 400, "ifUpdatedAt")
        stale = {**right, "ifUpdatedAt": "2020-01-01"}
        for asked in (stale, {**stale, "dryRun": True}):
            refused(ada.post("/device/type/import", asked), 409, "ifUpdatedAt")
    assert ok(ada.get("/device/type/definition", type="acme-sonar")) == before

    done = ok(ada.post("/device/type/import", right))
    assert done["message"] == "acme-sonar was updated. 4 of 4 examples passed."
    after = ok(ada.get("/device/type/definition", type="acme-sonar"))
    codec = newer["vendors/acme/codecs/sonar.js"]
    changed = {"decoderSource": codec, "firmwareVersion": "3.0", "updatedAt": after["updatedAt"]}
    assert after == {**before, **changed}, "what the files do not say stays"
    refused(ada.post("/device/type/import", right), 409, "ifUpdatedAt")
    logged = [each["action"] for each in ok(ada.get("/group/audit", groupId=group))["items"]]
    assert logged.count("deviceType.update") == 2
    # Without groupId it is the group of the type; examples may fail here as well.
    forced = {**wrong, "groupId": None, "acceptFailing": True, "displayName": "Sonar 3"}
    assert ok(ada.post("/device/type/import", forced))["groupId"] == group
    shown = ok(ada.get("/device/type/definition", type="acme-sonar"))
    assert shown["displayName"] == "Sonar 3"


@pytest.mark.engine_free
def test_a_device_of_the_things_network_has_a_codec_for_each_direction(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    created = ok(ada.post("/device/type/import", {"files": THINGS, "groupId": group}))
    assert (created["format"], created["name"]) == ("theThingsNetwork", "acme-probe")
    assert (created["passed"], created["battery"]) == (3, "2 C alkaline")
    assert "sensors" in "; ".join(created["ignored"])
    definition = ok(ada.get("/device/type/definition", type="acme-probe"))
    assert definition["encoderSource"] == SONAR
    shifted = THINGS["acme/probe-codec.yaml"].replace("- level: 1.7", "- level: 17")
    tried = try_files(ada, group, {**THINGS, "acme/probe-codec.yaml": shifted}, name="shifted")
    (failed,) = [each for each in tried["examples"] if not each["isPassed"]]
    assert (failed["expected"]["normalized"], failed["actual"]["normalized"]) == (
        *([{"level": 17}], {"level": 1.7}),
    )


@pytest.mark.engine_free
def test_files_that_are_no_device_are_refused_with_the_reason(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    codec = "vendors/acme/codecs/sonar.js"
    for changes, field, words in (
        ({"vendors/acme/devices/two.toml": DEVICE}, "device", "sonar, two"),
        ({"vendors/acme/devices/sonar.toml": "[device"}, "files", "sonar.toml cannot be read"),
        ({codec: None}, "files", "names sonar.js, which is not among"),
        ({codec: "function decodeUplink("}, "decoder", "line"),
        ({"vendors/acme/codecs/test_decode_sonar.json": "[{"}, "files", "no list of examples"),
        ({"x.yaml": "a: &a [1]\nb: *a"}, "files", "aliases"),
        ({"x.yaml": "[" * 100 + "]" * 100}, "files", "too deep"),
        ({"x.yaml": "[" * 50_000}, "files", "cannot be read"),
        ({"x.yaml": "a: !!int ''"}, "files", "tags"),
        ({"x.yaml": "a: !!timestamp soon"}, "files", "tags"),
        ({"x.yaml": "[a, b]: 1"}, "files", "cannot be read"),
        ({"x.toml": f"a = 1{'0' * 5_000}"}, "files", "x.toml cannot be read"),
        ({"x.toml": f"{'a.' * 3_000}a = 1"}, "files", "dots in a line"),
        (
            {"vendors/acme/codecs/test_decode_sonar.json": f"[{'[' * 500}{']' * 500}]"},
            "files",
            "levels",
        ),
        (
            {"vendors/acme/codecs/test_decode_sonar.json": f'[{{"input": {{"x": 1{"0" * 30}}}}}]'},
            "files",
            "integer",
        ),
    ):
        files = {**CHIRPSTACK, **changes}
        body = {
            "groupId": group,
            "files": {path: text for path, text in files.items() if text is not None},
        }
        with nothing_happens(world):
            answer = refused(ada.post("/device/type/import", body), 400, field)
            assert words in answer["detail"], answer["detail"]
    only_codec = {"sonar.js": SONAR, "test_encode_sonar.json": ENCODED}
    assert try_files(ada, group, only_codec)["passed"] == 1
    refused(ada.post("/device/type/import", {"files": {}, "groupId": group}), 400, "files")
    refused(
        ada.post("/device/type/import", {"files": {"x.md": ""}, "groupId": group}), 400, "files"
    )
    body = {"files": CHIRPSTACK, "groupId": group, "device": "radar"}
    refused(ada.post("/device/type/import", body), 400, "device")
    body = {"files": CHIRPSTACK, "groupId": group, "firmwareVersion": "3"}
    refused(ada.post("/device/type/import", body), 400, "firmwareVersion")
    endless = {**CHIRPSTACK, codec: "while (true) {}\nfunction decodeUplink() {}"}
    refused(ada.post("/device/type/import", {"files": endless, "groupId": group}), 400, "decoder")


@pytest.mark.engine_free
def test_values_that_others_cannot_read_become_texts_or_fail(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    odd = {
        **THINGS,
        "acme/probe.yaml": THINGS["acme/probe.yaml"]
        .replace("name: Probe", 'name: "Pro\\0be"')
        .replace("2 C alkaline", f"0x{'f' * 5_000}"),
        "acme/probe-codec.yaml": THINGS["acme/probe-codec.yaml"].replace(
            "  examples:\n    - description: On",
            "  examples:\n    - {description: odd, input: {bytes: 1000000000000000, ~: 1}}"
            "\n    - description: On",
            1,
        ),
    }
    tried = try_files(ada, group, odd)
    assert (tried["displayName"], len(tried["battery"])) == ("Probe", 256)
    (failed,) = [each for each in tried["examples"] if not each["isPassed"]]
    assert failed["input"] == {"bytes": 10**15, "~": 1}
    assert failed["actual"]["errors"] == ["the input of the example cannot be read"]


@pytest.mark.engine_free
def test_time_that_passes_on_a_busy_machine_is_not_charged(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    group = ada.group()
    world.app.computing.drafts.set_budget(ms_per_s=0.001, burst_ms=2_500)
    seconds = itertools.count()
    slow = SimpleNamespace(monotonic=lambda: float(next(seconds)), thread_time=time.thread_time)
    for module in (codec_guard, decoder_previews, type_imports):
        monkeypatch.setattr(module, "time", slow)
    tried = try_files(ada, group, CHIRPSTACK)
    assert len(tried["examples"]) > 2
    assert all(each["isPassed"] for each in tried["examples"])


@pytest.mark.engine_free
def test_a_group_pays_for_reading_files(world: World) -> None:
    """Codecs are not all that takes time: examples in JavaScript do as well, and YAML."""
    ada = world.person("ada")
    group, other = ada.group(), ada.group()

    def build_body(number: int) -> dict[str, Any]:
        # Each is another one, because a sandbox keeps what it has loaded.
        busy = f"(function () {{ for (var i = {number}; i < 1e6; i++) {{}} return []; }})()"
        files = {**CHIRPSTACK, "vendors/acme/codecs/test_decode_sonar.json": busy}
        return {"files": files, "groupId": group, "dryRun": True}

    try_files(ada, other, CHIRPSTACK)
    world.app.computing.drafts.set_budget(ms_per_s=0.001, burst_ms=150)
    bodies = map(build_body, range(60))
    statuses = (ada.post("/device/type/import", body).status_code for body in bodies)
    assert any(status == 429 for status in statuses)
    # Not by a request: on a busy machine one takes all that there is.
    assert not world.app.computing.drafts.is_budget_used_up(other)
