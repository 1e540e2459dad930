"""Device types: built-in ones, and those that the operator adds."""

import json
from dataclasses import replace

from longwire.clock import Moment
from longwire.decoders.base import InvalidDecoder
from longwire.decoders.catalogue import get_decoder, get_encoder
from longwire.decoders.javascript import JavaScriptDecoder
from longwire.errors import Conflict, invalid_field, not_found
from longwire.identity import access
from longwire.model import Actor, DeviceType, Page, PageRequest
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.fleet import device_reports as store_reports
from longwire.store.fleet import device_types as store
from longwire.store.fleet import devices as store_devices
from longwire.store.fleet import measurements as store_measurements
from longwire.store.identity import audit
from longwire.versions import next_version, require_version

NAME_CHARACTERS_MAX = 128
LOCATION_CHARACTERS_MAX = 256

# Where latitude and longitude are in decoded values: names, and numbers in lists.
LocationPaths = tuple[tuple[str, ...], tuple[str, ...]]


def _configuration(**values: object) -> str:
    return json.dumps(values, separators=(",", ":"))


BUILT_IN = (
    DeviceType("generic", "Generic device", _configuration()),
    DeviceType(
        "tracker",
        "GPS tracker",
        _configuration(reportEverySeconds=600, reportOnMove=True, gpsTimeoutSeconds=90),
        battery="2 x AA",
        firmware_version="1.0",
    ),
    DeviceType(
        "temperature",
        "Temperature and humidity sensor",
        _configuration(reportEverySeconds=900, lowCelsius=2, highCelsius=8),
        battery="1 x CR2477",
        firmware_version="1.0",
    ),
    DeviceType(
        "button",
        "Button",
        _configuration(longPressSeconds=3, heartbeatEverySeconds=86_400),
        battery="1 x CR2032",
        firmware_version="1.0",
    ),
    DeviceType(
        "meter",
        "Pulse meter",
        _configuration(reportEverySeconds=3_600, pulsesPerUnit=100, unit="m3"),
        battery="1 x D",
        firmware_version="1.0",
    ),
)


def add_built_in_types(tx: Tx) -> None:
    """Add missing built-in types; one that the operator has changed is kept."""
    for device_type in BUILT_IN:
        if store.get(tx, device_type.name) is None:
            store.upsert(tx, replace(device_type, is_built_in=True))


def list_all(tx: Tx) -> list[DeviceType]:
    return store.list_all(tx)


def find_device_type(tx: Tx, name: str) -> DeviceType | None:
    return store.get(tx, name)


def get_device_type(tx: Tx, name: str) -> DeviceType:
    device_type = store.get(tx, name)
    if device_type is None:
        raise not_found("type", "device type")
    return device_type


def list_device_types(tx: Tx, request: PageRequest) -> Page[DeviceType]:
    return store.list_page(tx, request)


def put_device_type(tx: Tx, actor: Actor, device_type: DeviceType) -> DeviceType:
    """Create or replace a type; existing codecs are kept unless new ones are given."""
    name = device_type.name
    if not name or len(name) > NAME_CHARACTERS_MAX or "\x00" in name:
        raise invalid_field("name", f"must have 1 to {NAME_CHARACTERS_MAX} characters")
    present = store.get(tx, name)
    kept = replace(device_type, is_built_in=present is not None and present.is_built_in)
    if kept.decoder is not None:
        validate_decoder(kept.decoder, kept.decoder_source or "")
        parse_location(kept.decoded_location)
        cache_epochs.bump_config_epoch(tx, cache_epochs.PLATFORM)
    elif present is not None:
        kept = replace(
            kept,
            decoder=present.decoder,
            decoder_source=present.decoder_source,
            decoded_location=present.decoded_location,
        )
    if kept.encoder_source is not None:
        validate_encoder(kept.encoder_source)
        cache_epochs.bump_config_epoch(tx, cache_epochs.PLATFORM)
    elif present is not None:
        kept = replace(kept, encoder_source=present.encoder_source)
    if present is not None and present.default_configuration != kept.default_configuration:
        cache_epochs.bump_config_epoch(tx, cache_epochs.PLATFORM)
        store_reports.schedule_check_of_type(tx, name)
    store.upsert(tx, kept)
    audit.log(tx, actor, "deviceType.put", name)
    return kept


