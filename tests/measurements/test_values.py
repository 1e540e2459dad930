"""The values of a record, whoever decoded them, and however old the record is."""

from typing import Any

import pytest

from longwire.measurements.values import values_of
from longwire.records import RecordKind

Json = dict[str, Any]


@pytest.mark.parametrize(
    "data, values",
    [
        pytest.param({"celsius": 21.5, "radio": {"port": 2}}, {"celsius": 21.5}, id="decoded"),
        pytest.param({"radio": {"port": 2}}, {}, id="not decoded"),
        pytest.param(
            {"port": 7, "seqNumber": 3, "decoded": {"a": 1}, "radio": {"port": 2}},
            {"port": 7, "seqNumber": 3, "decoded": {"a": 1}},
            id="named like facts, and like the older spelling",
        ),
        pytest.param(
            {"a": 1, "decodeError": "no", "decodeWarnings": ["low"], "leftOut": 2, "radio": {}},
            {"a": 1},
            id="what became of decoding is no value",
        ),
        pytest.param({"celsius": 21.5, "port": 3}, {"celsius": 21.5, "port": 3}, id="posted"),
        pytest.param({"radio": "on", "rssi": -80}, {"radio": "on", "rssi": -80}, id="a radio"),
        pytest.param("no object", {}, id="text"),
        pytest.param([1], {}, id="list"),
        pytest.param(None, {}, id="nothing"),
    ],
)
def test_values_stand_at_the_top_of_the_data(data: Any, values: Json) -> None:
    assert values_of(RecordKind.DATA, data) == values


CHIRPSTACK = {"seqNumber": 16, "port": 2, "adr": True, "dr": 5, "deviceInfo": {"devEui": "01"}}


@pytest.mark.parametrize(
    "data, names, values",
    [
        (CHIRPSTACK, None, {}),
        (CHIRPSTACK | {"decoded": {"celsius": 21.5}}, None, {"celsius": 21.5}),
        (CHIRPSTACK | {"celsius": 21.5}, ["celsius"], {"celsius": 21.5}),
        (CHIRPSTACK | {"decoded": {"a": 1, "b": 1}, "b": 2}, ["b"], {"a": 1, "b": 2}),
        (CHIRPSTACK | {"decoded": {"port": 7}}, None, {"port": 7}),
        (CHIRPSTACK | {"port_": 7}, ["port_"], {"port": 7}),
        (CHIRPSTACK | {"port__": 7, "port_": 8}, ["port__", "port_"], {"port": 7, "port_": 8}),
        (CHIRPSTACK | {"decoded": {"a": 1}, "decodeError": "no"}, ["decodeError"], {"a": 1}),
        ({"ack": False, "rssi": -120, "decoded": {"temperature": 4}}, None, {"temperature": 4}),
        ({"said": 1, "new": 2}, ["new"], {"said": 1, "new": 2}),
        ({"said": 1, "said_": 2}, ["said_"], {"said": 1, "said_": 2}),
        ({"seqNumber": 1, "ok": 1}, ["ok"], {"ok": 1}),
        ({"seqNumber": 1, "rssi": -80, "celsius": 4}, None, {"rssi": -80, "celsius": 4}),
        ({"decoded": 3}, None, {"decoded": 3}),
        ({"decoded": {"a": 1}, "own": 2}, None, {"a": 1, "own": 2}),
    ],
)
def test_older_records_give_the_same_values(
    data: Json, names: list[str] | None, values: Json
) -> None:
    assert values_of(RecordKind.DATA, data, names) == values


def test_in_other_kinds_all_members_are_values() -> None:
    data = {"seqNumber": 16, "rssi": -80, "radio": {}}
    for kind in (RecordKind.EVENT, RecordKind.GEOLOC, RecordKind.TELEMETRY):
        assert values_of(kind, data) == data
