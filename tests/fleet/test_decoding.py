"""Payloads are decoded by the decoder of the device's type, on their way in and once more later."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from longwire.decoders.base import Decoded
from longwire.decoders.catalogue import Decoders
from longwire.errors import BadInput, NotFound
from longwire.fleet import device_types, redecoding
from longwire.fleet.decoding import Codec, UplinkPayload, decode_payload, merge_decoded
from longwire.inbound import uplinks
from longwire.model import SYSTEM, DeviceType
from longwire.store.database import Tx
from longwire.store.fleet import redecoding as store_redecoding
from longwire.store.records import record_deletion
from longwire.store.statement import Statement
from longwire.web import routing
from tests.decoders.codecs import SOIL_PROBE
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import Person, World, nothing_happens, ok, record_of, refused

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

Json = dict[str, Any]
TIME = 1_653_666_733
EUI = "0102030405060708"


def decode_with(world: World, kind: str | None, source: str = "", name: str = "probe") -> None:
    world.write(lambda tx: device_types.set_decoder(tx, SYSTEM, name, kind, source))


class Field:
    """Somebody with a group and two probes in it, one of the vendor's network and one of LoRaWAN's;
    and the networks."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.write(
            lambda tx: device_types.put_device_type(tx, SYSTEM, DeviceType("probe", "Probe", "{}"))
        )
        self.ada = world.person("ada")
        self.home = self.ada.group("home")
        self.crane = self.ada.device(self.home, type="probe", network="vendor", originalId="1F")
        self.buoy = self.ada.device(self.home, type="probe", network="chirpstack", originalId=EUI)
        self.token = ok(self.ada.get("/group", groupId=self.home))[0]["token"]

    def calls(self, path: str, said: Json, **params: Any) -> None:
        headers = {"Authorization": f"Bearer {self.token}"}
        ok(self.world.http.post(f"/network/{path}", json=said, headers=headers, params=params))

    def crane_says(self, payload: str, number: int, **merge_decoded: Any) -> None:
        said = {"device": "1F", "time": TIME + number, "data": payload, "seqNumber": number}
        self.calls("vendor/data", said | merge_decoded)

    def buoy_says(self, payload: str, number: int, port: int = 2, **merge_decoded: Any) -> None:
        said = {
            **{"deviceInfo": {"devEui": EUI}, "time": f"2026-03-01T12:00:{number:02d}Z"},
            **{"fCnt": number, "fPort": port, "data": payload},
        }
        self.calls("chirpstack", said | merge_decoded, event="up")

    def said(self, device: str) -> list[Json]:
        """What was sent and decoded."""
        return [json.loads(each["data"]) for each in self.ada.records(device)]

    def undecoded(self) -> float:
        lines = self.world.http.get("/metrics").text.splitlines()
        found = [
            each for each in lines if each.startswith("longwire_network_decode_failures_total{")
        ]
        assert all('{type="probe"}' in each for each in found)
        return sum(float(each.split()[-1]) for each in found)


