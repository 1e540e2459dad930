"""The steps of a job: each takes some devices, changes them, and says what became of each."""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longwire.delivery.channels import DispatchContext
from longwire.errors import NotAllowed, NotFound
from longwire.fleet import device_types, devices
from longwire.fleet.bulk_changes import BulkChange
from longwire.identity import access
from longwire.jobs import selection as selections
from longwire.jobs.exporting import ExportedRows, store_rows
from longwire.jobs.kinds import (
    PERMISSIONS,
    ConfigurationTask,
    DeleteTask,
    DeviceTask,
    ExportTask,
    RedecodeTask,
    ReplayTask,
    ResendTask,
    TagTask,
    Task,
    TransferTask,
    TypeTask,
    UndoTask,
    decode_task,
)
from longwire.jobs.messages import run_message_step
from longwire.jobs.redecoding import DecodedStep, store_step
from longwire.jobs.results import JobFailed, StepPostponed, StepResult, count_items
from longwire.jobs.selection import decode_position, decode_selection, encode_position
from longwire.model import Actor, Device, DeviceType, ItemOutcome, Job, JobItem, PageRequest
from longwire.store.database import Tx
from longwire.store.fleet import device_bin
from longwire.store.fleet import devices as store_devices
from longwire.store.fleet.device_bin import BinnedDevice
from longwire.store.jobs import jobs as store

DEVICES_PER_STEP_MAX = 50

# Why something was skipped or failed.
GONE = "gone"  # deleted, or not in the group any more
UNCHANGED = "unchanged"
TOO_MANY_TAGS = "too_many_tags"
CHANGED_MEANWHILE = "changed_meanwhile"
ORIGINAL_ID_TAKEN = "original_id_taken"
TYPE_GONE = "type_gone"  # deleted, or of a group that is not above
NOT_ALLOWED = "not_allowed"  # in a group that has left the tree, or a role has changed
NOT_KEPT = "not_kept"  # there was no room for the old values


