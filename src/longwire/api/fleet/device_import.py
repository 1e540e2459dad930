"""The operation that creates devices from a CSV file.

A file is what a spreadsheet writes: UTF-8 with or without a byte order mark, commas or semicolons,
quotes where needed, column names in any case and order.
"""

import csv
import io
import typing
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from msgspec import Meta

from longwire.api.fleet.device_shapes import Configuration, DeviceTypeName, Network, OriginalId
from longwire.api.records.csv_cells import parse_tags, unescape_cell
from longwire.api.services import AsyncContext
from longwire.api.types import GroupId
from longwire.dataclass import dataclass
from longwire.fleet import device_import
from longwire.fleet.device_import import ImportFile, ImportLine, ImportPlan, LineError
from longwire.fleet.devices import DeviceDraft
from longwire.model import Actor
from longwire.store.database import Tx
from longwire.web.fields import InputLimits, Name, Query, Reply, words
from longwire.web.routing import RawBody, Route
from longwire.web.validation import check_text

# Far above every limit of a column, so that too long a text is named like other errors.
csv.field_size_limit(8 * 1024 * 1024)

_COLUMNS: Mapping[str, Any] = {
    "name": Name,
    "original_id": OriginalId,
    "type": DeviceTypeName,
    "network": Network,
    "tags": None,
    "configuration": Configuration,
}
_BY_SPELLING = {name.replace("_", ""): name for name in _COLUMNS}

_EXAMPLE = """name,originalId,type,network,tags,configuration
Cold room,70B3D57ED0041A2B,temperature,chirpstack,north|cellar,
Gate 3,70B3D57ED0041A2C,button,chirpstack,,"{""longPressSeconds"":5}"
"""


class ImportQuery(Query):
    """Where the devices go, and what holds for lines that do not say it."""

    group_id: GroupId
    type: Annotated[DeviceTypeName, Meta(description="If a line has no type.")] | None = None
    network: Annotated[Network, Meta(description="If a line has no network.")] | None = None
    dry_run: (
        Annotated[bool, Meta(description="true to check the file without creating anything.")]
        | None
    ) = None


ERROR_CODES = (
    *("malformed", "missing_column", "duplicate_column", "too_many_cells", "too_many_lines"),
    *("required", "too_long", "too_many_tags", "invalid_character", "unknown_type"),
    *("duplicate", "taken", "invalid_original_id"),
)


class ImportLineError(Reply):
    """What is wrong with a line of the file."""

    line: Annotated[int, Meta(description="Where it begins; the header is 1.", examples=[3])]
    column: Annotated[str, Meta(examples=["originalId"])]
    code: Annotated[
        str,
        words("ImportErrorCode", ERROR_CODES),
        Meta(description="What is wrong.", examples=["required"]),
    ]
    message: Annotated[str, Meta(examples=["is required"])]


class ImportedDevice(Reply):
    """What became of a line."""

    line: Annotated[int, Meta(description="Where it begins in the file.", examples=[2])]
    status: Annotated[
        str,
        words("ImportStatus", ("created", "existing")),
        Meta(description="Whether it is new.", examples=["created"]),
    ]
    device_id: (
        Annotated[str, Meta(description="Absent if a dry run would create the device.")] | None
    ) = None


class ImportReturn(Reply):
    """The outcome of an import, or of its dry run."""

    message: Annotated[str, Meta(examples=["2 created, 1 already there."])]
    is_dry_run: Annotated[bool, Meta(description="Nothing was created.")]
    created: Annotated[int, Meta(description="New devices.", examples=[2])]
    existing: Annotated[
        int, Meta(description="Devices that the group has already; they are unchanged.")
    ]
    items: Annotated[list[ImportedDevice], Meta(description="The valid lines, in their order.")]
    errors: Annotated[
        list[ImportLineError],
        Meta(description="Of a dry run: all that would make the import fail, in order of lines."),
    ]
    ignored_columns: Annotated[
        list[str], Meta(description="Columns that mean nothing here.", examples=[["seenAt"]])
    ]


