"""Which interpreter `make` makes .venv with, on machines whose python3 is too old or missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MAKE_VENV = Path(__file__).parent.parent.parent / "requirements/make-venv"
OLD_PYTHON = """#!/bin/sh
case "$1" in
    --version) echo "Python 3.9.2" ;;
    *) exit 1 ;;
esac
"""


def make_venv(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it where only the programs of `folder/bin` and those of the system's shell exist."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for name in ("sh", "mktemp", "rm"):
        if not (programs / name).exists():
            (programs / name).symlink_to(str(shutil.which(name)))
    return subprocess.run(
        [MAKE_VENV, *arguments],
        cwd=folder,
        env={"PATH": str(programs), "HOME": os.environ.get("HOME", str(folder))},
        capture_output=True,
        text=True,
        check=False,
    )


def put_program(folder: Path, name: str, script: str) -> None:
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / name
    program.write_text(script)
    program.chmod(0o755)


def test_an_old_python3_is_said_with_what_to_do_if_there_is_no_other(tmp_path: Path) -> None:
    put_program(tmp_path, "python3", OLD_PYTHON)

    done = make_venv(tmp_path)

    assert done.returncode == 1
    assert "python3 is Python 3.9.2; longwire needs 3.11 or newer." in done.stdout
    assert "make PYTHON=/path/to/python" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_a_missing_python3_is_said_with_what_to_do(tmp_path: Path) -> None:
    done = make_venv(tmp_path)

    assert done.returncode == 1
    assert "python3 is missing" in done.stdout
    assert "Install one, or uv" in done.stderr


def test_a_named_python_that_is_too_old_is_refused(tmp_path: Path) -> None:
    put_program(tmp_path, "python3.9", OLD_PYTHON)

    done = make_venv(tmp_path, str(tmp_path / "bin/python3.9"))

    assert done.returncode == 1
    assert "longwire needs Python 3.11 or newer" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_uv_finds_a_newer_python_where_python3_is_too_old(tmp_path: Path) -> None:
    uv = shutil.which("uv") or shutil.which(Path(sys.executable).parent / "uv")
    if uv is None:
        pytest.skip("uv could not be installed, so it cannot find an interpreter")
    put_program(tmp_path, "python3", OLD_PYTHON)
    (tmp_path / "bin" / "uv").symlink_to(uv)
    version = f"python3.{sys.version_info.minor}"
    interpreter = os.path.realpath(sys.executable)
    put_program(tmp_path, version, f'#!/bin/sh\nexec {interpreter} "$@"\n')

    done = make_venv(tmp_path)

    assert done.returncode == 0, done.stderr
    assert "python3 is Python 3.9.2; longwire needs 3.11 or newer." in done.stdout
    assert "uv made .venv with Python 3." in done.stdout
    run = [tmp_path / ".venv/bin/python", "-c", "import sys; print(sys.version_info >= (3, 11))"]
    assert subprocess.run(run, check=True, capture_output=True, text=True).stdout == "True\n"
