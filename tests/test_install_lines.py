"""Whatever tells people what to install names nothing that nobody owns on a package index."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
INSTALL = re.compile(
    r"\b(?:pip3?|pipx|uv tool|uv|poetry|npm|pnpm|yarn|bun|deno|cargo|gem|go|brew|apt|apt-get|apk)"
    r"\s+(?:install|add|i|run)\b([^\n;|`]*)"
    r"|\b(?:npx|uvx|bunx)\s+(?!--from \.)([^\n;|`]*)"  # what comes from here
)
# A name, as an index would look it up; no path, no file, no URL.
OURS = re.compile(r"@?longwire(?:[-_/][\w-]+)?(?:\[[\w,{}]*\])?(?:[=<>~@!^].*)?")
# Releases of other projects have their own words for this.
SKIPPED = ("requirements/", "src/longwire/web/console/", "console/package-lock.json")


def list_unowned(text: str) -> Iterator[str]:
    for found in INSTALL.finditer(text):
        for word in (found[1] or found[2] or "").split():
            if OURS.fullmatch(word.strip("\"'(),.:")):
                yield found[0].strip()


@pytest.mark.parametrize(
    "line, is_unowned",
    [
        ("pip install longwire", True),
        ("/opt/longwire/bin/pip install 'longwire[postgres,kafka]'", True),
        ("python -m pip install --upgrade longwire==0.2.0", True),
        ("uv tool install longwire-client", True),
        ("npm install @longwire/client", True),
        ("uvx longwire serve", True),
        ("uvx --from . --with ./clients/python longwire serve", False),
        ("pip install ./clients/python .", False),
        ("pip install '.[postgres]'", False),
        ("pip install dist/longwire-0.2.0-py3-none-any.whl", False),
        ("npm install ./clients/typescript", False),
        ("helm install longwire deploy/helm/longwire", False),
    ],
)
def test_a_package_that_nobody_owns_is_noticed(line: str, is_unowned: bool) -> None:
    assert bool(list(list_unowned(line))) is is_unowned


def test_no_install_line_names_a_package_that_nobody_owns() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("this is not a git repository")
    found = []
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if not name or name.startswith(SKIPPED) or path == Path(__file__) or not path.is_file():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [f"{name}: {line}" for line in list_unowned(text)]
    assert found == []