@dataclass(frozen=True, slots=True)
class PreparedImport:
    """A file that was parsed, and for a dry run compared with what exists."""

    file: ImportFile
    plan: ImportPlan


def _prepare(
    query: ImportQuery, body: bytes, limits: InputLimits, actor: Actor, tx: Tx
) -> PreparedImport:
    file = parse_file(body, query.type or "", query.network or "", limits)
    plan = device_import.plan_import(tx, actor, query.group_id, file)
    if query.dry_run is not True:
        device_import.require_valid(plan)
    return PreparedImport(file, plan)


async def import_devices(context: AsyncContext, query: ImportQuery, body: bytes) -> ImportReturn:
    """Create devices from a CSV file.

    The first line names the columns: `originalId` is required; `name`, `type`, `network`, `tags`
    (with `|` between them) and `configuration` are optional. All devices are created, or none; the
    error names every invalid line. Devices that the group has already are left as they are, so that
    a file can be sent again. With `dryRun=true` nothing is created, and the response has every
    error.
    """
    is_dry_run, actor = query.dry_run is True, context.actor
    # Parsed and checked on a thread that reads, so that no write has to wait for it.
    prepared = await context.read(partial(_prepare, query, body, context.limits, actor))
    plan = prepared.plan
    created: Mapping[int, str | None] = dict.fromkeys(each.line for each in plan.new)

    def create(tx: Tx) -> tuple[ImportPlan, Mapping[int, str | None]]:
        # Compared again: another request may have created some meanwhile.
        plan = device_import.plan_import(tx, actor, query.group_id, prepared.file)
        return plan, device_import.create_new(tx, actor, query.group_id, plan)

    if not is_dry_run:
        plan, created = await context.write(create)
    items = [
        *(ImportedDevice(line=line, status="created", device_id=i) for line, i in created.items()),
        *(
            ImportedDevice(line=line, status="existing", device_id=i)
            for line, i in plan.existing.items()
        ),
    ]
    return ImportReturn(
        message=_message(len(created), len(plan.existing), len(plan.errors), is_dry_run),
        is_dry_run=is_dry_run,
        created=len(created),
        existing=len(plan.existing),
        items=sorted(items, key=lambda item: item.line),
        errors=[
            ImportLineError(
                line=each.line,
                column=_WIRE_NAMES.get(each.column, each.column),
                code=each.code,
                message=each.message,
            )
            for each in plan.errors
        ],
        ignored_columns=list(prepared.file.ignored_columns),
    )


def _message(created: int, existing: int, errors: int, is_dry_run: bool) -> str:
    if is_dry_run:
        noun = "error" if errors == 1 else "errors"
        return f"{created} would be created, {existing} already there, {errors} {noun}."
    return f"{created} created, {existing} already there."


# --- the file ---


class _InvalidFile(Exception):
    """The rest of the file cannot be read."""

    def __init__(self, error: LineError) -> None:
        super().__init__(error.message)
        self.error = error


