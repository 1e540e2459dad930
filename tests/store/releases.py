"""The release before this one: its code and its tables, from the newest tag of the repository.

Before the first release there is none: then this one stands for it.
"""

import importlib.util
import io
import subprocess
import tarfile
from functools import cache
from pathlib import Path
from types import ModuleType

import sqlalchemy as sa

from longwire.store import schema

ROOT = Path(__file__).parent.parent.parent
SCHEMA = "src/longwire/store/schema.py"


def run_git(*arguments: str) -> bytes:
    """What a command of git prints; nothing if it fails, as it does without a repository."""
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False).stdout
    except FileNotFoundError:
        return b""


@cache
def find_previous_tag() -> str | None:
    """The newest tag of a release before the state that is tested."""
    found = run_git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD~1")
    return found.decode().strip() or None


def unpack(revision: str, folder: Path) -> Path:
    """The code of a revision, in a folder; the folder to import it from."""
    with tarfile.open(fileobj=io.BytesIO(run_git("archive", revision, "src"))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def load_tables(revision: str, folder: Path) -> sa.MetaData:
    """The tables that the code of a revision uses."""
    path = folder / "schema.py"
    path.write_bytes(run_git("show", f"{revision}:{SCHEMA}"))
    spec = importlib.util.spec_from_file_location("schema_of_a_release", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return _tables_of(module)


def _tables_of(module: ModuleType) -> sa.MetaData:
    tables = module.metadata
    assert isinstance(tables, sa.MetaData)
    return tables


def previous_tables(folder: Path) -> sa.MetaData:
    tag = find_previous_tag()
    return schema.metadata if tag is None else load_tables(tag, folder)


def list_steps(revision: str) -> list[str]:
    """The migration steps that a revision has."""
    folder = "src/longwire/store/migrations/versions/"
    names = run_git("ls-tree", "--name-only", revision, folder).decode().split()
    return sorted(name[len(folder) + 1 :][:4] for name in names if name.startswith(f"{folder}v"))
