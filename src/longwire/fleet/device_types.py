"""Device types: built-in ones, those that the operator adds, and those of a group.

A type of a group is there for the devices in it and below, and nowhere else. Names are unique in
the whole service, whatever their case, so that a name means one type wherever somebody reads it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from longwire.clock import Moment
from longwire.decoders.base import InvalidDecoder
from longwire.decoders.catalogue import Decoders
from longwire.decoders.javascript import JavaScriptDecoder
from longwire.errors import (
    BadInput,
    Conflict,
    FieldError,
    NotAllowed,
    conflicting_field,
    invalid_field,
    not_found,
)
from longwire.identity import access
from longwire.model import Actor, Device, DeviceType, Page, PageRequest
from longwire.object_versions import next_version, require_version
from longwire.quotas import DEFAULT_QUOTAS, Quotas
from longwire.store import locks
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.fleet import device_reports as store_reports
from longwire.store.fleet import device_types as store
from longwire.store.fleet import devices as store_devices
from longwire.store.identity import audit

# Of a type that belongs to a group, in that group.
PERMISSION = "device.update"
FOR_ALL = "deviceType.write"
NAME_CHARACTERS_MAX = 128
COUNTED_DEVICES_MAX = 10_000
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
        if not store.is_name_taken(tx, device_type.name):
            store.insert(tx, replace(device_type, is_built_in=True, updated_at=tx.now))


# --- which there are ---


def get_device_type(tx: Tx, actor: Actor, name: str) -> DeviceType:
    """A type that the actor may see, or `NotFound`."""
    device_type = find_visible(tx, actor, name)
    if device_type is None:
        raise not_found("type", "device type")
    return device_type


def find_visible(tx: Tx, actor: Actor, name: str) -> DeviceType | None:
    """One of all, or of a group that the actor belongs to, or of one above or below such."""
    device_type = store.get(tx, name)
    return device_type if device_type and can_see(tx, actor, device_type) else None


def can_see(tx: Tx, actor: Actor, device_type: DeviceType) -> bool:
    home = device_type.group_id
    if home is None or access.get_permissions(tx, actor, home):
        return True
    if actor.group_id is not None:
        return home in access.get_group_path(tx, actor.group_id)
    return store.has_member_below(tx, home, actor.id)


def find_device_type(tx: Tx, name: str, group_id: str) -> DeviceType | None:
    """The type of that name, if the devices of the group may have it."""
    device_type = store.get(tx, name)
    return device_type if device_type and is_usable(tx, device_type, group_id) else None


def get_usable(tx: Tx, name: str, group_id: str) -> DeviceType:
    """The same, or `NotFound`."""
    device_type = find_device_type(tx, name, group_id)
    if device_type is None:
        raise not_found("type", "device type")
    return device_type


def is_usable(tx: Tx, device_type: DeviceType, group_id: str) -> bool:
    home = device_type.group_id
    return home is None or home in access.get_group_path(tx, group_id)


def require_usable(tx: Tx, name: str, group_id: str, field: str) -> DeviceType:
    """The same; the error lists the types that the devices of the group may have."""
    device_type = find_device_type(tx, name, group_id)
    if device_type is None:
        known = ", ".join(store.list_usable_names(tx, access.get_group_path(tx, group_id)))
        raise invalid_field(field, f"is no device type; there are {known}")
    return device_type


def list_unusable_there(tx: Tx, devices: Sequence[Device], to_group_id: str) -> list[Device]:
    """Those whose types belong to groups that are not above another group."""
    names = {each.type for each in devices}
    usable = {name for name in names if find_device_type(tx, name, to_group_id)}
    return [each for each in devices if each.type not in usable]


def require_usable_there(tx: Tx, devices: Sequence[Device], to_group_id: str) -> None:
    staying = list_unusable_there(tx, devices, to_group_id)
    if staying:
        verb = "1 device has a type" if len(staying) == 1 else f"{len(staying)} devices have types"
        names = ", ".join(sorted({each.type for each in staying}))
        raise Conflict(
            f"{verb} that the other group does not have: {names}. Give them other types first."
        )


def list_all(tx: Tx) -> list[DeviceType]:
    return store.list_all(tx)


def list_device_types(
    tx: Tx, actor: Actor, group_id: str | None, request: PageRequest
) -> Page[DeviceType]:
    """Those that the actor may see; or those that the devices of a group may have."""
    if group_id is not None:
        access.authorize(tx, actor, "device.read", group_id)
        return store.list_usable(tx, access.get_group_path(tx, group_id), request)
    if actor.is_operator:
        return store.list_page(tx, request)
    if actor.group_id is not None:
        return store.list_around(tx, actor.group_id, request)
    return store.list_of_user(tx, actor.id, request)


# --- change ---


def create_device_type(
    tx: Tx, actor: Actor, draft: DeviceType, quotas: Quotas = DEFAULT_QUOTAS
) -> DeviceType:
    """Create a type for all, by an operator, or for a group and those below it."""
    home = draft.group_id
    authorize(tx, actor, home)
    created = replace(draft, is_built_in=False, updated_at=tx.now)
    problems = find_problems(created, tx.caches.find(Decoders))
    _require_valid([*find_name_problems(draft.name), *problems])
    locks.acquire_lock(tx, "device types", "")
    require_free_name(tx, draft.name)
    if home is not None:
        quotas.require_room("device_types_per_group_max", store.TYPES.count(tx, group_id=home))
    _bump_epoch(tx, created)
    store.insert(tx, created)
    _require_room_for_texts(tx, created, 0, quotas)
    _log(tx, actor, "create", created, after=_audited(created))
    return created


def _require_room_for_texts(
    tx: Tx, device_type: DeviceType, earlier_size: int, quotas: Quotas
) -> None:
    """Of all types of its group, with this one as it is stored now, if it has grown."""
    home = device_type.group_id
    if home is not None and _get_size(device_type) > earlier_size:
        total = store.sum_texts(tx, home)
        quotas.require_room("device_type_bytes_per_group_max", total, wanted=0)


def _get_size(device_type: DeviceType) -> int:
    sources = device_type.decoder_source or "", device_type.encoder_source or ""
    return sum(map(len, (device_type.default_configuration, *sources)))


def require_free_name(tx: Tx, name: str) -> None:
    if store.is_name_taken(tx, name):
        raise conflicting_field("name", "is taken, maybe by a type that you cannot see")


def update_device_type(
    tx: Tx,
    actor: Actor,
    name: str,
    fields: Mapping[str, Any],
    quotas: Quotas = DEFAULT_QUOTAS,
    *,
    if_updated_at: Moment | None = None,
) -> DeviceType:
    """Update some fields of a type, by whoever may change it."""
    _bump_epoch(tx, get_changeable(tx, actor, name))
    # Locked until the commit, so that of two at once the second one finds what the first changed.
    present = get_changeable(tx, actor, name)
    require_version(present.updated_at, if_updated_at)
    changed = merge_fields(present, fields)
    _require_valid(find_problems(changed, tx.caches.find(Decoders)))
    changed = replace(changed, updated_at=next_version(tx.now, present.updated_at))
    store.TYPES.save(tx, present, changed)
    _require_room_for_texts(tx, changed, _get_size(present), quotas)
    if changed.default_configuration != present.default_configuration:
        store_reports.schedule_check_of_type(tx, name)
    _log(tx, actor, "update", changed, before=_audited(present), after=_audited(changed))
    return changed


def delete_device_type(tx: Tx, actor: Actor, name: str) -> DeviceType:
    """Delete a type that no device has."""
    present = get_changeable(tx, actor, name)
    if present.is_built_in:
        raise Conflict(f"The device type {name} is built in and cannot be deleted.")
    _bump_epoch(tx, present)
    store.lock(tx, name)
    used = store_devices.count_of_type(tx, name, COUNTED_DEVICES_MAX + 1)
    if used:
        raise Conflict(
            f"{_count_devices(used)} the type {name}; give them another type first, or delete them."
        )
    store.delete(tx, name)
    _log(tx, actor, "delete", present, before=_audited(present))
    return present


def _count_devices(count: int) -> str:
    if count > COUNTED_DEVICES_MAX:
        return f"More than {COUNTED_DEVICES_MAX:,} devices have"
    return "1 device has" if count == 1 else f"{count:,} devices have"


def get_changeable(tx: Tx, actor: Actor, name: str) -> DeviceType:
    """A type that the actor may change."""
    present = get_device_type(tx, actor, name)
    require_may_change(tx, actor, present)
    return present


def require_may_change(tx: Tx, actor: Actor, device_type: DeviceType) -> None:
    if device_type.group_id is None:
        access.require_operator(actor, FOR_ALL)
    elif not may_change(tx, actor, device_type):
        raise NotAllowed(f"This needs the permission {PERMISSION} in the group of the device type.")


def may_change(tx: Tx, actor: Actor, device_type: DeviceType) -> bool:
    home = device_type.group_id
    may = home is not None and PERMISSION in access.get_permissions(tx, actor, home)
    return actor.is_operator or may


def authorize(tx: Tx, actor: Actor, home: str | None) -> None:
    """Who may create types for all, or for a group."""
    if home is None:
        access.require_operator(actor, FOR_ALL)
    else:
        access.authorize(tx, actor, PERMISSION, home)


def put_device_type(tx: Tx, actor: Actor, device_type: DeviceType) -> DeviceType:
    """Create or update a type of all; existing codecs are kept unless new ones are given."""
    if store.get(tx, device_type.name) is None:
        return create_device_type(tx, actor, device_type)
    names = ["display_name", "default_configuration", "battery", "firmware_version"]
    if device_type.decoder is not None:
        names += _DECODER_FIELDS
    if device_type.encoder_source is not None:
        names.append("encoder_source")
    fields = {name: getattr(device_type, name) for name in names}
    return update_device_type(tx, actor, device_type.name, fields)


def set_decoder(
    tx: Tx,
    actor: Actor,
    name: str,
    kind: str | None,
    source: str,
    location: str | None = None,
    *,
    if_updated_at: Moment | None = None,
) -> DeviceType:
    """Set the decoder of a type, or remove it if there is no kind."""
    fields = {"decoder": kind, "decoder_source": source, "decoded_location": location}
    return update_device_type(tx, actor, name, fields, if_updated_at=if_updated_at)


def set_encoder(tx: Tx, actor: Actor, name: str, source: str | None) -> DeviceType:
    """Set the encoder of a type, or remove it."""
    return update_device_type(tx, actor, name, {"encoder_source": source})


_DECODER_FIELDS = ("decoder", "decoder_source", "decoded_location")
_AUDITED = (
    *("display_name", "default_configuration", "battery", "firmware_version"),
    *(*_DECODER_FIELDS, "encoder_source"),
)


def merge_fields(present: DeviceType, fields: Mapping[str, Any]) -> DeviceType:
    """The type with other values of some fields; without a decoder it has no source of one."""
    merged = replace(present, **fields)
    if merged.decoder is None:
        return replace(merged, decoder_source=None, decoded_location=None)
    return replace(merged, decoder_source=merged.decoder_source or "")


def _audited(device_type: DeviceType) -> audit.Fields:
    return {name: getattr(device_type, name) for name in _AUDITED}


def _log(tx: Tx, actor: Actor, action: str, device_type: DeviceType, **changes: Any) -> None:
    audit.log(
        tx,
        actor,
        f"deviceType.{action}",
        device_type.name,
        group_id=device_type.group_id,
        name=device_type.display_name,
        **changes,
    )


def _bump_epoch(tx: Tx, device_type: DeviceType) -> None:
    """Cached like permissions: every process sees what is new within two seconds."""
    cache_epochs.bump_config_epoch(tx, device_type.group_id or cache_epochs.PLATFORM)


# --- what is valid ---


def find_name_problems(name: str) -> list[FieldError]:
    is_printable = name.isprintable() and name == name.strip()
    if name and len(name) <= NAME_CHARACTERS_MAX and is_printable:
        return []
    message = f"must have 1 to {NAME_CHARACTERS_MAX} printable characters, without spaces around"
    return [FieldError("name", message)]


def find_problems(device_type: DeviceType, decoders: Decoders) -> list[FieldError]:
    """All that is wrong with the fields of a type, apart from its name. May block."""
    problems: list[FieldError] = []
    for check in (_validate_decoder_of, _validate_encoder_of, _validate_location_of):
        try:
            check(device_type, decoders)
        except BadInput as error:
            problems += error.field_errors
    return problems


def _validate_decoder_of(device_type: DeviceType, decoders: Decoders) -> Sequence[str]:
    if device_type.decoder is None:
        return ()
    return validate_decoder(device_type.decoder, device_type.decoder_source or "", decoders)


def _validate_encoder_of(device_type: DeviceType, decoders: Decoders) -> Sequence[str]:
    source = device_type.encoder_source
    return () if source is None else validate_encoder(source, decoders)


def _validate_location_of(device_type: DeviceType, _: Decoders) -> Sequence[str]:
    parse_location(device_type.decoded_location)
    return ()


def list_warnings(device_type: DeviceType, decoders: Decoders) -> Sequence[str]:
    """What the valid codecs of a type use and does not exist here."""
    return [
        *_validate_decoder_of(device_type, decoders),
        *_validate_encoder_of(device_type, decoders),
    ]


def _require_valid(problems: Sequence[FieldError]) -> None:
    if problems:
        raise BadInput(field_errors=problems)


def validate_decoder(kind: str, source: str, decoders: Decoders) -> tuple[str, ...]:
    """Reject an invalid decoder with the place of the error; returns warnings."""
    try:
        decoder = decoders.get(kind, source)
    except InvalidDecoder as error:
        raise invalid_field("decoder", str(error)) from None
    return decoder.warnings if isinstance(decoder, JavaScriptDecoder) else ()


def validate_encoder(source: str, decoders: Decoders) -> tuple[str, ...]:
    """Like `validate_decoder`."""
    try:
        return decoders.get_encoder(source).warnings
    except InvalidDecoder as error:
        raise invalid_field("encoder_source", str(error)) from None


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
