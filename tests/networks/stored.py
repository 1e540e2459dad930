"""What a reading becomes when it is stored, as far as a record's own rules are concerned."""

from typing import Any

import msgspec

from longwire.api.records import KINDS, RecordInput
from longwire.dates import format_date
from longwire.networks.base import ParsedUplink, Reading
from longwire.web.type_info import wire_names

INPUTS = {kind.name: kind.input for kind in KINDS}
OF_THE_DEVICE = {"deviceId": "dev_1", "deviceType": "sensor", "configuration": "{}"}


def as_record(reading: Reading) -> RecordInput:
    """The record; raises if the reading does not fit it."""
    struct = INPUTS[reading.kind]
    names = wire_names(struct)
    fields: dict[str, Any] = {names[name]: value for name, value in reading.fields.items()}
    if "data" in fields:
        assert isinstance(fields["data"], dict)
        fields["data"] = msgspec.json.encode(fields["data"]).decode()
    sent = {
        **{name: value for name, value in OF_THE_DEVICE.items() if name in names.values()},
        "timestamp": format_date(reading.ts or 0),
        **fields,
    }
    assert "\x00" not in str(sent)
    record = msgspec.convert(sent, struct)
    record.item(0)
    return record


def fits(heard: ParsedUplink) -> None:
    """Every reading can be stored, and nothing in a message is left half said."""
    assert heard.original_id
    for reading in heard.readings:
        as_record(reading)
    of_data = [each.fields["raw"] for each in heard.readings if each.kind == "data"]
    assert of_data[:1] == ([] if heard.payload is None else [heard.payload.hex()])
    assert heard.sequence is None or heard.sequence >= 0
