"""Readings converted to records, with the validation of the API."""

from typing import Any

import msgspec

from longwire.api.records.record_shapes import RecordInput
from longwire.api.records.records import KINDS, build_item
from longwire.dates import format_date
from longwire.networks.base import ParsedUplink, Reading
from longwire.web.type_info import wire_names

INPUTS = {kind.name: kind.input for kind in KINDS}
DEVICE_FIELDS = {"deviceId": "dev_1", "deviceType": "sensor", "configuration": "{}"}


def as_record(reading: Reading) -> RecordInput:
    """The record; raises if the reading is not a valid one."""
    struct = INPUTS[reading.kind]
    names = wire_names(struct)
    fields: dict[str, Any] = {names[name]: value for name, value in reading.fields.items()}
    if "data" in fields:
        assert isinstance(fields["data"], dict)
        fields["data"] = msgspec.json.encode(fields["data"]).decode()
    sent = {
        **{name: value for name, value in DEVICE_FIELDS.items() if name in names.values()},
        "timestamp": format_date(reading.ts or 0),
        **fields,
    }
    assert "\x00" not in str(sent)
    record = msgspec.convert(sent, struct)
    build_item(record)
    return record


def assert_storable(uplink: ParsedUplink) -> None:
    """Every reading is a valid record, and the parsed message is consistent."""
    assert uplink.original_id
    for reading in uplink.readings:
        as_record(reading)
    payloads = [each.fields["raw"] for each in uplink.readings if each.kind == "data"]
    assert payloads[:1] == ([] if uplink.payload is None else [uplink.payload.hex()])
    assert uplink.sequence is None or uplink.sequence >= 0