@pytest.mark.engine_free
def test_values_are_decoded_on_their_way_in_and_a_decoder_that_fails_loses_nothing(
    world: World,
) -> None:
    field = Field(world)
    field.crane_says("0102", 1, temp=21)
    assert field.said(field.crane) == [{"temp": 21, "radio": {"seqNumber": 1}}]
    assert "decodedNames" not in field.ada.records(field.crane)[0]

    decode_with(world, "bits", "high::uint:8 seqNumber::uint:8")
    field.crane_says("0102", 2, temp=21)
    field.crane_says("0102", 2, temp=21)  # again
    field.crane_says("", 3)  # nothing to decode
    *_, two, three = field.ada.records(field.crane)
    assert json.loads(two["data"]) == {"high": 1, "seqNumber": 2, "radio": {"seqNumber": 2}}
    assert (two["__raw"], two["decodedNames"]) == ("0102", ["high", "seqNumber"])
    assert json.loads(three["data"]) == {"radio": {"seqNumber": 3}}

    decode_with(world, "cayenneLpp")
    field.crane_says("016700d7", 4)
    field.crane_says("ff", 5, temp=21)
    *_, four, five = field.said(field.crane)
    assert four == {"temperature_1": 21.5, "radio": {"seqNumber": 4}}
    assert five.pop("decodeError").startswith("byte 0: ")
    assert five == {"temp": 21, "radio": {"seqNumber": 5}}, "what the network made of it stays"
    assert field.undecoded() == 1
    field.crane_says("ff", 5, temp=21)  # a repetition, whatever it is decoded to
    decode_with(world, "bits", "byte::uint:8")
    field.crane_says("ff", 5, temp=21)
    assert len(field.ada.records(field.crane)) == 5

    decode_with(world, None)
    field.crane_says("016700d7", 6)
    assert field.said(field.crane)[-1] == {"radio": {"seqNumber": 6}}


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_codec_of_the_customers_own_reads_what_other_networks_bring(world: World) -> None:
    field = Field(world)
    decode_with(world, "javascript", SOIL_PROBE)
    field.buoy_says("C1gIZgEsAfQ=", 1, object={"theirs": True})
    field.buoy_says("AAA=", 2, port=9, object={"theirs": True})
    one, two = field.said(field.buoy)
    assert one == {
        **{"battery": 2.904, "soil_temperature": 21.5, "soil_moisture": 30},
        **{"conductivity": 500, "alarm": False, "received": "2026-03-01T12:00:01.000Z"},
        "radio": {"seqNumber": 1, "port": 2},
    }
    assert two.pop("decodeError") == "the codec says: unknown port 9"
    assert two == {"theirs": True, "radio": {"seqNumber": 2, "port": 9}}
    # One that does not come to an end holds up nobody for long, and loses nothing either.
    decode_with(world, "javascript", "function decodeUplink(input) { while (true) {} }")
    for number in range(3, 8):
        field.buoy_says("AAA=", number)
    assert all("decodeError" in each for each in field.said(field.buoy)[2:])
    assert field.undecoded() == 6


LOCATES = """
function decodeUplink({bytes}) {
  return {data: {fix: [{lat: bytes[0] - 100, lng: bytes[1] / 2}], no: bytes.length}};
}
"""


@pytest.mark.engine_free
def test_decoded_coordinates_become_a_geolocation_if_the_type_says_so(world: World) -> None:
    field = Field(world)
    decode_with(world, "javascript", LOCATES)
    field.crane_says("9605", 1)
    assert field.ada.records(field.crane, "geoloc") == []

    def decode_located(paths: str, source: str = LOCATES) -> None:
        world.write(
            lambda tx: device_types.set_decoder(tx, SYSTEM, "probe", "javascript", source, paths)
        )

    decode_located("fix.0.lat, fix.0.lng")
    field.crane_says("9605", 2)
    field.crane_says("6400", 3)  # zeros: no fix
    field.crane_says("ff05", 4)  # beyond a pole
    decode_located("fix.1.lat,no", LOCATES + "// another one")
    field.crane_says("9605", 2)  # a duplicate, whatever the decoder
    field.crane_says("9605", 5)  # nothing of that name
    (found,) = field.ada.records(field.crane, "geoloc")
    assert (found["lat"], found["lng"]) == (50, 2.5)
    assert found["timestamp"] == field.ada.records(field.crane)[1]["timestamp"]
    with pytest.raises(BadInput, match="like gps"):
        decode_located("lat")


LOOPS_ON_ONE = "function decodeUplink({bytes}) { while (bytes[0] === 1); return {data: {ok: 1}} }"


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_payload_that_loops_costs_its_device_its_values_and_nobody_else(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.app.computing.codecs, "_now_s", lambda: 0.0)  # no suspension ends
    field = Field(world)
    decode_with(world, "javascript", LOOPS_ON_ONE)
    mallory = Neighbour(world, "mallory", 4)
    # One device that loops is suspended alone.
    mallory.says(0, "01")
    mallory.says(0, "02")
    mallory.says(1, "02")
    assert "suspended" in mallory.said(0)[1]["decodeError"]
    assert mallory.said(1) == [{"ok": 1, "radio": {"seqNumber": 1}}]
    # Several devices: those of their group are, whichever they are.
    mallory.says(1, "01")
    mallory.says(2, "01")
    mallory.says(3, "02")
    assert "several devices of the group" in mallory.said(3)[0]["decodeError"]
    for number in range(1, 6):
        field.crane_says("02", number)
        mallory.says(number % 4, "01")
    assert [each.get("ok") for each in field.said(field.crane)] == [1] * 5


