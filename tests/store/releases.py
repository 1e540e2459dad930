"""The release before this one: its code and its tables, from the newest tag of the repository.

Before the first release there is none: then this one stands for it.
"""

import importlib
import io
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path

import sqlalchemy as sa

from longwire.store import schema

ROOT = Path(__file__).parent.parent.parent
SCHEMA_FOLDER = "src/longwire/store/schema"
ITS_SCHEMA = "schema_of_a_release"


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


@cache
def find_newest_in_changelog() -> str | None:
    """The commit that gave the newest version its heading in the changelog."""
    found = run_git("log", "-1", "--format=%H", r"-G^## \[[0-9]", "--", "CHANGELOG.md")
    return found.decode().strip() or None


def unpack(revision: str, folder: Path) -> Path:
    """The code of a revision, in a folder; the folder to import it from."""
    with tarfile.open(fileobj=io.BytesIO(run_git("archive", revision, "src"))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def load_tables(revision: str, folder: Path) -> sa.MetaData:
    """The tables that the code of a revision uses.

    Their package has another name here, because the one of this revision is loaded already.
    """
    package = folder / ITS_SCHEMA
    package.mkdir()
    for name in run_git("ls-tree", "--name-only", revision, f"{SCHEMA_FOLDER}/").decode().split():
        source = run_git("show", f"{revision}:{name}").decode()
        (package / Path(name).name).write_text(source.replace(schema.__name__, ITS_SCHEMA))
    sys.path.insert(0, str(folder))
    try:
        tables = importlib.import_module(ITS_SCHEMA).metadata
    finally:
        sys.path.remove(str(folder))
        for name in [each for each in sys.modules if each.partition(".")[0] == ITS_SCHEMA]:
            del sys.modules[name]
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
