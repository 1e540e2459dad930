"""A chart as a PNG picture: lines over time, with the numbers of both axes.

Mail programs show PNG and no SVG. Drawn by ourselves, which is a hundredth of what a library for
charts brings along; in twice the size it is shown in, which smooths its lines.
"""

import math
import struct
import zlib
import zoneinfo
from collections.abc import Sequence
from datetime import UTC, datetime

from longwire.clock import DAY, SECOND, Moment

Points = Sequence[tuple[Moment, float]]
Pixel = tuple[int, int, int]

WIDTH, HEIGHT = 720, 300
LINES_MAX = 8  # more look alike
_NUMBER_MAX, _SPREAD_MIN = 1e300, 1e-300  # beyond them, what is between has no number
_SPREAD_PER_VALUE_MIN = 1e-9  # less is a matter of rounding
_SCALE = 2
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 12, 24
_WHITE, _GREY, _TEXT = (255, 255, 255), (222, 226, 230), (73, 80, 87)
_COLOURS: Sequence[Pixel] = (
    *((11, 114, 133), (232, 89, 12), (95, 61, 196), (43, 138, 62)),
    *((201, 42, 42), (24, 100, 171), (166, 30, 77), (102, 60, 0)),
)
# Five rows of three bits each.
_GLYPHS = {
    **{"0": 0o75557, "1": 0o26227, "2": 0o71747, "3": 0o71717, "4": 0o55711, "5": 0o74717},
    **{"6": 0o74757, "7": 0o71111, "8": 0o75757, "9": 0o75717, "-": 0o00700, ".": 0o00002},
    **{":": 0o02020, "e": 0o77747, "+": 0o02720, "k": 0o45655, "M": 0o57555},
}
_GLYPH_SIZE, _GLYPH_ROWS, _GLYPH_COLUMNS = 2 * _SCALE, 5, 3


class _Canvas:
    """Pixels, larger than the picture by the scale."""

    def __init__(self) -> None:
        self.width, self.height = WIDTH * _SCALE, HEIGHT * _SCALE
        self.rows = [bytearray(bytes(_WHITE) * self.width) for _ in range(self.height)]

    def fill(self, x: int, y: int, width: int, height: int, colour: Pixel) -> None:
        begin, end = max(0, x), min(self.width, x + width)
        if begin < end:
            span = bytes(colour) * (end - begin)
            for row in self.rows[max(0, y) : max(0, y + height)]:
                row[begin * 3 : end * 3] = span

    def draw_line(self, ends: tuple[float, float, float, float], colour: Pixel) -> None:
        x0, y0, x1, y1 = ends
        steps = max(1, round(max(abs(x1 - x0), abs(y1 - y0))))
        for step in range(steps + 1):
            x, y = x0 + (x1 - x0) * step / steps, y0 + (y1 - y0) * step / steps
            self.fill(round(x) - 1, round(y) - 1, 3, 3, colour)

    def write(self, x: int, y: int, text: str) -> None:
        for index, character in enumerate(text):
            glyph = _GLYPHS.get(character, 0)
            left = x + index * (_GLYPH_COLUMNS + 1) * _GLYPH_SIZE
            for bit in range(_GLYPH_ROWS * _GLYPH_COLUMNS):
                if glyph >> (_GLYPH_ROWS * _GLYPH_COLUMNS - 1 - bit) & 1:
                    row, column = divmod(bit, _GLYPH_COLUMNS)
                    at = left + column * _GLYPH_SIZE, y + row * _GLYPH_SIZE
                    self.fill(*at, _GLYPH_SIZE, _GLYPH_SIZE, _TEXT)

    def encode(self) -> bytes:
        head = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        data = zlib.compress(b"".join(b"\0" + row for row in self.rows), 6)  # rows without a filter
        parts = (_chunk(b"IHDR", head), _chunk(b"IDAT", data), _chunk(b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def draw_chart(
    lines: Sequence[Points], begin: Moment, end: Moment, zone: zoneinfo.ZoneInfo
) -> bytes | None:
    """The lines of a period; None without any number."""
    values = [value for line in lines for _, value in line if _is_drawn(value)]
    if not values:
        return None
    canvas = _Canvas()
    ticks = _list_ticks(min(values), max(values))
    low, high = ticks[0], ticks[-1]
    left, right = _LEFT * _SCALE, (WIDTH - _RIGHT) * _SCALE
    top, bottom = _TOP * _SCALE, (HEIGHT - _BOTTOM) * _SCALE
    for tick in ticks:
        y = round(bottom - (tick - low) / (high - low) * (bottom - top))
        text = _format_number(tick, ticks[1] - ticks[0])
        canvas.fill(left, y, right - left, _SCALE, _GREY)
        canvas.write(left - 10 - _width_of(text), y - _GLYPH_SIZE * 2, text)
    for at, text in _list_times(begin, end, zone):
        x = round(left + (at - begin) / (end - begin) * (right - left))
        canvas.fill(x, top, _SCALE, bottom - top, _GREY)
        canvas.write(min(x, right - _width_of(text)), bottom + 6 * _SCALE, text)
    for line, colour in zip(lines[:LINES_MAX], _COLOURS, strict=False):
        places = [
            (
                left + (at - begin) / (end - begin) * (right - left),
                bottom - (value - low) / (high - low) * (bottom - top),
            )
            for at, value in line
            if _is_drawn(value)
        ]
        for one, other in zip(places, places[1:] or places, strict=False):
            canvas.draw_line((*one, *other), colour)
    return canvas.encode()


def _is_drawn(value: float) -> bool:
    return abs(value) <= _NUMBER_MAX  # nan is not, either


def _list_ticks(low: float, high: float) -> list[float]:
    """Round numbers, about five, from below the lowest to above the highest value."""
    largest = max(abs(low), abs(high))
    spread = high - low
    if spread <= max(largest * _SPREAD_PER_VALUE_MIN, _SPREAD_MIN):  # as good as constant
        spread = largest if largest > _SPREAD_MIN else 1.0
    power = 10.0 ** math.floor(math.log10(spread / 4))
    step = next((power * each for each in (1, 2, 5) if power * each >= spread / 4), power * 10)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [each * step for each in range(first, max(last, first + 1) + 1)]


def _list_times(begin: Moment, end: Moment, zone: zoneinfo.ZoneInfo) -> list[tuple[Moment, str]]:
    pattern = "%H:%M" if end - begin <= 2 * DAY else "%m-%d"
    parts = 6 if end - begin <= 2 * DAY else 7
    moments = [begin + (end - begin) * each // parts for each in range(parts)]
    local = [datetime.fromtimestamp(each // SECOND, UTC).astimezone(zone) for each in moments]
    return [(at, day.strftime(pattern)) for at, day in zip(moments, local, strict=True)]


def _format_number(value: float, step: float) -> str:
    for limit, sign in ((1e6, "M"), (1e3, "k")):
        if step >= limit:
            return f"{value / limit:g}{sign}"
    return f"{value:.{max(0, -math.floor(math.log10(step)))}f}" if step < 1 else f"{value:g}"


def _width_of(text: str) -> int:
    return len(text) * (_GLYPH_COLUMNS + 1) * _GLYPH_SIZE


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
