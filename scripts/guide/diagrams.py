"""Mermaid blocks become pictures, one for each theme, without a browser.

In the repository they are drawn by whoever shows the page. The site shows pictures instead: drawing
in the browser would need a script of five megabytes, and styles that its policy does not allow.
"""

import hashlib
import json
import re
from pathlib import Path

import merman

THEMES = {"light": "neutral", "dark": "dark"}

_DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"^\s*accTitle: (.+)$", re.MULTILINE)
_WIDTH = re.compile(r'<svg id="merman" width="100%"')
_BOX = re.compile(r'viewBox="\S+ \S+ (\S+) (\S+)"')


def replace_diagrams(text: str, folder: Path) -> str:
    """Write the pictures of a page into its folder, and refer to them."""

    def replace(block: re.Match[str]) -> str:
        source = block[1]
        title = _TITLE.search(source)
        assert title, f"a diagram has no accTitle, which is its alternative text:\n{source}"
        name = f"diagram-{hashlib.sha256(source.encode()).hexdigest()[:8]}"
        for theme in THEMES:
            (folder / f"{name}-{theme}.svg").write_text(draw(source, theme))
        return "\n".join(
            f"![{title[1]}]({name}-{theme}.svg#only-{theme}){{ .diagram }}" for theme in THEMES
        )

    return _DIAGRAM.sub(replace, text)


def draw(source: str, theme: str) -> str:
    """A picture that needs neither a script nor HTML inside."""
    config = {
        "theme": THEMES[theme],
        "fontFamily": "system-ui, sans-serif",
        "htmlLabels": False,
        "flowchart": {"htmlLabels": False},
    }
    svg = merman.Merman().render_svg(f"%%{{init: {json.dumps(config)}}}%%\n{source}", None)
    box = _BOX.search(svg)
    assert box, "the picture has no size"
    # A width of 100 % would make small diagrams as wide as the page.
    width, height = (round(float(each)) for each in box.groups())
    return _WIDTH.sub(f'<svg id="merman" width="{width}" height="{height}"', svg, count=1)
