"""Writes manifest.json beside the built files: what they are, and what they were built from.

Each source and each output is listed with its SHA-256, and so is what the API takes and answers
with, so that a test without Node.js sees when one of them was changed and the console was not built
again.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CONSOLE = Path(__file__).parents[1]
OUTPUT = CONSOLE.parent / "src/longwire/web/console"
OPENAPI = CONSOLE / "openapi.json"
NAME = "manifest.json"

Digests = dict[str, str]

# What the types of the client are made from, without what is only written for people.
_TYPED = ("paths", "components")
_PROSE = {"title", "summary", "description", "example", "examples"}


def build_manifest(sources: Path = CONSOLE, output: Path = OUTPUT) -> dict[str, Digests]:
    """What is in both folders."""
    ignored = {line.strip("/") for line in (sources / ".gitignore").read_text().splitlines()}
    return {
        "sources": _digest_files(sources, ignored),
        "outputs": _digest_files(output, {NAME}),
    }


def digest_api(document: dict[str, Any]) -> Digests:
    """One digest for each part of an OpenAPI document; another version or wording changes none."""
    typed = {part: _leave_out_prose(document[part]) for part in _TYPED}
    return {part: _digest(json.dumps(typed[part], sort_keys=True).encode()) for part in _TYPED}


def read_manifest(output: Path = OUTPUT) -> dict[str, Digests]:
    manifest: dict[str, Digests] = json.loads((output / NAME).read_text())
    return manifest


def _leave_out_prose(part: Any, has_names: bool = False) -> Any:
    """`has_names`: the keys of this object are names of members, and may be any word."""
    if isinstance(part, list):
        return [_leave_out_prose(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _leave_out_prose(value, has_names=key == "properties" and not has_names)
        for key, value in part.items()
        if has_names or key not in _PROSE
    }


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digest_files(folder: Path, ignored: set[str]) -> Digests:
    return {
        name: _digest((folder / name).read_bytes()) for name in sorted(_list_files(folder, ignored))
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
    if not OPENAPI.exists():
        sys.exit(f"{OPENAPI.name} is missing; `make console` writes it")
    api = {"api": digest_api(json.loads(OPENAPI.read_text()))}
    (OUTPUT / NAME).write_text(json.dumps(api | build_manifest(), indent=1) + "\n")


if __name__ == "__main__":
    main()
