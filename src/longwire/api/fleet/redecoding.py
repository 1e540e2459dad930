"""Redecoding of stored payloads."""

from dataclasses import replace
from typing import Annotated

from msgspec import Meta

from longwire.api.services import AsyncContext
from longwire.api.types import DeviceId, GroupId, parse_period
from longwire.errors import BadInput, FieldError
from longwire.fleet import redecoding
from longwire.fleet.redecoding import RedecodedBatch, RedecodeSelection
from longwire.model import PageRequest
from longwire.web.fields import Body, DateIn, Name, Reply, limited_by
from longwire.web.routing import Route

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


async def _redecode(
    context: AsyncContext, selection: RedecodeSelection, request: PageRequest
) -> RedecodedBatch:
    """Find some records and decode them, while no transaction waits for it."""
    batch = await context.read(
        lambda tx: redecoding.find_batch(tx, context.actor, selection, request)
    )
    computing = context.services.computing
    if not batch.items:
        return redecoding.redecode_batch(batch, computing.codecs)
    group_id = batch.items[0].device.group_id
    return await computing.threads.run(group_id, redecoding.redecode_batch, batch, computing.codecs)


async def redecode(context: AsyncContext, body: RedecodeInput) -> RedecodeReturn:
    """Redecode stored payloads.

    Decodes `__raw` of data records with the current decoder of the device type. Values from an
    earlier decoding are replaced in `data`; the rest of the record is unchanged, and connectors are
    not notified. A record that fails to decode is unchanged. One request processes some records and
    responds with a `nextToken` as long as there are more.
    """
    selection = _selection(body)
    pages = replace(context.page_tokens, items_default=REDECODE_DEFAULT)
    batch = await _redecode(context, selection, pages.page_request(body))
    changed = await context.write(lambda tx: redecoding.store_batch(tx, context.actor, batch))
    return RedecodeReturn(
        message=f"{changed} of {batch.examined} records changed.",
        looked_at=batch.examined,
        changed=changed,
        skipped=batch.skipped,
        failed=batch.failed,
        failure=batch.failure,
        next_token=pages.next_token(body, batch),
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
        in_turns=True,
        permission="record.create",
        object_rule="in the groups the device was in when the records were stored, or in groupId",
        tag="Records",
        conflicts="The device type has no decoder.",
        is_addition=True,
    ),
]
