"""Drafts of channels: what a user asked for, validated and merged into the stored channel.

Each step is pure or only reads, and collects every fault, so that a response can name all of them.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from longwire.errors import BadInput, FieldError
from longwire.model import Connector
from longwire.store import device_types as store_device_types
from longwire.store import devices as store_devices
from longwire.store.database import Tx

P = TypeVar("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ChannelDraft:
    """What connectors and notifications have in common; None leaves a field as it is."""

    params: str | None = None
    type: str | None = None
    name: str | None = None
    description: str | None = None
    device_types: Sequence[str] | None = None
    is_enabled: bool | None = None
    tags: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class CheckedParams(Generic[P]):
    """Parameters as text and as a value, or what is invalid about them."""

    text: str = ""
    value: P | None = None
    field_errors: list[FieldError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ParamsRules(Generic[P]):
    """How parameters of a family of channels are parsed and validated."""

    noun: str
    types: Collection[str]
    parse_stored: Callable[[str, str], P]  # (type, text)
    # (type, text, stored text of the same type) to (text, value, faults)
    validate: Callable[[str, str, str | None], tuple[str, P, list[FieldError]]]


def check_params(
    draft: ChannelDraft, current: Connector, stored: str | None, rules: ParamsRules[P]
) -> CheckedParams[P]:
    """The parameters of the draft, or the stored ones where the draft has none."""
    type_name = draft.type or current.type
    if type_name not in rules.types:
        return _invalid("type", f"is unknown; known are {', '.join(rules.types)}")
    if draft.params is not None:
        return _validate(
            type_name, draft.params, stored if type_name == current.type else None, rules
        )
    if type_name != current.type:
        return _invalid("params", f"are required for a {rules.noun} of type {type_name}")
    if stored is None:
        return _invalid("params", "is required")
    # Not validated again: if the rules have changed, the channel could not even be disabled.
    return CheckedParams(stored, rules.parse_stored(type_name, stored))


def _validate(
    type_name: str, text: str, stored: str | None, rules: ParamsRules[P]
) -> CheckedParams[P]:
    try:
        text, value, field_errors = rules.validate(type_name, text, stored)
    except BadInput as error:
        return CheckedParams(field_errors=list(error.field_errors))
    return CheckedParams(field_errors=field_errors) if field_errors else CheckedParams(text, value)


def _invalid(place: str, reason: str) -> CheckedParams[P]:
    return CheckedParams(field_errors=[FieldError(place, reason)])


def check_device_types(tx: Tx, names: Sequence[str] | None) -> list[FieldError]:
    if names is None:
        return []
    known = {each.name for each in store_device_types.list_all(tx)}
    return [
        FieldError(f"device_types[{index}]", "is not a known device type")
        for index, name in enumerate(names)
        if name not in known
    ]


def check_devices(tx: Tx, ids: Sequence[str], group_ids: Collection[str]) -> list[FieldError]:
    found = store_devices.get_reporting(tx, ids)
    return [
        FieldError(f"device_ids[{index}]", "is not a device of this group")
        for index, each in enumerate(ids)
        if each not in found or found[each].group_id not in group_ids
    ]


def updated(new: T | None, current: T) -> T:
    """The new value, or the current one where the draft has none."""
    return current if new is None else new


def updated_unique(new: Sequence[str] | None, current: tuple[str, ...]) -> tuple[str, ...]:
    return current if new is None else tuple(dict.fromkeys(new))
