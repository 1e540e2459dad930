"""What the configuration of a device should be: policies of its type and groups, and its own.

Policies are merged in this order: the default of the type as far as the device has it, the policy
of the type, those of the groups from the root down, and what the device has of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice

import msgspec

from longwire.clock import Moment
from longwire.errors import invalid_field, not_found
from longwire.fleet import device_types
from longwire.fleet.configuration_layers import (
    CHARACTERS_MAX,
    LEVELS_MAX,
    Difference,
    JsonObject,
    Layer,
    Merged,
    Source,
    find_differences,
    is_deep,
    merge_layers,
    parse_object,
    split_inherited,
)
from longwire.identity import access
from longwire.model import Actor, ConfigurationPolicy, Device, Page, PageRequest
from longwire.object_versions import next_version, require_version
from longwire.records import DataRecord
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.fleet import configurations as store
from longwire.store.fleet import device_reports as store_reports
from longwire.store.fleet import device_types as store_types
from longwire.store.fleet import devices as store_devices
from longwire.store.fleet.device_reports import NewReport, Report
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.identity import audit
from longwire.store.records.records import RecordRow

# Bounds the work of merging all policies on the path of a device.
POLICY_CHARACTERS_MAX = 8_192
POLICY_VALUES_MAX = 200
DIFFERENCES_MAX = 50  # that are shown of a device
DEVICES_PER_PAGE_MAX = 100
NO_POLICY = ConfigurationPolicy("{}", 0, "")


@dataclass(frozen=True, slots=True)
class TypeLayers:
    """What a device type contributes."""

    default: JsonObject
    policy: JsonObject


@dataclass(frozen=True, slots=True)
class Drift:
    """What a device reports, and where that is not what it should be."""

    report: Report
    reported: JsonObject | None  # None if it is no JSON object of a fair size
    differences: Sequence[Difference]


@dataclass(frozen=True, slots=True)
class EffectiveConfiguration:
    """The configuration that a device should have."""

    device: Device
    merged: Merged
    is_own_used: bool  # whether its own configuration is a JSON object that can be merged
    drift: Drift | None  # if it has reported anything that the actor may see


# --- policies ---


def get_group_policy(tx: Tx, actor: Actor, group_id: str) -> ConfigurationPolicy:
    scope = access.authorize(tx, actor, "device.read", group_id)
    return store.get_of_group(tx, scope, group_id) or NO_POLICY


def set_group_policy(
    tx: Tx,
    actor: Actor,
    group_id: str,
    policy: JsonObject,
    *,
    if_updated_at: Moment | None = None,
) -> ConfigurationPolicy:
    """Set what a group wants of the devices in it and below; an empty policy wants nothing."""
    scope = access.authorize(tx, actor, "group.update", group_id)
    text = _encode_policy(policy)
    cache_epochs.bump_config_epoch(tx, group_id)
    present = store.get_of_group(tx, scope, group_id)
    new = _replace_policy(tx, actor, present, text, if_updated_at)
    if policy:
        store.save_of_group(tx, group_id, new)
    else:
        store.delete_of_group(tx, group_id)
    store_reports.schedule_check_of_group(tx, group_id)
    before, after = _audited(present), _audited(new)
    action = "group.updateConfiguration"
    audit.log(tx, actor, action, group_id, group_id=group_id, before=before, after=after)
    return new if policy else NO_POLICY


def get_type_policy(tx: Tx, actor: Actor, type_name: str) -> ConfigurationPolicy:
    device_types.get_device_type(tx, actor, type_name)
    return store.get_of_type(tx, type_name) or NO_POLICY


def set_type_policy(
    tx: Tx,
    actor: Actor,
    type_name: str,
    policy: JsonObject,
    *,
    if_updated_at: Moment | None = None,
) -> ConfigurationPolicy:
    """Set what a device type wants of all devices of that type."""
    home = device_types.get_changeable(tx, actor, type_name).group_id
    text = _encode_policy(policy)
    cache_epochs.bump_config_epoch(tx, home or cache_epochs.PLATFORM)
    present = store.get_of_type(tx, type_name)
    new = _replace_policy(tx, actor, present, text, if_updated_at)
    if policy:
        store.save_of_type(tx, type_name, new)
    else:
        store.delete_of_type(tx, type_name)
    store_reports.schedule_check_of_type(tx, type_name)
    before, after = _audited(present), _audited(new)
    action = "deviceType.updateConfiguration"
    audit.log(tx, actor, action, type_name, group_id=home, before=before, after=after)
    return new if policy else NO_POLICY


def _replace_policy(
    tx: Tx,
    actor: Actor,
    present: ConfigurationPolicy | None,
    text: str,
    if_updated_at: Moment | None,
) -> ConfigurationPolicy:
    before = present or NO_POLICY
    require_version(before.updated_at, if_updated_at)
    return ConfigurationPolicy(text, next_version(tx.now, before.updated_at), actor.id)


def _encode_policy(policy: JsonObject) -> str:
    if is_deep(policy):
        raise invalid_field("policy", f"has more than {LEVELS_MAX} levels")
    text = msgspec.json.encode(policy).decode()
    if len(text) > POLICY_CHARACTERS_MAX:
        raise invalid_field("policy", f"has more than {POLICY_CHARACTERS_MAX} characters of JSON")
    if _count_values(policy) > POLICY_VALUES_MAX:
        raise invalid_field("policy", f"has more than {POLICY_VALUES_MAX} values")
    return text


def _count_values(policy: JsonObject) -> int:
    values = [_count_values(each) if isinstance(each, dict) else 1 for each in policy.values()]
    return sum(values)


def _audited(policy: ConfigurationPolicy | None) -> audit.Fields:
    return {"policy": msgspec.json.decode((policy or NO_POLICY).policy)}


# --- the configuration of a device ---


def get_effective(
    tx: Tx, actor: Actor, device_id: str, group_id: str | None
) -> EffectiveConfiguration:
    scope = access.authorize_optional_group(tx, actor, "device.read", group_id)
    device = store_devices.get(tx, scope, device_id)
    if device is None:
        raise not_found("device_id", "device")
    merged = merge_configuration(tx, device.type, device.group_id, device.configuration, device_id)
    report = None
    if "record.read" in access.get_permissions(tx, actor, device.group_id):
        report = store_reports.get(tx, device.number)
    return EffectiveConfiguration(
        device,
        merged,
        parse_object(device.configuration) is not None,
        None if report is None else _compare(report, merged),
    )


def merge_configuration(
    tx: Tx, type_name: str, group_id: str, configuration: str, device_id: str
) -> Merged:
    """What a device of this type, group and own configuration should have."""
    layers = _get_type_layers(tx, type_name)
    own = parse_object(configuration) or {}
    inherited, rest = split_inherited(own, layers.default)
    return merge_layers(
        [
            Layer(Source("default", type_name), inherited),
            Layer(Source("type", type_name), layers.policy),
            *_get_group_layers(tx, group_id),
            Layer(Source("device", device_id), rest),
        ]
    )


def _get_type_layers(tx: Tx, type_name: str) -> TypeLayers:
    return tx.cache.get_config(
        "type configurations",
        type_name,
        lambda: _load_type_layers(tx, type_name),
        lambda: store_types.list_cache_groups(tx, type_name),
    )


def _load_type_layers(tx: Tx, type_name: str) -> TypeLayers:
    device_type = store_types.get(tx, type_name)
    if device_type is None:
        raise not_found("type", "device type")
    policy = store.get_of_type(tx, type_name) or NO_POLICY
    default = parse_object(device_type.default_configuration) or {}
    return TypeLayers(default, parse_object(policy.policy) or {})


def _get_group_layers(tx: Tx, group_id: str) -> tuple[Layer, ...]:
    """The policies of a group and those above it, from the root down."""
    path = access.get_group_path(tx, group_id)
    return tx.cache.get_config(
        "group configurations", group_id, lambda: _load_group_layers(tx, path), lambda: path
    )


def _load_group_layers(tx: Tx, path: tuple[str, ...]) -> tuple[Layer, ...]:
    policies = store.list_of_groups(tx, path)
    return tuple(
        Layer(Source("group", group_id), parse_object(policies[group_id]) or {})
        for group_id in reversed(path)
        if group_id in policies
    )


def can_see_source(tx: Tx, actor: Actor, source: Source) -> bool:
    """Whether the actor may know which group a value is from."""
    return source.kind != "group" or bool(access.get_permissions(tx, actor, source.id))


# --- what devices report ---


def find_new_reports(
    now: Moment,
    records: Iterable[tuple[RecordRow, DataRecord]],
    devices: Mapping[str, ReportingDevice],
) -> list[tuple[int, NewReport]]:
    """The configurations that are not those of the last time, by the `seq` of their records."""
    found = []
    for row, record in records:
        text = record.configuration
        if len(text) > CHARACTERS_MAX or not text.startswith("{"):
            continue
        digest = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), signed=True)
        if digest != devices[record.device_id].reported_digest:
            report = NewReport(row.device_number, text, digest, min(row.ts, now))
            found.append((row.seq, report))
    return found


def compare_pending(tx: Tx, after: int, most: int) -> list[tuple[Report, bool]]:
    """Compare the next reports with what they should be; which of them drift."""
    cache_epochs.refresh_epochs(tx)  # a policy that another process has just committed counts
    return [
        (report, bool(_find_drift(tx, report).differences))
        for report in store_reports.list_pending(tx, after, most)
    ]


def save_results(tx: Tx, results: Sequence[tuple[Report, bool]]) -> None:
    for report, is_drifting in results:
        store_reports.save_result(tx, report, is_drifting=is_drifting)


def list_drifting(
    tx: Tx, actor: Actor, group_id: str, request: PageRequest, *, subgroups: bool
) -> Page[Drift]:
    """The devices of a group that report another configuration than they should have."""
    scope = access.authorize(tx, actor, "device.read", group_id)
    access.authorize(tx, actor, "record.read", group_id)
    limited = PageRequest(min(request.limit, DEVICES_PER_PAGE_MAX), request.after)
    page = store_reports.list_drifting(tx, scope, group_id, limited, subgroups=subgroups)
    found = [_find_drift(tx, report) for report in page.items]
    # Something may have been changed that is not compared yet.
    return Page([each for each in found if each.differences], page.last_key)


def _find_drift(tx: Tx, report: Report) -> Drift:
    merged = merge_configuration(
        tx, report.type, report.group_id, report.configuration, report.device_id
    )
    return _compare(report, merged)


def _compare(report: Report, merged: Merged) -> Drift:
    reported = parse_object(report.reported)
    if not reported:  # an empty object reports nothing
        return Drift(report, reported, ())
    return Drift(
        report, reported, list(islice(find_differences(merged, reported), DIFFERENCES_MAX))
    )
