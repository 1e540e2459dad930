"""The help of every screen leads to a page of the documents that is there."""

import re
from pathlib import Path

from tests.test_docs import anchors

ROOT = Path(__file__).parents[2]
ROWS = re.compile(r'^  "(/[^"]*)": "([^"]+)",$', re.MULTILINE)
PATHS = re.compile(r'^  path: "([^"]+)"', re.MULTILINE)


def test_every_screen_has_a_page_of_the_documents() -> None:
    rows = dict(ROWS.findall((ROOT / "console/src/frame/help.ts").read_text()))
    assert set(rows) == set(PATHS.findall((ROOT / "console/src/routes.tsx").read_text()))
    for path, target in rows.items():
        page, _, part = target.partition("#")
        source = ROOT / "docs" / f"{page}.md"
        assert source.exists(), f"{path}: there is no {source}"
        assert not part or part in anchors(source.read_text()), f"{path}: no heading {target}"


def test_links_of_the_console_to_the_guide_lead_to_pages() -> None:
    source = (ROOT / "console/src/pages/groups/network-token.tsx").read_text()
    found = re.findall(r'^  \w+: "((?:guides|tutorials)/[^"]+)",$', source, re.MULTILINE)
    assert len(found) == 7
    assert [each for each in found if not (ROOT / "docs" / f"{each}.md").exists()] == []
