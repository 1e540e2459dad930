"""How large an installation without extras is, by the files of what is installed here."""

import tomllib
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
# Bytes of bytecode for each byte of source, measured with all of the core.
COMPILED_PER_SOURCE = 1.24


def list_core() -> set[str]:
    """The names of what `pip install .` brings, without ourselves."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return _list_required(project["dependencies"]) - {"longwire-client"}


def _list_required(requirements: list[str]) -> set[str]:
    """The names of what has to be installed for these, and for what they need in turn."""
    names: set[str] = set()
    asked = [Requirement(each) for each in requirements]
    while asked:
        each = asked.pop()
        name = canonicalize_name(each.name)
        if name not in names and (each.marker is None or each.marker.evaluate({"extra": ""})):
            names.add(name)
            asked += map(Requirement, distribution(name).requires or [])
    return names


def measure_core() -> tuple[float, float]:
    """The bytes of its files, and of the bytecode that Python makes of them."""
    sizes = [
        (str(each), each.size or 0)
        for name in list_core()
        for each in distribution(name).files or []
        if each.suffix != ".pyc"
    ]
    for folder in (ROOT / "src/longwire", ROOT / "clients/python/src"):
        sizes += [
            (path.name, path.stat().st_size)
            for path in folder.rglob("*")
            if path.is_file() and not {"__pycache__", "guide"} & set(path.parts)
        ]
    source = sum(size for name, size in sizes if name.endswith(".py"))
    return float(sum(size for _, size in sizes)), source * COMPILED_PER_SOURCE
