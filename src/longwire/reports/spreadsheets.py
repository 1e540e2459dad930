"""Spreadsheets in the format of Excel, from the rows of a CSV file.

One sheet in Office Open XML, with nothing else: a library for all of the format would be larger
than what the core may still grow. A cell is a number where the CSV file has one as this service
writes it, and a date where its column has dates; every other one is a text, which nothing runs as a
formula.
"""

import csv
import html
import io
import re
import zipfile
import zoneinfo
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from longwire.errors import TooLarge

# A sheet of Excel has no more rows, and a cell no more characters; it counts in UTF-16.
ROWS_MAX = 1_048_576
CELL_CHARACTERS_MAX = 32_767
CUT = " […] (the rest is in CSV only: a cell of a spreadsheet has no room for it)"
# The body of a record may be in one cell; Python's limit is a 64th of this.
csv.field_size_limit(8 * 1024 * 1024)
# Of whole numbers, such as ids: Excel keeps no more.
DIGITS_MAX = 15
_DATE_COLUMNS = ("timestamp", "At", "Date")
_DAY_ZERO = datetime(1899, 12, 30, tzinfo=UTC)
_DAY_S = 86_400
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_BOLD, _DATE = 1, 2  # styles of cells, below

_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_FORMATS = "http://schemas.openxmlformats.org"
_MAIN = f'xmlns="{_FORMATS}/spreadsheetml/2006/main"'
_OF_PACKAGE = f"{_FORMATS}/package/2006"
_OF_DOCUMENT = f"{_FORMATS}/officeDocument/2006/relationships"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_OF_PACKAGE}/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_OF_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OF_DOCUMENT}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_OF_DOCUMENT}"><sheets>'
    '<sheet name="Report" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_OF_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OF_DOCUMENT}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_OF_DOCUMENT}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet {_MAIN}><numFmts count="1">'
    '<numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts>'
    '<fonts count="2"><font/><font><b/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="3"><xf xfId="0"/><xf xfId="0" fontId="1" applyFont="1"/>'
    '<xf xfId="0" numFmtId="164" applyNumberFormat="1"/></cellXfs><cellStyles count="1">'
    '<cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
}
_BEFORE_ROWS = (
    f'<worksheet {_MAIN}><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" '
    'topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
    '<cols><col min="1" max="16384" width="22" customWidth="1"/></cols><sheetData>'
)
_AFTER_ROWS = "</sheetData></worksheet>"

Unescape = Callable[[str], str]


def build_spreadsheet(content: bytes, zone: zoneinfo.ZoneInfo, unescape: Unescape) -> bytes:
    """A file with one sheet; a row at a time, so that it takes no more memory than its result."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in _PARTS.items():
            book.writestr(name, _XML + text)
        with book.open("xl/worksheets/sheet1.xml", "w") as sheet:
            sheet.write((_XML + _BEFORE_ROWS).encode())
            for row in _list_rows(content, zone, unescape):
                sheet.write(row.encode())
            sheet.write(_AFTER_ROWS.encode())
    return target.getvalue()


def _list_rows(content: bytes, zone: zoneinfo.ZoneInfo, unescape: Unescape) -> Iterator[str]:
    rows = csv.reader(io.StringIO(content.decode(), newline=""))
    header = next(rows, [])
    yield _build_row(_build_text(name, _BOLD) for name in header)
    zones = [zone if name.endswith(_DATE_COLUMNS) else None for name in header]
    for number, row in enumerate(rows, 2):
        if number > ROWS_MAX:
            raise TooLarge("It has more rows than a sheet of a spreadsheet can have.")
        yield _build_row(
            _build_cell(cell, zones[column], unescape) for column, cell in enumerate(row)
        )


def _build_row(cells: Iterator[str]) -> str:
    return f"<row>{''.join(cells)}</row>"


def _build_cell(cell: str, zone: zoneinfo.ZoneInfo | None, unescape: Unescape) -> str:
    if not cell:
        return "<c/>"
    if zone is not None:
        day = _parse_day(cell, zone)
        return _build_text(unescape(cell)) if day is None else f'<c s="{_DATE}"><v>{day}</v></c>'
    if cell[0] in "-0123456789" and _is_number(cell):
        return f"<c><v>{cell}</v></c>"
    return _build_text(unescape(cell))


def _build_text(text: str, style: int = 0) -> str:
    shown = html.escape(_NOT_IN_XML.sub("\ufffd", _cut(text)), quote=False)
    return f'<c t="inlineStr" s="{style}"><is><t xml:space="preserve">{shown}</t></is></c>'


def _cut(text: str) -> str:
    """What a cell has room for, which says so if that is not all."""
    units = text.encode("utf-16-le", "replace")
    if len(units) <= 2 * CELL_CHARACTERS_MAX:
        return text
    return units[: 2 * (CELL_CHARACTERS_MAX - len(CUT))].decode("utf-16-le", "ignore") + CUT


def _parse_day(cell: str, zone: zoneinfo.ZoneInfo) -> float | None:
    """A date as days since the one that Excel counts from; None if it is none that it knows."""
    try:
        local = datetime.fromisoformat(cell).astimezone(zone).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return (local - _DAY_ZERO).total_seconds() / _DAY_S if local.year >= 1900 else None


def _is_number(cell: str) -> bool:
    """Whether it is spelled as a number is written: 007 is a name."""
    try:
        written = repr(float(cell))
    except ValueError:
        return False
    is_exact = "." in cell or len(cell) <= DIGITS_MAX
    return is_exact and cell in (written, written.removesuffix(".0"))
