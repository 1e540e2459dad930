"""Redecoding of stored payloads."""

from typing import Annotated

from msgspec import Meta

from longwire.api.services import Context
from longwire.api.types import DeviceId, GroupId, parse_period
from longwire.errors import BadInput, FieldError
from longwire.fleet import redecoding
from longwire.fleet.codec_guard import CODEC_THREADS
from longwire.fleet.redecoding import RedecodedBatch, RedecodeSelection
from longwire.model import Actor
from longwire.store.database import Database
from longwire.web.fields import Body, DateIn, Name, Reply, limited_by
from longwire.web.page_tokens import PageTokens
from longwire.web.routing import Route

REDECODE = "postDeviceRedecode"
REDECODE_DEFAULT = 100


class RedecodeInput(Body):
    """Which payloads to redecode: of a device or of a group's devices, in a period."""

    device_id: DeviceId | None = None
    group_id: Annotated[GroupId, Meta(description="With deviceId, its group.")] | None = None
    device_type: Annotated[Name, Meta(description="Only devices of this type.")] | None = None
    begin_date: DateIn | None = None
    end_date: DateIn | None = None
    limit: (
        Annotated[
            Annotated[int, Meta(ge=1, description="The maximum number of records to read.")],
            limited_by("page_items_max", unit="items"),
        ]
        | None
    ) = None
    next_token: (
        Annotated[str, Meta(description="The nextToken of the previous response.")] | None
    ) = None


class RedecodeReturn(Reply):
    """The outcome for some records; with a nextToken there are more."""

    message: str
    looked_at: int
    changed: int
    skipped: Annotated[int, Meta(description="Without a payload, or with data of another form.")]
    failed: Annotated[int, Meta(description="Rejected by the decoder, and unchanged.")]
    failure: Annotated[str, Meta(description="The error of the first one that failed.")] | None = (
        None
    )
    next_token: str | None = None


async def redecode_batch(database: Database, actor: Actor, body: RedecodeInput) -> RedecodedBatch:
    """Find some records and decode them, while no transaction waits for it."""
    selection = _selection(body)
    pages = PageTokens(database.context.keyring, actor, REDECODE, REDECODE_DEFAULT)
    request = pages.page_request(body)
    batch = await database.read(lambda tx: redecoding.find_batch(tx, actor, selection, request))
    if not batch.items:
        return redecoding.redecode_batch(batch)
    group_id = batch.items[0].device.group_id
    return await CODEC_THREADS.run(group_id, redecoding.redecode_batch, batch)


def redecode(context: Context, body: RedecodeInput, batch: RedecodedBatch) -> RedecodeReturn:
    """Redecode stored payloads.

    Decodes `__raw` of data records with the current decoder of the device type. Values from an
    earlier decoding are replaced in `data`; the rest of the record is unchanged, and connectors are
    not notified. A record that fails to decode is unchanged. One request processes some records and
    responds with a `nextToken` as long as there are more.
    """
    changed = redecoding.store_batch(context.tx, context.actor, batch)
    return RedecodeReturn(
        message=f"{changed} of {batch.examined} records changed.",
        looked_at=batch.examined,
        changed=changed,
        skipped=batch.skipped,
        failed=batch.failed,
        failure=batch.failure,
        next_token=context.page_tokens.next_token(body, batch),
    )


def _selection(body: RedecodeInput) -> RedecodeSelection:
    if body.device_id is None and body.group_id is None:
        raise BadInput(
            field_errors=[
                FieldError("device_id", "is required, or else groupId"),
                FieldError("group_id", "is required, or else deviceId"),
            ]
        )
    begin, end = parse_period(body.begin_date, body.end_date)
    return RedecodeSelection(body.device_id, body.group_id, body.device_type, begin, end)


ROUTES = [
    Route(
        method="POST",
        path="/device/redecode",
        handler=redecode,
        prepare_input=redecode_batch,
        permission="record.create",
        object_rule="in the groups the device was in when the records were stored, or in groupId",
        tag="Records",
        conflicts="The device type has no decoder.",
        is_addition=True,
    ),
]