def set_decoder(
    tx: Tx, actor: Actor, name: str, kind: str | None, source: str, location: str | None = None
) -> DeviceType:
    """Set the decoder of a type, or remove it if there is no kind."""
    return _apply_decoder(tx, actor, _get_by_name(tx, name), kind, source, location)


def change_decoder(
    tx: Tx,
    actor: Actor,
    name: str,
    kind: str | None,
    source: str,
    location: str | None,
    *,
    if_updated_at: Moment | None = None,
) -> DeviceType:
    """The same by an operator, unless somebody has changed the type since."""
    access.require_operator(actor, "deviceType.write")
    present = get_device_type(tx, name)
    require_version(present.updated_at, if_updated_at)
    return _apply_decoder(tx, actor, present, kind, source, location)


def _apply_decoder(
    tx: Tx, actor: Actor, present: DeviceType, kind: str | None, source: str, location: str | None
) -> DeviceType:
    if kind is not None:
        validate_decoder(kind, source)
    parse_location(location)
    # Cached like permissions: every process sees the new one within two seconds.
    cache_epochs.bump_config_epoch(tx, cache_epochs.PLATFORM)
    kept = replace(
        present,
        decoder=kind,
        decoder_source=None if kind is None else source,
        decoded_location=None if kind is None else location,
        updated_at=next_version(tx.now, present.updated_at),
    )
    store.upsert(tx, kept)
    audit.log(
        tx,
        actor,
        "deviceType.decoder",
        present.name,
        detail=kind or "",
        before=_audited_decoder(present),
        after=_audited_decoder(kept),
    )
    return kept


def _audited_decoder(device_type: DeviceType) -> audit.Fields:
    return {
        "decoder": device_type.decoder,
        "decoder_source": device_type.decoder_source,
        "decoded_location": device_type.decoded_location,
    }


def set_encoder(tx: Tx, actor: Actor, name: str, source: str | None) -> DeviceType:
    """Set the encoder of a type, or remove it."""
    present = _get_by_name(tx, name)
    if source is not None:
        validate_encoder(source)
    cache_epochs.bump_config_epoch(tx, cache_epochs.PLATFORM)
    kept = replace(present, encoder_source=source)
    store.upsert(tx, kept)
    audit.log(tx, actor, "deviceType.encoder", name, detail="" if source is None else "javascript")
    return kept


def validate_decoder(kind: str, source: str) -> tuple[str, ...]:
    """Reject an invalid decoder with the place of the error; returns warnings."""
    try:
        decoder = get_decoder(kind, source)
    except InvalidDecoder as error:
        raise invalid_field("decoder", str(error)) from None
    return decoder.warnings if isinstance(decoder, JavaScriptDecoder) else ()


def validate_encoder(source: str) -> tuple[str, ...]:
    """Like `validate_decoder`."""
    try:
        return get_encoder(source).warnings
    except InvalidDecoder as error:
        raise invalid_field("encoder", str(error)) from None


def parse_location(text: str | None) -> LocationPaths | None:
    """The paths of latitude and longitude in decoded values, such as `gps.lat,gps.lng`."""
    if text is None:
        return None
    paths = [tuple(each.strip().split(".")) for each in text.split(",")]
    if len(paths) != 2 or not all(map(all, paths)) or len(text) > LOCATION_CHARACTERS_MAX:
        raise invalid_field(
            "decoded_location", "must be the names of latitude and longitude, like gps.lat,gps.lng"
        )
    return paths[0], paths[1]


def _get_by_name(tx: Tx, name: str) -> DeviceType:
    present = store.get(tx, name)
    if present is None:
        raise not_found("name", "device type")
    return present


def delete_device_type(tx: Tx, actor: Actor, name: str) -> DeviceType:
    present = _get_by_name(tx, name)
    if present.is_built_in:
        raise Conflict(f"The device type {name} is built in and cannot be removed.")
    if store_devices.is_type_used(tx, name):
        raise Conflict(f"There are devices of the type {name}; give them another type first.")
    cache_epochs.bump_config_epoch(tx, cache_epochs.PLATFORM)
    store_measurements.delete_of_type(tx, name)
    store.delete(tx, name)
    audit.log(tx, actor, "deviceType.remove", name)
    return present