@pytest.mark.slow
@pytest.mark.engine_free
def test_codec_time_of_a_group_is_limited_and_that_of_others_is_theirs(
    make_world: Callable[..., World],
) -> None:
    world = make_world(codec_ms_per_group_per_s=1, codec_burst_s=20)
    field = Field(world)
    costly = "let n = 0; while (bytes[0] === 1 && n < 1e5) n++; return {data: {ok: 1}}"
    decode_with(world, "javascript", f"function decodeUplink({{bytes}}) {{ {costly} }}")
    mallory = Neighbour(world, "mallory", 2)
    while not any("decodeError" in each for each in mallory.said(0)):
        mallory.says(0, "01")
    assert "used up its CPU time for codecs" in mallory.said(0)[-1]["decodeError"]

    def is_limited() -> bool:
        """Not if a second has passed, in which there was a little more to use."""
        mallory.says(0, "01")
        mallory.says(1, "02")
        return "decodeError" in mallory.said(1)[-1]

    def is_refused() -> bool:
        mallory.says(0, "01")
        response = mallory.person.post("/device/redecode", {"deviceId": mallory.devices[0]})
        return response.status_code == 429 and "CPU time" in refused(response, 429)["detail"]

    eventually(is_limited)
    eventually(is_refused)
    field.crane_says("02", 1)
    assert field.said(field.crane) == [{"ok": 1, "radio": {"seqNumber": 1}}]


class Neighbour:
    """Somebody else with devices of the same type in a group of their own."""

    def __init__(self, world: World, name: str, devices: int) -> None:
        self.world = world
        self.person = world.person(name)
        group = self.person.group(name)
        self.token = ok(self.person.get("/group", groupId=group))[0]["token"]
        self.devices = [
            self.person.device(group, type="probe", network="vendor", originalId=f"A{number}")
            for number in range(devices)
        ]
        self._counts = [0] * devices

    def says(self, device: int, payload: str) -> None:
        self._counts[device] += 1
        number = self._counts[device]
        said = {"device": f"A{device}", "time": TIME + number, "data": payload}
        headers = {"Authorization": f"Bearer {self.token}"}
        body = {**said, "seqNumber": number}
        ok(self.world.http.post("/network/vendor/data", json=body, headers=headers))

    def said(self, device: int) -> list[Json]:
        return [json.loads(each["data"]) for each in self.person.records(self.devices[device])]


@pytest.mark.engine_free
def test_what_is_changed_about_a_device_counts_for_its_next_message(world: World) -> None:
    field = Field(world)
    ada, crane = field.ada, field.crane
    decode_with(world, "bits", "byte::uint:8")
    field.crane_says("01", 1)
    ok(ada.put("/device", {"deviceId": crane, "groupId": field.home, "configuration": "new"}))
    field.crane_says("02", 2)
    ok(ada.put("/device/type", {"deviceId": crane, "groupId": field.home, "type": "generic"}))
    field.crane_says("03", 3)
    records = ada.records(crane)
    assert [each["configuration"] for each in records] == ["{}", "new", "{}"]
    assert [each["deviceType"] for each in records] == ["probe", "probe", "generic"]
    assert [json.loads(each["data"]).get("byte") for each in records] == [1, 2, None]
    # Another device by the same id, while the first is still remembered.
    ok(ada.delete("/device", deviceId=crane, groupId=field.home))
    again = ada.device(field.home, type="probe", network="vendor", originalId="1f")
    field.crane_says("04", 4)
    assert field.said(again) == [{"byte": 4, "radio": {"seqNumber": 4}}]


