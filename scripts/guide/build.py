"""Builds the site: stages the pages, adds what is generated, and hands them to the site generator.

The pages in docs/ are written to be read in the repository, too. What a site needs beyond that is
done to the staged copies: links to files that are no pages become text, Mermaid blocks become
pictures, and the pages that only the code can write are added.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.guide.diagrams import replace_diagrams
from scripts.guide.operations import write_operations

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONFIG = ROOT / "zensical.toml"
SITE = ROOT / "src/longwire/web/guide"
# The pages of the repository itself; on the site they are below "Project".
PROJECT = ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY")
# Of the theme: its other look, and lists of pages for search engines.
UNUSED = ("assets/stylesheets/classic", "sitemap.xml", "objects.inv", "404.html")

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
# The theme's search puts its styles into an element, which the policy of our pages does not allow;
# a sheet that a script makes is allowed.
_STYLE_ELEMENT = re.compile(r'(\w+)\.appendChild\(\w+\("style",\{\},(\w+)\.toString\(\)\)\)')
_STYLE_SHEET = r"(s=>(s.replaceSync(\2.toString()),\1.adoptedStyleSheets=[s]))(new CSSStyleSheet)"
# A name at the beginning of a cell, such as a setting or a metric.
_NAME = re.compile(r"<td><code>([\w.]+_[\w.]+)</code>")
_OPTION = re.compile(r"<code>(--[\w-]+)</code>")
_PAGE = re.compile(r'"([\w./-]+\.md)"')
_PATTERN = re.compile(r'"([\w./-]+/\*\.md)"')
_BLOCK = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


class BuildError(Exception):
    """The generator found a broken link, or something else that it warns of."""


def build(site: Path) -> int:
    """Build the site into a folder, which is replaced; return the number of pages."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        stage(work / "docs")
        (work / CONFIG.name).write_text(expand_patterns(CONFIG.read_text(), work / "docs"))
        run_generator(work)
        built = work / "site"
        for name in UNUSED:
            path = built / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        adopt_styles(built)
        break_names(built)
        shutil.rmtree(site, ignore_errors=True)
        # Last, since a service that runs takes the site as complete when it is there.
        start = (built / "index.html").rename(work / "index.html")
        shutil.copytree(built, site)
        shutil.copyfile(start, site / "index.html")
    return sum(1 for _ in site.rglob("*.html"))


def expand_patterns(config: str, docs: Path) -> str:
    """Replace `"folder/*.md"` in the navigation by the pages there that it does not name."""
    listed = set(_PAGE.findall(config))

    def expand(pattern: re.Match[str]) -> str:
        found = sorted(path.relative_to(docs).as_posix() for path in docs.glob(pattern[1]))
        return ", ".join(f'"{name}"' for name in found if name not in listed)

    return _PATTERN.sub(expand, config)


def run_generator(folder: Path) -> None:
    # Its report is drawn with colours, a character at a time; NO_COLOR is respected.
    result = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    report = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout + result.stderr)
    if result.returncode != 0 or not (folder / "site/index.html").is_file():
        raise BuildError(report)


def adopt_styles(site: Path) -> None:
    (bundle,) = site.glob("assets/javascripts/bundle.*.js")
    script, count = _STYLE_ELEMENT.subn(_STYLE_SHEET, bundle.read_text())
    if count != 1:
        raise BuildError("The theme's search has changed; see what it does with its styles.")
    bundle.write_text(script)


def break_names(site: Path) -> None:
    """Break long names in tables after an underscore, and options not after their dashes."""
    for page in site.rglob("*.html"):
        text = _NAME.sub(lambda cell: cell[0].replace("_", "_<wbr>"), page.read_text())
        page.write_text(_OPTION.sub(r'<code class="option">\1</code>', text))


def stage(folder: Path) -> None:
    """Copy the pages and pictures, made ready for the generator."""
    places = list_places()
    for source, name in places.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            text = rewrite_links(source, name, places)
            target.write_text(replace_diagrams(text, target.parent))
        else:
            shutil.copyfile(source, target)
    write_operations(folder / "reference/operations")


def list_places() -> dict[Path, str]:
    """Which file of the repository is which one on the site."""
    places = {
        path: path.relative_to(DOCS).as_posix()
        for path in sorted(DOCS.rglob("*"))
        if path.is_file()
    }
    for name in PROJECT:
        if (ROOT / f"{name}.md").is_file():
            places[ROOT / f"{name}.md"] = f"project/{name.lower()}.md"
    return places


def rewrite_links(source: Path, name: str, places: dict[Path, str]) -> str:
    """The text of a page with its links as they are on the site."""

    def rewrite(link: re.Match[str]) -> str:
        mark, text, address = link.groups()
        path, _, anchor = address.partition("#")
        if "://" in address or address.startswith("mailto:") or not path:
            return link[0]
        target = Path(os.path.normpath(source.parent / path))
        if target == ROOT / "README.md":
            target, anchor = DOCS / "index.md", ""
        if target not in places:
            return link[0] if not target.exists() else text
        relative = os.path.relpath(places[target], Path(name).parent)
        return f"{mark}[{text}]({relative}{'#' if anchor else ''}{anchor})"

    parts = _BLOCK.split(source.read_text())
    return "".join(each if each.startswith("```") else _LINK.sub(rewrite, each) for each in parts)
