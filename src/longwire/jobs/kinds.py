"""The kinds of jobs: what each can do, as a value that is stored with it, and may need."""

from typing import Literal

import msgspec

from longwire.clock import Moment
from longwire.model import Job


def _rename_stored(name: str) -> str:
    """Stored jobs have shorter names than requests and replies."""
    return name.removesuffix("_tags").removesuffix("_date")


class TransferTask(msgspec.Struct, frozen=True, tag_field="kind", tag="transfer"):
    """Transfer the devices to another group."""

    to_group_id: str


class DeleteTask(msgspec.Struct, frozen=True, tag_field="kind", tag="delete"):
    """Delete the devices; until the job cannot be undone any more, they are in the bin."""


class TagTask(msgspec.Struct, frozen=True, tag_field="kind", tag="tag", rename=_rename_stored):
    """Add tags to the devices, and remove others."""

    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    tags_max: int = 0


class TypeTask(msgspec.Struct, frozen=True, tag_field="kind", tag="type"):
    """Change the type of the devices, which resets their configuration."""

    type: str


class ConfigurationTask(msgspec.Struct, frozen=True, tag_field="kind", tag="configuration"):
    """Set the configuration of the devices."""

    configuration: str


class RedecodeTask(
    msgspec.Struct, frozen=True, tag_field="kind", tag="redecode", rename=_rename_stored
):
    """Decode stored payloads of the devices again, those of a period."""

    begin_date: Moment | None = None
    end_date: Moment | None = None


class ResendTask(msgspec.Struct, frozen=True, tag_field="kind", tag="resend"):
    """Queue the dead letters of a connector that are of the devices."""

    connector_id: str


class ReplayTask(
    msgspec.Struct, frozen=True, tag_field="kind", tag="replay", rename=_rename_stored
):
    """Send the records of a period that are of the devices through a connector again."""

    connector_id: str
    begin_date: Moment
    end_date: Moment


class ExportTask(msgspec.Struct, frozen=True, tag_field="kind", tag="export"):
    """Write an export into a file."""

    content: Literal["records", "devices", "messages", "audit"]
    query: str  # JSON: the parameters of the export


class UndoTask(msgspec.Struct, frozen=True, tag_field="kind", tag="undo"):
    """Undo what another job has changed."""

    job_id: str


DeviceTask = TransferTask | DeleteTask | TagTask | TypeTask | ConfigurationTask
MessageTask = ResendTask | ReplayTask
StartableTask = DeviceTask | RedecodeTask | MessageTask | ExportTask
Task = StartableTask | UndoTask

# The permission that the single operation needs, in the group of each device.
PERMISSIONS: dict[type, str] = {
    TransferTask: "device.transfer",
    DeleteTask: "device.delete",
    TagTask: "device.update",
    TypeTask: "device.update",
    ConfigurationTask: "device.update",
    RedecodeTask: "record.create",
    ResendTask: "connector.resend",
    ReplayTask: "connector.resend",
}
EXPORT_PERMISSIONS = {
    "records": "record.read",
    "devices": "device.read",
    "messages": "connector.read",
    "audit": "audit.read",
}
READ = "device.read"  # for every job, in addition
UNDO = "undo"
EXPORT = "export"
# Kinds whose steps read outside of the transaction that stores their result.
PREPARED = frozenset(["redecode", "export"])
UNDOABLE = frozenset(["transfer", "delete", "tag", "type", "configuration"])
# Why the other kinds have no undo.
NO_UNDO = {
    "resend": "messages_sent",
    "replay": "messages_sent",
    "redecode": "values_replaced",
    "export": "nothing_changed",
    "undo": "is_undo",
}

_decoder = msgspec.json.Decoder(Task)


def encode_task(task: Task) -> str:
    return msgspec.json.encode(task).decode()


def decode_task(job: Job) -> Task:
    task: Task = _decoder.decode(job.task)
    return task


def permission_of(task: Task) -> str:
    """The permission to start such a task, besides `READ`."""
    if isinstance(task, ExportTask):
        return EXPORT_PERMISSIONS[task.content]
    return PERMISSIONS.get(type(task), READ)


def kind_of(task: Task) -> str:
    return str(task.__struct_config__.tag)
