"""How exports are streamed: read in small steps, as CSV or NDJSON, and resumable.

An export is read in small steps, with no transaction open between them, as fast as the client
takes it. Each step checks the caller and the permission again. Every row has an id; whoever has
lost the connection continues after the last one they have.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from longwire.api.records.csv_cells import encode_csv
from longwire.api.services import AsyncContext
from longwire.dataclass import dataclass
from longwire.model import Actor
from longwire.store.archive.archive_reads import (
    NeedsArchive,
    read_with_archive,
)
from longwire.store.database import Tx
from longwire.web.routing import StreamResponse

# At once, of each kind of export.

PER_CALLER_MAX = 4
OPEN_MAX = 32
CHUNK_BYTES = 64 * 1024

Format = Annotated[
    Literal["csv", "ndjson"],
    Meta(
        title="ExportFormat",
        description="CSV with a header, or one JSON object per line.",
        examples=["csv"],
    ),
]
After = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        description="Continue after the row of this id; for an export that was interrupted.",
        examples=["rec_19805e2c41a003"],
    ),
]


# --- formats ---


@dataclass(frozen=True, slots=True)
class Step:
    """Some rows as they are sent, and where to continue; None at the end."""

    content: bytes
    count: int
    position: Any


# From a transaction, the caller as they are now, and a position, None at the begin.
ReadStep = Callable[[Tx, Actor, Any], Step | NeedsArchive[Step]]


@dataclass(frozen=True, slots=True)
class Export:
    """What is exported, and how its rows are read."""

    name: str  # of the file
    format: str
    columns: Sequence[str] | None  # None if the first step has the header
    read: ReadStep
    position_type: Any = tuple[int | str, ...]

    @property
    def header(self) -> bytes:
        is_here = self.format == "csv" and self.columns is not None
        return encode_csv([self.columns or ()]) if is_here else b""

    @property
    def media_type(self) -> str:
        return "text/csv; charset=utf-8" if self.format == "csv" else "application/x-ndjson"

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        disposition = f'attachment; filename="{self.name}.{self.format}"'
        return ((b"content-disposition", disposition.encode()),)


def list_columns(struct: type[msgspec.Struct], first: str) -> list[str]:
    """The names of the columns, the id first."""
    names = [each.encode_name for each in msgspec.structs.fields(struct)]
    return [first, *(name for name in names if name != first)]


# --- streams ---


async def start_export(context: AsyncContext, export: Export) -> StreamResponse:
    """Read the first step, whose errors are those of the request, and stream the others."""
    work = partial(_run, export.read, context.actor, None)
    first = await read_with_archive(context.database, work)
    return StreamResponse(
        _stream(context, export.header, first, export.read), export.media_type, export.headers
    )


async def _stream(
    context: AsyncContext, header: bytes, step: Step, read: ReadStep
) -> AsyncGenerator[bytes, None]:
    """While a step is sent, the next one is read."""
    waiting = bytearray(header)
    following: asyncio.Task[Step] | None = None
    try:
        while True:
            following = None
            if step.position is not None:
                following = asyncio.create_task(_read_next(context, read, step.position))
                # Should nobody wait for it any more, its error is of no interest.
                following.add_done_callback(lambda task: task.cancelled() or task.exception())
            waiting += step.content
            while len(waiting) >= CHUNK_BYTES:
                yield bytes(waiting[:CHUNK_BYTES])
                del waiting[:CHUNK_BYTES]
            if following is None:
                break
            step = await following
        yield bytes(waiting)
    finally:
        if following is not None:
            following.cancel()


async def _read_next(context: AsyncContext, read: ReadStep, position: Any) -> Step:
    actor = await context.reauthenticate()
    return await read_with_archive(context.database, partial(_run, read, actor, position))


def _run(read: ReadStep, actor: Actor, position: Any, tx: Tx) -> Step | NeedsArchive[Step]:
    return read(tx, actor, position)
