"""Creates the devices of a file: all or none, and those that exist already are left as they are."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from longwire.dataclass import dataclass
from longwire.errors import BadInput, Conflict, FieldError
from longwire.fleet import device_types, devices
from longwire.fleet.devices import DeviceDraft, normalize_draft
from longwire.identity import access
from longwire.model import Actor, DeviceType
from longwire.networks.identities import InvalidOriginalId, normalize_network, original_key
from longwire.store.database import Tx
from longwire.store.fleet import devices as store

TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class LineError:
    """What is wrong with a line, and in which column."""

    line: int
    column: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ImportLine:
    """A device of the file, and the line it begins in."""

    line: int
    draft: DeviceDraft

    @property
    def key(self) -> tuple[str, str]:
        network = normalize_network(self.draft.network)
        return network, original_key(network, self.draft.original_id)


@dataclass(frozen=True, slots=True)
class ImportFile:
    """The devices of a file, as far as its lines are valid by themselves."""

    lines: Sequence[ImportLine]
    errors: Sequence[LineError]
    ignored_columns: Sequence[str]


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import would do, or why it cannot."""

    new: Sequence[ImportLine]
    existing: Mapping[int, str]  # ids of devices, by line
    types: Mapping[str, DeviceType]
    errors: Sequence[LineError]


def plan_import(tx: Tx, actor: Actor, group_id: str, file: ImportFile) -> ImportPlan:
    """Compare a file with what exists; the errors are in the order of the lines."""
    access.authorize(tx, actor, "device.create", group_id)
    types, errors = _find_types(tx, file.lines, group_id)
    first: dict[tuple[str, str], int] = {}
    existing: dict[int, str] = {}
    new: list[ImportLine] = []
    owners = _find_owners(tx, file.lines)
    for each in file.lines:
        earlier = first.setdefault(each.key, each.line)
        owner = owners.get(each.key)
        if earlier != each.line:
            errors.append(_error(each, "duplicate", f"is the same as in line {earlier}"))
        elif owner is not None and owner[1] != group_id:
            errors.append(_error(each, TAKEN, "is taken in this network"))
        elif each.draft.type not in types:
            continue  # an error already
        elif owner is not None:
            existing[each.line] = owner[0]
        else:
            try:
                new.append(replace(each, draft=normalize_draft(each.draft)))
            except InvalidOriginalId as error:
                errors.append(_error(each, "invalid_original_id", str(error)))
    ordered = sorted([*file.errors, *errors], key=lambda error: error.line)
    return ImportPlan(new, existing, types, ordered)


def require_valid(plan: ImportPlan) -> None:
    """Raise an error that names every invalid line."""
    if plan.errors:
        field_errors = [
            FieldError(f"lines[{each.line}].{each.column}".removesuffix("."), each.message)
            for each in plan.errors
        ]
        is_conflict = all(each.code == TAKEN for each in plan.errors)
        raise (Conflict if is_conflict else BadInput)(field_errors=field_errors)


def create_new(tx: Tx, actor: Actor, group_id: str, plan: ImportPlan) -> dict[int, str]:
    """Create the devices that do not exist; their ids by line."""
    require_valid(plan)
    if not plan.new:
        return {}
    drafts = [each.draft for each in plan.new]
    created = devices.insert_drafts(tx, actor, group_id, drafts, plan.types)
    return {each.line: device.id for each, device in zip(plan.new, created, strict=True)}


def _find_types(
    tx: Tx, lines: Sequence[ImportLine], group_id: str
) -> tuple[dict[str, DeviceType], list[LineError]]:
    types: dict[str, DeviceType] = {}
    errors: list[LineError] = []
    for name in {each.draft.type for each in lines}:
        found = device_types.find_device_type(tx, name, group_id)
        if found is not None:
            types[name] = found
    for each in lines:
        if each.draft.type not in types:
            errors.append(LineError(each.line, "type", "unknown_type", "is no device type"))
    return types, errors


def _find_owners(tx: Tx, lines: Sequence[ImportLine]) -> dict[tuple[str, str], tuple[str, str]]:
    """The devices that have the original ids: their ids and groups, by network and key."""
    by_network: defaultdict[str, list[str]] = defaultdict(list)
    for each in lines:
        by_network[each.key[0]].append(each.key[1])
    return {
        (network, key): owner
        for network, keys in by_network.items()
        for key, owner in store.list_by_original_keys(tx, network, keys).items()
    }


def _error(line: ImportLine, code: str, message: str) -> LineError:
    return LineError(line.line, "original_id", code, message)
