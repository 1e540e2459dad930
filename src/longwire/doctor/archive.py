"""Checks of the archive: whether its files are where the database says."""

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from functools import partial

from longwire.archive.files import FILE_BYTES_MAX
from longwire.blobs import BlobError, BlobStore, open_store
from longwire.dates import format_date
from longwire.doctor.findings import Area, Finding, describe_error
from longwire.settings import Settings
from longwire.store.archive import archive_files
from longwire.store.archive.archive_files import ArchiveFile, FileState
from longwire.store.database import Database

MONTHS_NAMED_MAX = 5


def check_archive(
    area: Area, settings: Settings, database: Database, *, is_deep: bool
) -> Iterator[Finding]:
    files = [
        file
        for state in (FileState.PUBLISHED, FileState.MOVED)
        for file in asyncio.run(database.read(partial(archive_files.list_in_state, state=state)))
    ]
    if not files:
        return
    if not settings.archive:
        text = f"{len(files)} files of the archive are listed, and archive is not set"
        yield area.problem(text, "set archive to the place that `longwire archive` was run with")
        return
    try:
        store = open_store(settings.archive)
        found = set(store.list_names("records"))
    except (BlobError, OSError) as error:
        advice = "check the place in archive, and the credentials for it"
        yield area.problem(f"cannot be listed: {describe_error(error)}", advice)
        return
    missing = [file for file in files if file.name not in found]
    damaged = [
        file for file in files if is_deep and file.name in found and not _is_whole(store, file)
    ]
    advice = "copy them back: lists and exports that reach into these months are 503 until then"
    if missing:
        yield area.problem(f"files are missing: {_describe(missing)}", advice)
    if damaged:
        yield area.problem(f"files are not as they were written: {_describe(damaged)}", advice)
    if not missing and not damaged:
        yield area.ok(f"all {len(files)} files are there")


def _is_whole(store: BlobStore, file: ArchiveFile) -> bool:
    try:
        content = store.get(file.name, FILE_BYTES_MAX)
    except BlobError:
        return False
    return hashlib.sha256(content).hexdigest() == file.digest


def _describe(files: Sequence[ArchiveFile]) -> str:
    months = sorted({f"{format_date(file.begin)[:7]} ({file.kind})" for file in files})
    more = ", …" if len(months) > MONTHS_NAMED_MAX else ""
    return f"{len(files)}, of {', '.join(months[:MONTHS_NAMED_MAX])}{more}"