@pytest.mark.slow
@on_sqlite
def test_known_devices_are_not_looked_up_again(world: World) -> None:
    field = Field(world)
    decode_with(world, "bits", "byte::uint:8")
    read, readers = world.database.read, list[str]()

    def watched(work: Callable[[Tx], Any]) -> Any:
        readers.append(getattr(work, "__module__", ""))
        return read(work)

    world.database.read = watched  # type: ignore[method-assign]
    field.crane_says("01", 1)
    assert uplinks.__name__ in readers
    readers.clear()
    for number in range(2, 12):
        field.crane_says("02", number)
    # Not three for each message. What was changed before may be noticed meanwhile, once.
    assert readers.count(uplinks.__name__) < 10
    world.database.read = read  # type: ignore[method-assign]
    assert len(field.ada.records(field.crane)) == 11


@pytest.mark.engine_free
def test_decoders_that_cannot_be_used_are_refused_and_change_nothing(world: World) -> None:
    Field(world)
    decode_with(world, "bits", "byte::uint:8")
    with nothing_happens(world):
        for kind, source, reason in (
            ("bits", "a::uint:8\nb::uint:99", "line 2, column 1: the number of bits"),
            ("bits", "", "line 1, column 1: the format has no fields"),
            ("cayenneLpp", "x", "line 1, column 1: Cayenne LPP takes no source"),
            ("javascript", "let a;\nlet b = ;", "line 2, column "),
            ("javascript", "let a;", "line 1, column 1: the codec defines no function"),
            ("perl", "x", "line 1, column 1: there is no kind 'perl'"),
        ):
            with pytest.raises(BadInput, match=reason):
                decode_with(world, kind, source)
            with pytest.raises(BadInput, match=reason):
                described = DeviceType("probe", "P", "{}", decoder=kind, decoder_source=source)
                world.write(
                    lambda tx, each=described: device_types.put_device_type(tx, SYSTEM, each)
                )  # type: ignore[misc]
        with pytest.raises(NotFound):
            decode_with(world, "bits", "a::uint:8", name="sonar")


@pytest.mark.parametrize(
    "said, decoded, data, names",
    [
        ({"port": 1}, {"a": 1}, {"port": 1, "a": 1}, ["a"]),
        ({"port": 1}, {"port": 2}, {"port": 1, "port_": 2}, ["port_"]),
        ({"port": 1}, {"port": 2, "port_": 3}, {"port": 1, "port__": 2, "port_": 3}, None),
        ({"port": 1, "port_": 0}, {"port": 2}, {"port": 1, "port_": 0, "port__": 2}, ["port__"]),
        ({}, {"decoded": 1}, {"decoded_": 1}, ["decoded_"]),
        ({}, {"decodeError": 1}, {"decodeError_": 1}, ["decodeError_"]),
        ({"a": 1}, {}, {"a": 1}, []),
        # What the network has decoded is replaced, and the facts of the transmission are not.
        ({"a": 1, "b": 2, "radio": {}}, {"a": 3}, {"a": 3, "b": 2, "radio": {}}, ["a"]),
        ({"radio": {"port": 1}}, {"port": 2}, {"port": 2, "radio": {"port": 1}}, ["port"]),
        ({"radio": {"port": 1}}, {"radio": 2}, {"radio_": 2, "radio": {"port": 1}}, ["radio_"]),
        ({"radio": "on"}, {"radio": 2}, {"radio_": 2, "radio": "on"}, ["radio_"]),
    ],
)
def test_what_was_sent_is_never_replaced(
    said: Json, decoded: Json, data: Json, names: list[str] | None
) -> None:
    understood = merge_decoded(said, Decoded(decoded))
    assert understood.data == data
    assert set(understood.names) == (data.keys() - said.keys() if names is None else set(names))


