"""How much a browser loads: budgets for what the console's files weigh, compressed."""

import re
from collections.abc import Mapping

import pytest

from longwire.web import console_page
from longwire.web.console_page import load_console
from longwire.web.static_files import StaticFile
from tests.chromium import require_console

KB = 1_000
FIRST_SCRIPTS_MAX = 190 * KB  # 20 of them are words, in three languages
CHUNK_MAX = 60 * KB  # that of the map is the largest
STYLE_MAX = 15 * KB
ALL_MAX = 3_200 * KB  # not compressed; 400 of it are words, 1,100 of it are the map and its names
MAP_MAX = 600 * KB  # the built-in map, compressed

_IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*["'`]\./([\w.-]+\.js)["'`]""")
_SCRIPT = re.compile(r"/assets/([\w.-]+\.js)")


@pytest.fixture(scope="module")
def files() -> Mapping[str, StaticFile]:
    require_console()
    return load_console(console_page.FOLDER).files


def weigh(file: StaticFile) -> int:
    return len(file.gzipped or file.content)


def list_first_scripts(files: Mapping[str, StaticFile]) -> set[str]:
    """Those that the page names, and all that they import at once."""
    found: set[str] = set()
    waiting = {f"assets/{name}" for name in _SCRIPT.findall(files["index.html"].content.decode())}
    while waiting:
        name = waiting.pop()
        found.add(name)
        imported = {f"assets/{each}" for each in _IMPORT.findall(files[name].content.decode())}
        waiting |= imported - found
    return found


def test_the_first_page_is_small(files: Mapping[str, StaticFile]) -> None:
    first = list_first_scripts(files)
    assert "assets/index.js" in first
    assert sum(weigh(files[name]) for name in first) <= FIRST_SCRIPTS_MAX


def test_what_is_loaded_later_is_small(files: Mapping[str, StaticFile]) -> None:
    later = files.keys() - list_first_scripts(files)
    scripts = {name: weigh(files[name]) for name in later if name.endswith(".js")}
    assert {name: size for name, size in scripts.items() if size > CHUNK_MAX} == {}
    styles = {name: weigh(each) for name, each in files.items() if name.endswith(".css")}
    assert sum(styles.values()) <= STYLE_MAX


def test_the_package_stays_small(files: Mapping[str, StaticFile]) -> None:
    assert sum(len(each.content) for each in files.values()) <= ALL_MAX
    ground = {name: weigh(each) for name, each in files.items() if name.startswith("basemap/")}
    assert len(ground) == 3
    assert sum(ground.values()) <= MAP_MAX
