"""Writes manifest.json beside the built files: what they are, and what they were built from.

Each source and each output is listed with its SHA-256, so that a test without Node.js sees when
one of them was changed and the console was not built again.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

CONSOLE = Path(__file__).parents[1]
OUTPUT = CONSOLE.parent / "src/longwire/web/console"
NAME = "manifest.json"

Digests = dict[str, str]


def build_manifest(sources: Path = CONSOLE, output: Path = OUTPUT) -> dict[str, Digests]:
    ignored = {line.strip("/") for line in (sources / ".gitignore").read_text().splitlines()}
    return {
        "sources": _digest_files(sources, ignored),
        "outputs": _digest_files(output, {NAME}),
    }


def read_manifest(output: Path = OUTPUT) -> dict[str, Digests]:
    manifest: dict[str, Digests] = json.loads((output / NAME).read_text())
    return manifest


def _digest_files(folder: Path, ignored: set[str]) -> Digests:
    return {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in sorted(_list_files(folder, ignored))
    }


def _list_files(folder: Path, ignored: set[str]) -> Iterator[str]:
    for path, folders, names in os.walk(folder):
        below = Path(path).relative_to(folder)
        folders[:] = [
            each
            for each in folders
            if each != "__pycache__" and (below / each).as_posix() not in ignored
        ]
        yield from (name for each in names if (name := (below / each).as_posix()) not in ignored)


def main() -> None:
    (OUTPUT / NAME).write_text(json.dumps(build_manifest(), indent=1) + "\n")


if __name__ == "__main__":
    main()