@pytest.mark.parametrize(
    "sent, data",
    [
        ({"a": 9, "b": 9, "radio": {"port": 2}}, {"a": 7, "radio": {"port": 2}}),
        # As a message was parsed that was kept, before there was its device, by an older release.
        ({"port": 2, "decoded": {"a": 9}}, {"port": 2, "a": 7}),
    ],
)
def test_a_decoder_takes_the_place_of_that_of_the_network(sent: Json, data: Json) -> None:
    payload = UplinkPayload(sent, b"\x07", 2, 0)
    assert decode_payload(Codec("bits", "a::uint:8"), payload, Decoders()).data == data


def test_remarks_of_a_decoder_are_kept_and_data_stays_within_its_bounds() -> None:
    understood = merge_decoded({"seqNumber": 1}, Decoded({"a": 1}, ("low",)))
    assert understood.data == {"seqNumber": 1, "a": 1, "decodeWarnings": ["low"]}
    assert understood.names == ["a", "decodeWarnings"]
    huge = merge_decoded({"seqNumber": 1}, Decoded({"a": 1, "long": "x" * 300_000}))
    assert huge.data == {"seqNumber": 1, "a": 1, "leftOut": 1}
    assert huge.names == ["a"]


# --- once more ---


def redecode(person: Person, **body: Any) -> Json:
    return dict(ok(person.post("/device/redecode", body)))


@pytest.mark.slow
@pytest.mark.engine_free
def test_stored_payloads_are_decoded_again_and_stay_the_records_they_are(
    world: World,
) -> None:
    field = Field(world)
    ada, crane = field.ada, field.crane
    refused(ada.post("/device/redecode", {"deviceId": crane}), 409)
    decode_with(world, "bits", "old::uint:8")
    eve, other_group = world.person("eve"), ada.group("elsewhere")
    with nothing_happens(world):
        for other in (eve, world.nobody):
            status = 401 if other is world.nobody else 404
            refused(other.post("/device/redecode", {"deviceId": crane}), status)
        refused(ada.post("/device/redecode", {}), 400, "deviceId", "groupId")
        elsewhere = {"deviceId": crane, "groupId": other_group}
        refused(ada.post("/device/redecode", elsewhere), 404, "deviceId")
        unknown = {"groupId": field.home, "deviceType": "sonar"}
        refused(ada.post("/device/redecode", unknown), 400, "deviceType")
        without = {"groupId": field.home, "deviceType": "generic"}
        refused(ada.post("/device/redecode", without), 409)
        dated = {"deviceId": crane, "beginDate": "2022-01-03", "endDate": "2022-01-01"}
        refused(ada.post("/device/redecode", dated), 400, "beginDate")

    with Receiver() as receiver:
        ada.connector(field.home, receiver.url)
        for number in range(1, 8):
            field.crane_says(f"{number:02x}ff", number, temp=number)
        field.crane_says("", 8)
        own = {"data": '{"said":1,"decoded":{"by":"me"}}', "__raw": "0910"}
        ada.reports(crane, timestamp=TIME + 9, **own)
        ada.reports(crane, timestamp=TIME + 10, data='"any text"', **{"__raw": "0910"})
        receiver.wait_for(10)
        _decodes_again(field, receiver)


