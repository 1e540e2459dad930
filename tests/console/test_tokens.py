"""The contrast of the console's colours (WCAG 2.2): 4.5 for text, 3 for lines and marks."""

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "console/src"
TOKENS = SOURCES / "tokens.css"
TEXT, GRAPHIC = 4.5, 3.0

GROUNDS = ("surface", "ground", "raised", "sunken")
STATES = ("good", "warn", "bad", "idle")
KINDS = ("data", "event", "geoloc", "telemetry")

# What is drawn on what. Text, unless it says otherwise.
PAIRS: list[tuple[str, str, float]] = [
    *((ink, ground, TEXT) for ink in ("ink", "ink-2", "ink-3") for ground in GROUNDS),
    *(("accent", ground, TEXT) for ground in ("surface", "ground", "raised", "accent-soft")),
    ("accent-ink", "accent", TEXT),
    *((ink, "accent-soft", TEXT) for ink in ("ink", "ink-2")),
    *((state, ground, TEXT) for state in STATES for ground in ("surface", f"{state}-soft")),
    *(("bad", ground, TEXT) for ground in ("ground", "raised")),
    # Differences: what was, and what is.
    ("ink-2", "bad-soft", TEXT),
    ("ink", "good-soft", TEXT),
    ("ink", "warn-soft", TEXT),
    *((f"kind-{kind}", "surface", TEXT) for kind in KINDS),
    *((f"series-{number}", "surface", GRAPHIC) for number in range(1, 9)),
    *(("line-strong", ground, GRAPHIC) for ground in ("surface", "raised")),
    *((state, "map-land", GRAPHIC) for state in ("accent", "good", "bad")),
    ("ink-2", "map-land", TEXT),
]


def read_theme(name: str) -> dict[str, str]:
    block = re.search(rf'\[data-theme="{name}"\] {{(.*?)\n}}', TOKENS.read_text(), re.DOTALL)
    assert block is not None
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block[1]))


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_drawn_can_be_read(theme: str) -> None:
    tokens = read_theme(theme)
    poor = {
        f"{front} on {back}": round(contrast(tokens[front], tokens[back]), 2)
        for front, back, least in PAIRS
        if contrast(tokens[front], tokens[back]) < least
    }
    assert poor == {}


def test_both_themes_have_the_same_colours() -> None:
    assert read_theme("light").keys() == read_theme("dark").keys()


def test_colours_are_only_named_in_one_place() -> None:
    """A style with a colour of its own would be right in one theme at most."""
    own = re.compile(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(")
    styles = [path for path in SOURCES.rglob("*.css") if path != TOKENS]
    found = {path.name: own.findall(path.read_text()) for path in styles}
    assert {name: colours for name, colours in found.items() if colours} == {}


def test_every_token_that_a_style_uses_exists() -> None:
    known = set(re.findall(r"--([\w-]+):", TOKENS.read_text()))
    used = {
        (path.name, name)
        for path in SOURCES.rglob("*.css")
        for name in re.findall(r"var\(--([\w-]+)\)", path.read_text())
        if name not in known and f"--{name}:" not in path.read_text()
    }
    assert used == set()