@dataclass(frozen=True, slots=True)
class PreparedStep:
    """What was read and decoded outside of the transaction, from a cursor of the job."""

    result: DecodedStep | ExportedRows
    since: str


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a step needs apart from its job."""

    dispatch: DispatchContext
    prepared: PreparedStep | None = None
    export_bytes_max: int = 0  # of the files of a user's groups


def run_step(tx: Tx, actor: Actor, job: Job, context: StepContext) -> StepResult:
    """Process the next devices of a job, as far as the actor may do that now."""
    prepared = context.prepared and context.prepared.result
    if context.prepared is not None and context.prepared.since != job.cursor:
        raise StepPostponed  # a commit before it, of unknown outcome, has succeeded
    match task := decode_task(job):
        case RedecodeTask():
            assert isinstance(prepared, DecodedStep)
            return store_step(tx, actor, job, prepared)
        case ExportTask():
            assert isinstance(prepared, ExportedRows)
            return store_rows(tx, actor, job, prepared, context.export_bytes_max)
        case ResendTask() | ReplayTask():
            return run_message_step(tx, actor, job, task, context.dispatch)
        case UndoTask():
            return _run_undo_step(tx, actor, job, task)
        case _:
            return _run_device_step(tx, actor, job, task)


def _run_device_step(tx: Tx, actor: Actor, job: Job, task: DeviceTask) -> StepResult:
    selection = decode_selection(job)
    permission = PERMISSIONS[type(task)]
    tree = access.authorize_tree(tx, actor, permission, job.group_id, subgroups=selection.subgroups)
    position = decode_position(job)
    taken = selections.take(tx, tree, job, position, DEVICES_PER_STEP_MAX)
    if isinstance(task, TransferTask):
        # Those that are there, or that it has transferred to a group below.
        taken.by_group.pop(task.to_group_id, None)
    items: list[JobItem] = []
    for group_id, device_ids in taken.by_group.items():
        scope = access.authorize(tx, actor, permission, group_id)
        found = store_devices.lock_many(tx, scope, device_ids)
        items += [_skipped(each, GONE) for each in device_ids if each not in found]
        if found:
            items += _APPLY[type(task)](tx, actor, job, list(found.values()), task)
    cursor = None if taken.position is None else encode_position(taken.position)
    return StepResult(items, cursor, count_items(items))


# --- what is done with devices of one group, which are locked ---


def _transfer(
    tx: Tx, actor: Actor, job: Job, found: Sequence[Device], task: TransferTask
) -> list[JobItem]:
    staying = device_types.list_unusable_there(tx, found, task.to_group_id)
    items = [_skipped(each.id, TYPE_GONE) for each in staying]
    going = [each for each in found if each not in staying]
    if going:
        moved = devices.apply_transfer(tx, actor, going, task.to_group_id)
        items += [_changed(was, _stay(now)) for was, now in zip(going, moved, strict=True)]
    return items


def _delete(
    tx: Tx, actor: Actor, job: Job, found: Sequence[Device], task: DeleteTask
) -> list[JobItem]:
    devices.move_to_bin(tx, actor, found, job.id)
    return [_changed(each, {}) for each in found]


def _change(
    tx: Tx,
    actor: Actor,
    job: Job,
    found: Sequence[Device],
    task: TagTask | TypeTask | ConfigurationTask,
) -> list[JobItem]:
    change, device_type, tags_max = _to_change(tx, job, task)
    items: list[JobItem] = []
    changes = []
    for device in found:
        changed = devices.apply_change(tx, actor, device, change, device_type)
        if changed == device:
            items.append(_skipped(device.id, UNCHANGED))
        elif len(changed.tags) > tags_max:
            items.append(JobItem(device.id, ItemOutcome.FAILED, TOO_MANY_TAGS))
        else:
            changes.append((device, changed))
    devices.store_updates(tx, actor, changes)
    names = _CHANGED_FIELDS[type(task)]
    return items + [_changed(before, _values(after, names)) for before, after in changes]


_CHANGED_FIELDS: dict[type, tuple[str, ...]] = {
    TagTask: ("tags",),
    TypeTask: ("type", "configuration"),
    ConfigurationTask: ("configuration",),
}


def _to_change(
    tx: Tx, job: Job, task: TagTask | TypeTask | ConfigurationTask
) -> tuple[BulkChange, DeviceType | None, float]:
    """The change of each device, and how many tags it may have then."""
    match task:
        case TagTask():
            change = BulkChange(add_tags=task.add_tags, remove_tags=task.remove_tags)
            return change, None, task.tags_max
        case ConfigurationTask():
            return BulkChange(configuration=task.configuration), None, math.inf
        case TypeTask():
            device_type = device_types.find_device_type(tx, task.type, job.group_id)
            if device_type is None:
                raise JobFailed(TYPE_GONE)
            return BulkChange(type=task.type), device_type, math.inf


_APPLY: dict[type, Callable[[Tx, Actor, Job, Sequence[Device], Any], list[JobItem]]] = {
    TransferTask: _transfer,
    DeleteTask: _delete,
    TagTask: _change,
    TypeTask: _change,
    ConfigurationTask: _change,
}


def _skipped(device_id: str, code: str) -> JobItem:
    return JobItem(device_id, ItemOutcome.SKIPPED, code)


def _changed(before: Device, new_values: Mapping[str, Any]) -> JobItem:
    """The result for a device of which these values were changed."""
    old_values = {name: getattr(before, name) for name in new_values}
    kept = json.dumps({**old_values, "group_id": before.group_id}, ensure_ascii=False)
    return JobItem(
        before.id,
        ItemOutcome.CHANGED,
        old_values=kept,
        new_digest=_digest(new_values) if new_values else None,
    )


def _values(device: Device, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(device, name) for name in names}


def _stay(device: Device) -> dict[str, Any]:
    return _values(device, ("group_id", "stay"))


def _digest(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


# --- undo ---


@dataclass(frozen=True, slots=True)
class _UndoItem:
    """A device that a job has changed, and the values that it had."""

    item: JobItem
    group_id: str
    old_values: dict[str, Any]

    @property
    def changed_values(self) -> dict[str, Any]:
        """Without the group, unless it was changed as well."""
        return {
            name: value
            for name, value in self.old_values.items()
            if name != "group_id" or "stay" in self.old_values
        }

    def is_unchanged(self, device: Device) -> bool:
        """Whether the device has the values that the job has set."""
        return _digest(_values(device, list(self.changed_values))) == self.item.new_digest


def _run_undo_step(tx: Tx, actor: Actor, job: Job, task: UndoTask) -> StepResult:
    scope = access.authorize(tx, actor, "device.read", job.group_id)
    undone = store.JOBS.get(tx, scope, task.job_id)
    if undone is None:
        raise JobFailed(GONE)
    request = PageRequest(DEVICES_PER_STEP_MAX, _after(job))
    wanted = {"job_id": undone.id, "outcome": ItemOutcome.CHANGED}
    page = store.JOB_ITEMS.page(tx, request, order="number", **wanted)
    items = [_to_undo_item(each) for each in page.items if each.old_values is not None]
    results = [_skipped(each.object_id, NOT_KEPT) for each in page.items if not each.old_values]
    by_group: dict[str, list[_UndoItem]] = {}
    for each in items:
        by_group.setdefault(each.group_id, []).append(each)
    undone_task = decode_task(undone)
    for group_id, group in by_group.items():
        code = _find_obstacle(tx, actor, group_id, undone_task)
        if code is not None:
            results += [_skipped(each.item.object_id, code) for each in group]
        elif isinstance(undone_task, DeleteTask):
            results += _restore(tx, actor, group_id, group)
        elif isinstance(undone_task, TransferTask):
            results += _transfer_back(tx, actor, group_id, undone_task.to_group_id, group)
        else:
            results += _set_back(tx, actor, group_id, PERMISSIONS[type(undone_task)], group)
    changed = {each.object_id for each in results if each.outcome == ItemOutcome.CHANGED}
    return StepResult(
        results,
        None if page.last_key is None else json.dumps(page.last_key),
        count_items(results),
        [each.item.number for each in items if each.item.object_id in changed],
    )


def _find_obstacle(tx: Tx, actor: Actor, group_id: str, undone: Task) -> str | None:
    """Why nothing of a group can be undone: it may have left the tree since, or be deleted."""
    permission = "device.create"  # where they go back to
    if not isinstance(undone, TransferTask):
        permission = PERMISSIONS[type(undone)]
    try:
        access.authorize(tx, actor, permission, group_id)
    except NotFound:
        return GONE
    except NotAllowed:
        return NOT_ALLOWED
    return None


def _after(job: Job) -> tuple[int | str, ...] | None:
    found = json.loads(job.cursor)
    return None if found is None else tuple(found)


def _to_undo_item(item: JobItem) -> _UndoItem:
    values = json.loads(item.old_values or "{}")
    if "tags" in values:
        values["tags"] = tuple(values["tags"])
    return _UndoItem(item, values["group_id"], values)


def _restore(tx: Tx, actor: Actor, group_id: str, items: Sequence[_UndoItem]) -> list[JobItem]:
    access.authorize(tx, actor, PERMISSIONS[DeleteTask], group_id)
    binned = device_bin.lock_many(tx, [each.item.object_id for each in items])
    results = [
        _skipped(each.item.object_id, GONE) for each in items if each.item.object_id not in binned
    ]
    taken = _find_taken(tx, binned.values())
    missing = {
        name
        for name in {each.type for each in binned.values()}
        if device_types.find_device_type(tx, name, group_id) is None
    }
    restorable = []
    for device in binned.values():
        if device.type in missing:
            results.append(_skipped(device.id, TYPE_GONE))
        elif (device.network, device.original_key) in taken:
            results.append(_skipped(device.id, ORIGINAL_ID_TAKEN))
        else:
            restorable.append(device)
    if restorable:
        devices.restore_from_bin(tx, actor, group_id, restorable)
    return results + [JobItem(each.id, ItemOutcome.CHANGED) for each in restorable]


def _find_taken(tx: Tx, binned: Iterable[BinnedDevice]) -> set[tuple[str, str]]:
    """Those of the networks and original ids that other devices have now."""
    keys: dict[str, list[str]] = {}
    for device in binned:
        keys.setdefault(device.network, []).append(device.original_key)
    return {
        (network, key)
        for network, some in keys.items()
        for key in store_devices.list_taken_keys(tx, network, some)
    }


def _transfer_back(
    tx: Tx, actor: Actor, group_id: str, from_group_id: str, items: Sequence[_UndoItem]
) -> list[JobItem]:
    scope = access.authorize(tx, actor, PERMISSIONS[TransferTask], from_group_id)
    found = store_devices.lock_many(tx, scope, [each.item.object_id for each in items])
    unchanged, results = _compare(items, found)
    transferred = [device for _, device in unchanged]
    staying = device_types.list_unusable_there(tx, transferred, group_id)
    results += [_skipped(each.id, TYPE_GONE) for each in staying]
    going = [each for each in transferred if each not in staying]
    if going:
        devices.apply_transfer(tx, actor, going, group_id)
    return results + [JobItem(each.id, ItemOutcome.CHANGED) for each in going]


def _set_back(
    tx: Tx, actor: Actor, group_id: str, permission: str, items: Sequence[_UndoItem]
) -> list[JobItem]:
    scope = access.authorize(tx, actor, permission, group_id)
    found = store_devices.lock_many(tx, scope, [each.item.object_id for each in items])
    unchanged, results = _compare(items, found)
    changes = []
    for item, device in unchanged:
        changed = devices.set_values(tx, actor, device, item.changed_values)
        is_retyped = changed.type != device.type
        if is_retyped and device_types.find_device_type(tx, changed.type, group_id) is None:
            results.append(_skipped(device.id, TYPE_GONE))
        else:
            changes.append((device, changed))
    devices.store_updates(tx, actor, changes)
    return results + [JobItem(each.id, ItemOutcome.CHANGED) for each, _ in changes]


def _compare(
    items: Sequence[_UndoItem], found: Mapping[str, Device]
) -> tuple[list[tuple[_UndoItem, Device]], list[JobItem]]:
    """The devices that are as the job has left them; and results for the others."""
    unchanged = []
    results = []
    for item in items:
        device = found.get(item.item.object_id)
        if device is not None and item.is_unchanged(device):
            unchanged.append((item, device))
        else:
            code = GONE if device is None else CHANGED_MEANWHILE
            results.append(_skipped(item.item.object_id, code))
    return unchanged, results