def _decodes_again(field: Field, receiver: Receiver) -> None:
    world, ada, crane = field.world, field.ada, field.crane
    before = ada.records(crane)
    assert json.loads(before[0]["data"]) == {"old": 1, "radio": {"seqNumber": 1}}

    decode_with(world, "bits", "new::uint:8 seqNumber::uint:8")
    span = {"beginDate": TIME + 2, "endDate": TIME + 4}
    assert redecode(ada, deviceId=crane, **span) == {
        "message": "2 of 2 records changed.",
        **{"lookedAt": 2, "changed": 2, "skipped": 0, "failed": 0},
    }
    first = redecode(ada, deviceId=crane, limit=5)
    assert (first["lookedAt"], first["changed"]) == (5, 3)
    token = first["nextToken"]
    refused(ada.post("/device/redecode", {**span, "deviceId": crane, "nextToken": token}), 400)
    rest = redecode(ada, deviceId=crane, limit=1_000, nextToken=token)
    assert (rest["lookedAt"], rest["changed"], rest["skipped"]) == (5, 3, 2)
    assert "nextToken" not in rest
    assert redecode(ada, deviceId=crane, groupId=field.home)["changed"] == 0
    assert redecode(ada, deviceId=crane, deviceType="generic")["lookedAt"] == 0
    again = redecode(ada, groupId=field.home, deviceType="probe")
    assert (again["lookedAt"], again["changed"]) == (10, 0)

    after = ada.records(crane)
    for old, new in zip(before, after, strict=True):
        for name in ("data", "decodedNames"):
            old.pop(name, None), new.pop(name, None)
        assert old == new, "nothing but what was decoded has changed"
    said = field.said(crane)
    assert said[:7] == [
        {"new": n, "seqNumber": 255, "radio": {"seqNumber": n}} for n in range(1, 8)
    ]
    own_words = {"said": 1, "decoded": {"by": "me"}}
    assert said[7:9] == [{"radio": {"seqNumber": 8}}, {**own_words, "new": 9, "seqNumber": 16}]
    field.crane_says("01ff", 1, temp=1)  # it is still the same record
    assert len(ada.records(crane)) == 10
    assert len(receiver.bodies) == 10, "nobody gets it again"
    trail = [each for each in world.audit() if each[1] == "record.redecode"]
    assert trail == [(ada.id, "record.redecode", crane)] * 3

    decode_with(world, "bits", "far:1:uint:8 farther:8:uint:8")  # both are beyond a single byte
    field.crane_says("01", 11)
    decode_with(world, "cayenneLpp")
    failed = redecode(ada, deviceId=crane, beginDate=TIME + 1, endDate=TIME + 3)
    assert (failed["changed"], failed["failed"]) == (0, 2)
    assert failed["failure"].startswith("2022-05-27T15:52:14.000Z: byte ")
    assert field.said(crane)[0] == said[0], "left alone"


def test_records_in_the_older_spelling_are_decoded_again_as_those_in_the_newer(
    world: World,
) -> None:
    field = Field(world)
    older = {"seqNumber": 1, "port": 2, "deviceInfo": {"devEui": EUI}, "decoded": {"celsius": 3}}
    field.ada.reports(field.buoy, timestamp=TIME, data=json.dumps(older), **{"__raw": "04"})
    field.buoy_says("BA==", 2, object={"celsius": 3, "theirs": True})
    decode_with(world, "javascript", BY_PORT)
    field.buoy_says("BA==", 3, object={"celsius": 3})
    assert redecode(field.ada, deviceId=field.buoy)["changed"] == 2
    one, two, three = field.said(field.buoy)
    assert one == {**older, "celsius": 4, "port_": 7}
    assert two == {
        **{"celsius": 4, "theirs": True, "port": 7},
        "radio": {"seqNumber": 2, "port": 2},
    }
    assert three == {"celsius": 4, "port": 7, "radio": {"seqNumber": 3, "port": 2}}
    values = ok(field.ada.get("/device/values", deviceId=field.buoy))["items"]
    found = {each["name"]: each["value"] for each in values if "telemetry" not in each["name"]}
    assert found == {"celsius": 4, "port": 7}
    condition = "message.values.port == 7 && message.data.seqNumber > 0"
    arrived = ok(field.ada.get("/group/records", groupId=field.home, filter=condition))
    assert [each["kind"] for each in arrived["items"]] == ["data"] * 3


BY_PORT = "function decodeUplink(i) { return {data: {celsius: i.bytes[0], port: i.fPort + 5}}; }"


