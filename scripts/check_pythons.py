"""Checks that longwire starts on every Python of this machine that it is made for.

For each of them, a fresh clone is installed as a newcomer does it, started, and asked to store a
record and to list it. Only what is committed is checked.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
OLDEST, NEWEST = 11, 14
READY_S = 120
_VERSION = "import sys; print(sys.version_info.minor, sys.version.split()[0])"


def main() -> None:
    pythons = find_pythons()
    for minor in range(OLDEST, NEWEST + 1):
        if minor not in pythons:
            print(f"Python 3.{minor}: not on this machine, so it was not checked.", flush=True)
    failed = [version for version, python in pythons.values() if not works_on(version, python)]
    if failed:
        sys.exit(f"longwire does not work on Python {', '.join(failed)}.")


def find_pythons() -> dict[int, tuple[str, str]]:
    """By minor version, the exact one and its path: of PATH, of pyenv and of uv."""
    found: dict[int, tuple[str, str]] = {}
    for minor in range(OLDEST, NEWEST + 1):
        versions = ((_version(each, minor), each) for each in _candidates(f"python3.{minor}"))
        working = next(((version, each) for version, each in versions if version), None)
        if working:
            found[minor] = working
    return found


def _version(python: str, minor: int) -> str:
    """Of an interpreter that starts and is a Python 3 of that minor version; else empty."""
    try:
        actual, version = _run([python, "-c", _VERSION]).split()
    except (OSError, ValueError, subprocess.CalledProcessError):
        return ""
    return version if int(actual) == minor else ""


def _candidates(name: str) -> Iterator[str]:
    if on_path := shutil.which(name):
        yield on_path
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob(f"versions/*/bin/{name}"), reverse=True))
    if uv := shutil.which("uv") or shutil.which(ROOT / ".venv/bin/uv"):
        with contextlib.suppress(subprocess.CalledProcessError):
            yield _run([uv, "python", "find", "--no-python-downloads", name.removeprefix("python")])


def works_on(version: str, python: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="longwire-pythons-") as folder:
        try:
            report = _try_out(python, Path(folder))
        except (subprocess.CalledProcessError, RuntimeError) as error:
            output = f"{getattr(error, 'stdout', '')}{getattr(error, 'stderr', '')}".strip()
            print(f"Python {version}: {error}\n{output}", flush=True)
            return False
    print(f"Python {version}: {report}", flush=True)
    return True


def _try_out(python: str, folder: Path) -> str:
    """Install, start, store, list; what was seen."""
    clone = folder / "clone"
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LONGWIRE_") and name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    }
    environment["XDG_CONFIG_HOME"] = str(folder / "config")
    _run(["git", "clone", "--quiet", str(ROOT), str(clone)])
    _run(["make", "-C", str(clone), f"PYTHON={python}", "install"], environment)
    longwire, data = str(clone / ".venv/bin/longwire"), folder / "data"
    port = _free_port()
    command = [longwire, "serve", "--data", str(data), "--port", str(port)]
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)
        try:
            _await_operator_file(process, data / "operator.json", folder / "log")
            return _store_and_list(longwire, data / "operator.json", environment)
        finally:
            process.terminate()
            process.wait()


def _store_and_list(longwire: str, operator: Path, environment: Mapping[str, str]) -> str:
    def command(*arguments: str) -> str:
        return _run([longwire, *arguments], environment)

    command("login", "--operator-file", str(operator))
    group = command("group", "create", "Pythons", "--id")
    device = command(
        *("device", "create", group, "--name", "Meter", "--type", "generic"),
        *("--network", "demo", "--original-id", "1", "--id"),
    )
    timestamp = "2026-03-01T12:00:00Z"
    command("record", "create", device, "--timestamp", timestamp, "--field", 'data={"litres":7}')
    listed = json.loads(command("record", "list", device, "--json"))
    if [(each["timestamp"], each["data"]) for each in listed] != [(timestamp, '{"litres":7}')]:
        raise RuntimeError(f"another record was listed than was stored: {listed}")
    return "installed, started, stored a record and listed it"


def _await_operator_file(process: subprocess.Popen[bytes], path: Path, log: Path) -> None:
    """It is written once the service is ready for the first time."""
    deadline = time.monotonic() + READY_S
    while not path.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the service did not start:\n{log.read_text()}")
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _run(command: list[str], environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
