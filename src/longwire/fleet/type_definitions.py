"""Whole device types: their fields, and what is declared of their values, in one change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longwire.clock import Moment
from longwire.errors import BadInput
from longwire.fleet import device_types, measurement_declarations
from longwire.fleet.codec_guard import CodecCaller, CodecGuard, require_budget
from longwire.measurements.definitions import Measurement
from longwire.model import Actor, DeviceType
from longwire.quotas import DEFAULT_QUOTAS, Quotas
from longwire.store.database import Tx


@dataclass(frozen=True, slots=True)
class TypeDefinition:
    """A device type, and the measurements that are declared wherever it is there."""

    device_type: DeviceType
    measurements: Sequence[Measurement]


def check_draft(
    draft: DeviceType, measurements: Sequence[Measurement], guard: CodecGuard
) -> Sequence[str]:
    """Reject a draft with all that is wrong with it; returns warnings.

    Blocks; its group pays for loading its codecs.
    """
    caller = CodecCaller(draft.group_id or "", "")
    require_budget(guard, caller.group_id)
    with guard.charging(caller):
        problems = [
            *device_types.find_name_problems(draft.name),
            *device_types.find_problems(draft, guard.decoders),
        ]
    try:
        measurement_declarations.validate(measurements)
    except BadInput as error:
        problems += error.field_errors
    if problems:
        raise BadInput(field_errors=problems)
    return device_types.list_warnings(draft, guard.decoders)


def get_definition(tx: Tx, actor: Actor, name: str) -> TypeDefinition:
    device_type = device_types.get_device_type(tx, actor, name)
    declared = measurement_declarations.get_declaration(tx, actor, name, None)
    return TypeDefinition(device_type, declared.measurements)


def create_definition(
    tx: Tx,
    actor: Actor,
    draft: DeviceType,
    measurements: Sequence[Measurement],
    quotas: Quotas = DEFAULT_QUOTAS,
) -> TypeDefinition:
    created = device_types.create_device_type(tx, actor, draft, quotas)
    if measurements:
        measurement_declarations.declare(tx, actor, draft.name, None, measurements)
    return TypeDefinition(created, measurements)


def update_definition(
    tx: Tx,
    actor: Actor,
    name: str,
    fields: Mapping[str, Any],
    measurements: Sequence[Measurement] | None,
    quotas: Quotas = DEFAULT_QUOTAS,
    *,
    if_updated_at: Moment | None = None,
) -> TypeDefinition:
    """Update some fields, and replace what is declared unless that is None."""
    device_types.update_device_type(tx, actor, name, fields, quotas, if_updated_at=if_updated_at)
    if measurements is not None:
        measurement_declarations.declare(tx, actor, name, None, measurements)
    return get_definition(tx, actor, name)
