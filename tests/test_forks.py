"""What tests/forks.py says of tests that fail, and of a worker that dies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHARING = """
import os
import pytest

@pytest.fixture(scope="module")
def shared():
    return os.getpid()

@pytest.mark.parametrize("number", range(20))
def test_the_same_process(shared, number):
    assert shared == os.getpid()

def test_it_fails():
    print("what it printed")
    assert 1 == 2
"""
DYING = """
import os

def test_it_passes():
    pass

def test_it_dies():
    os._exit(0)
"""
LEAVING = """
import pytest

@pytest.fixture(scope="session")
def left():
    yield
    raise RuntimeError("at the end")

def test_it_leaves_something(left):
    pass
"""
CRASHING = """
import atexit
import os
import signal

def test_its_process_is_killed_at_the_end():
    atexit.register(os.kill, os.getpid(), signal.SIGKILL)
"""


def run(folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    for number, text in enumerate(files):
        (folder / f"test_{number}.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = (sys.executable, "-m", "pytest", "-p", "tests.forks", "--forks", "2", "-c")
    return subprocess.run(
        [*command, folder / "pytest.ini", folder],
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # which take most of the time
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_failures_and_tests_that_were_lost_are_reported(tmp_path: Path) -> None:
    result = run(tmp_path, SHARING, DYING)
    assert result.returncode == 1
    assert "2 failed, 21 passed" in result.stdout
    assert "test_0.py::test_it_fails" in result.stdout
    assert "what it printed" in result.stdout
    assert "the process that was to run it died" in result.stdout


@pytest.mark.slow
def test_what_fails_at_the_end_of_a_worker_is_a_failure(tmp_path: Path) -> None:
    result = run(tmp_path, LEAVING)
    assert result.returncode == 1
    assert "RuntimeError: at the end" in result.stdout


@pytest.mark.slow
def test_a_worker_that_is_killed_after_its_last_test_is_a_failure(tmp_path: Path) -> None:
    result = run(tmp_path, CRASHING)
    assert result.returncode == 1
    assert "1 passed" in result.stdout
    assert "a worker failed at its end" in result.stdout
    assert "-9" in result.stdout