@pytest.mark.engine_free
def test_after_a_transfer_each_group_decodes_its_own(world: World) -> None:
    field = Field(world)
    ada, crane = field.ada, field.crane
    field.crane_says("01", 1)
    bob = world.person("bob")
    yard = bob.group("yard")
    bob.invite(ada, yard, "administrator")
    ok(ada.put("/device/transfer", {"deviceId": crane, "groupId": field.home, "toGroupId": yard}))
    ok(ada.post("/device/data", record_of(crane, timestamp=TIME + 2, **{"__raw": "02"})))
    decode_with(world, "bits", "byte::uint:8")
    assert redecode(bob, deviceId=crane)["changed"] == 1
    assert [each.get("byte") for each in field.said(crane)] == [None, 2]
    assert redecode(bob, groupId=yard)["changed"] == 0
    assert redecode(ada, deviceId=crane)["changed"] == 1
    assert [each.get("byte") for each in field.said(crane)] == [1, 2]
    ben = world.person("ben")
    bob.invite(ben, yard, "viewer")
    refused(ben.post("/device/redecode", {"deviceId": crane}), 403)
    refused(ben.post("/device/redecode", {"groupId": yard}), 403)
    refused(ben.post("/device/redecode", {"groupId": field.home}), 404, "groupId")


def test_a_record_that_changed_meanwhile_is_left_alone(world: World) -> None:
    """Two decode at once, and somebody deletes: what each keeps is guarded by what it has read."""
    field = Field(world)
    decode_with(world, "bits", "byte::uint:8")
    decode_with(world, None)
    for number in range(3):
        field.crane_says("07", number)
    decode_with(world, "bits", "byte::uint:8")
    write, changed = world.database.write, []

    def interrupted(work: Callable[[Tx], Any]) -> Any:
        if getattr(work, "func", work).__module__ != routing.__name__:
            return write(work)  # of the service itself
        world.database.write = write  # type: ignore[method-assign]
        return after_others(work)

    async def after_others(work: Callable[[Tx], Any]) -> Any:
        def meanwhile(tx: Tx) -> None:
            number = tx.fetch(Statement("select device_number from record_data limit 1"))[0][0]
            one, two, _ = store_redecoding.list_data(tx, number, 0, 0, None, (), 9, 1_000_000)
            store_redecoding.update_body(tx, number, one, one.body.replace("{", "{ ", 1))
            record_deletion.delete_at(tx, "data", number, [0], two.ts)
            changed.append(number)

        await write(meanwhile)
        return await write(work)

    world.database.write = interrupted  # type: ignore[method-assign]
    answer = redecode(field.ada, deviceId=field.crane)
    assert changed
    assert (answer["lookedAt"], answer["changed"]) == (3, 1)
    assert [each.get("byte") for each in field.said(field.crane)] == [None, 7]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_large_group_is_decoded_in_pieces(world: World) -> None:
    field = Field(world)
    ids = [f"{number:X}" for number in range(0x100, 0x100 + 450)]
    made = {"originalDevicesIds": ids, "groupId": field.home, "type": "probe", "network": "vendor"}
    devices = [each["deviceId"] for each in ok(field.ada.post("/devices", made))["items"]]
    items = [record_of(each, timestamp=TIME, **{"__raw": "2a"}) for each in devices[::50]]
    ok(field.ada.post("/device/data/batch", {"items": items}))
    decode_with(world, "bits", "byte::uint:8")
    looked, changed, asked = [], 0, {"groupId": field.home, "limit": 4}
    while True:
        answer = redecode(field.ada, **asked)
        looked.append(answer["lookedAt"])
        changed += answer["changed"]
        if "nextToken" not in answer:
            break
        asked["nextToken"] = answer["nextToken"]
    assert (sum(looked), changed) == (9, 9)
    assert max(looked) == 4


@pytest.mark.engine_free
def test_large_payloads_are_decoded_in_small_pieces(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    field = Field(world)
    for device in (field.crane, field.buoy):
        items = [record_of(device, timestamp=n, **{"__raw": "2a" * 500}) for n in range(4)]
        ok(field.ada.post("/device/data/batch", {"items": items}))
    decode_with(world, "bits", "byte::uint:8")
    monkeypatch.setattr(redecoding, "CHARACTERS_PER_BATCH_MAX", 3_000)
    looked, asked = [], {"groupId": field.home}
    while not looked or "nextToken" in asked:
        answer = redecode(field.ada, **asked)
        looked.append((answer["lookedAt"], answer["changed"]))
        asked = {"groupId": field.home} | {k: v for k, v in answer.items() if k == "nextToken"}
    assert looked == [(3, 3), (3, 3), (2, 2)]
