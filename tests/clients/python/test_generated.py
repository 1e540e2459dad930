"""What is generated is current, and nothing of the API is forgotten."""

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
CLIENT = ROOT / "clients" / "python"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", CLIENT / "scripts" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_generated_files_are_current(generator: ModuleType) -> None:
    stale = [path.name for path, text in generator.generate().items() if path.read_text() != text]
    assert stale == [], "run clients/python/scripts/generate.py"


def test_every_operation_has_a_method_or_a_reason_for_having_none(generator: ModuleType) -> None:
    surface = tomllib.loads((ROOT / "clients" / "surface.toml").read_text())
    left_out = surface.pop("left_out")
    covered = {
        each if isinstance(each, str) else each["call"]
        for methods in surface.values()
        for each in methods.values()
    }
    operations = {name for name, _ in generator.operations(generator.build_openapi())}
    uncovered = operations - covered

    def is_left_out(name: str) -> bool:
        return any(
            name.startswith(start) or name.partition(" ")[2].startswith(start) for start in left_out
        )

    assert sorted(name for name in uncovered if not is_left_out(name)) == []
    unused = [
        start
        for start in left_out
        if not any(
            name.startswith(start) or name.partition(" ")[2].startswith(start) for name in uncovered
        )
    ]
    assert unused == []