def parse_file(body: bytes, type_name: str, network: str, limits: InputLimits) -> ImportFile:
    """Parse a file and check each line by itself."""
    check_text(body)
    parser = _FileParser(type_name, network, limits)
    try:
        for line, cells in _rows(body.decode().removeprefix("\ufeff")):
            parser.add(line, cells)
        parser.require_header()
    except _InvalidFile as invalid:
        parser.errors.append(invalid.error)
    return ImportFile(parser.lines, parser.errors, parser.ignored_columns)


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the line it begins in."""
    header = text[: text.find("\n") if "\n" in text else None]
    delimiter = ";" if header.count(";") > header.count(",") else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise _InvalidFile(LineError(line, "", "malformed", f"is no CSV: {error}")) from None
        if cells is None:
            return
        if any(cells):
            yield line, cells
        line = reader.line_num + 1


class _FileParser:
    """Collects the devices of a file, and the errors of its lines."""

    def __init__(self, type_name: str, network: str, limits: InputLimits) -> None:
        self._defaults = {"type": type_name, "network": network}
        self._limits = limits
        self._columns: list[str | None] | None = None
        self._count = 0
        self.lines: list[ImportLine] = []
        self.errors: list[LineError] = []
        self.ignored_columns: list[str] = []

    def add(self, line: int, cells: Sequence[str]) -> None:
        if self._columns is None:
            self._columns = self._read_header(line, cells)
            return
        self._count += 1
        if self._count > self._limits.bulk_ids_max:
            message = f"is one too many: a file may have {self._limits.bulk_ids_max} devices"
            raise _InvalidFile(LineError(line, "", "too_many_lines", message))
        errors_before = len(self.errors)
        draft = self._read_device(line, cells, self._columns)
        if len(self.errors) == errors_before:
            self.lines.append(ImportLine(line, draft))

    def require_header(self) -> None:
        if self._columns is None:
            self._read_header(1, [])

    def _read_header(self, line: int, cells: Sequence[str]) -> list[str | None]:
        columns: list[str | None] = []
        for cell in cells:
            spelling = "".join(each for each in cell.casefold() if each not in " _-\t")
            name = _BY_SPELLING.get(spelling)
            if name in columns and name is not None:
                message = "is there twice"
                raise _InvalidFile(LineError(line, name, "duplicate_column", message))
            if name is None and cell.strip():
                self.ignored_columns.append(cell.strip()[:64])
            columns.append(name)
        if "original_id" not in columns:
            message = "is no column of the file"
            raise _InvalidFile(LineError(line, "original_id", "missing_column", message))
        return columns

    def _read_device(
        self, line: int, cells: Sequence[str], columns: Sequence[str | None]
    ) -> DeviceDraft:
        if any(cells[len(columns) :]):
            message = f"has {len(cells)} cells for {len(columns)} columns"
            self._add_error(line, "", "too_many_cells", message)
        values = dict.fromkeys(_COLUMNS, "")
        for name, cell in zip(columns, cells, strict=False):
            if name is not None:
                values[name] = unescape_cell(cell.strip())
        given_name = values["name"]
        values["name"] = given_name or values["original_id"]
        for name, default in self._defaults.items():
            values[name] = values[name] or default
        for name, text in values.items():
            self._check(line, name, text)
        return DeviceDraft(
            given_name,
            values["type"],
            values["original_id"],
            values["network"],
            self._read_tags(line, values["tags"]),
            values["configuration"] or None,
        )

    def _check(self, line: int, name: str, text: str) -> None:
        most = _LENGTHS_MAX.get(name)
        if "\x00" in text:
            self._add_error(line, name, "invalid_character", "must not contain NUL")
        elif not text and name in _REQUIRED:
            self._add_error(line, name, "required", "is required")
        elif most is not None and len(text) > most:
            self._add_error(line, name, "too_long", f"must have at most {most} characters")

    def _read_tags(self, line: int, cell: str) -> list[str]:
        tags = parse_tags(cell)
        most, longest = self._limits.tags_max, self._limits.tag_characters_max
        if len(tags) > most:
            self._add_error(line, "tags", "too_many_tags", f"must have at most {most} tags")
        elif any(len(tag) > longest for tag in tags):
            message = f"has a tag of more than {longest} characters"
            self._add_error(line, "tags", "too_long", message)
        return tags

    def _add_error(self, line: int, column: str, code: str, message: str) -> None:
        self.errors.append(LineError(line, column, code, message))


def _max_length(annotated: Any) -> int | None:
    bounds = [each.max_length for each in typing.get_args(annotated) if isinstance(each, Meta)]
    return bounds[0] if bounds else None


_LENGTHS_MAX = {name: _max_length(each) for name, each in _COLUMNS.items()}
_WIRE_NAMES = {"original_id": "originalId"}
_REQUIRED = ("name", "original_id", "type", "network")

ROUTES = [
    Route(
        "POST",
        "/devices/import",
        import_devices,
        "device.create",
        object_rule="in groupId",
        tag="Devices",
        conflicts="An original id is taken in its network.",
        raw_body=RawBody(("text/csv",), _EXAMPLE, description="A CSV file in UTF-8 with a header."),
        in_turns=True,
        is_bulk=True,
        is_addition=True,
    )
]
