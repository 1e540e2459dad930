"""Runs the commands of the documents as they are printed.

Blocks marked `sh` are executed in order and in one shell; a block marked `text` is the expected
output, where `…` stands for anything within a line. Blocks marked `console` are not executed: each
has a reason above it that readers see, or starts the service of a tutorial.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

from tests.ports import free_port
from tests.preloaded import launcher
from tests.process import environment

ROOT = Path(__file__).parents[2]
BETWEEN = "=== the next block ==="
SERVICE = "127.0.0.1:8080"
# What the documents listen on; the tests take free ports instead.
PORTS = ("8090", "8085", "8025", "1883")

PATIENCE_S = 240
SYSTEM_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin")

Steps = list[tuple[str, str]]


def read_steps(document: str, heading: str | None = None) -> Steps:
    """The `sh` blocks of a document or a section, each with its expected output."""
    text = (ROOT / document).read_text()
    if heading:
        found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
        assert found, f"{document} has no section {heading}"
        text = found[1]
    steps: Steps = []
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        if kind == "sh":
            steps.append((block, ""))
        elif kind == "text" and steps:
            steps[-1] = (steps[-1][0], block)
    assert steps
    return steps


def choose_ports() -> dict[str, str]:
    """A free port for each that the documents name."""
    chosen: set[int] = set()
    while len(chosen) < len(PORTS):
        chosen.add(free_port())
    return dict(zip(PORTS, map(str, chosen), strict=True))


def replace_addresses(text: str, ports: dict[str, str], url: str | None = None) -> str:
    if url is not None:
        text = text.replace(SERVICE, url.removeprefix("http://"))
    for name, port in ports.items():
        text = re.sub(rf"\b{name}\b", port, text)
    return text


# What `longwire` is for the shells: a process that has loaded the service runs the command. A
# service is started as usual: it is to end with its shell.
_COMMAND = """\
#!{python} -IS
import json, os, socket, sys
if sys.argv[1] == "serve":
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as commands:
    commands.connect({address!r})
    order = {{"arguments": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}}
    socket.send_fds(commands, [json.dumps(order).encode()], [1, 2])
    commands.shutdown(socket.SHUT_WR)
    sys.exit(int(commands.recv(8)))
"""


@contextlib.contextmanager
def make_environment(folder: Path) -> Iterator[None]:
    """Make a `.venv` like that of a clone, whose `longwire` need not be loaded for each command."""
    own, here = Path(sys.prefix), folder / ".venv"
    (here / "bin").mkdir(parents=True)
    for path in (*own.iterdir(), *(own / "bin").iterdir()):
        place = here / path.relative_to(own)
        if place != here / "bin" and path != own / "bin/longwire":
            place.symlink_to(path)
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as listener:
        address = f"{short}/commands"  # at most a hundred characters
        command = here / "bin/longwire"
        real = str(own / "bin/longwire")
        command.write_text(_COMMAND.format(python=sys.executable, real=real, address=address))
        command.chmod(0o755)
        listener.bind(address)
        listener.listen()
        threading.Thread(target=serve_commands, args=(listener,), daemon=True).start()
        yield
        listener.shutdown(socket.SHUT_RDWR)


def serve_commands(listener: socket.socket) -> None:
    """Run the commands of the shells, until the listener is shut down."""
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=run_command, args=(connection,), daemon=True).start()


def run_command(connection: socket.socket) -> None:
    with connection:
        data, descriptors, _, _ = socket.recv_fds(connection, 65_536, 2)
        while part := connection.recv(65_536):
            data += part
        with os.fdopen(descriptors[0], "wb") as out, os.fdopen(descriptors[1], "wb") as err:
            running = launcher().start(**json.loads(data), stdout=out, stderr=err)
        connection.send(str(running.wait(PATIENCE_S)).encode())


class Shell:
    """One shell in which blocks are run, as somebody pastes them."""

    def __init__(self, folder: Path, program: str = "sh") -> None:
        own = (folder / "bin", folder / ".venv/bin", Path(sys.executable).parent)
        folders = (*own, *SYSTEM_FOLDERS)
        if shutil.which("curl") is None:
            install_curl_stub(folder / "bin")
        self.process = subprocess.Popen(
            [program, "-eu"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**environment(), "PATH": ":".join(map(str, folders))},
            text=True,
            start_new_session=True,
        )
        self._watchdog = threading.Timer(PATIENCE_S, self._kill)
        self._watchdog.start()

    def run(self, steps: Steps) -> None:
        """Run blocks, and compare their output; the shell exits at the first failure."""
        assert self.process.stdin is not None and self.process.stdout is not None
        for step, printed in steps:
            self.process.stdin.write(f"{step}\necho '{BETWEEN}'\n")
            self.process.stdin.flush()
            output = ""
            for line in self.process.stdout:
                if line == f"{BETWEEN}\n":
                    break
                output += line
            else:
                raise AssertionError(f"{step}\nfailed, and printed\n{output}")
            # Without DOTALL: `…` does not match a line break.
            pattern = ".*".join(re.escape(part) for part in printed.split("…"))
            matches = re.fullmatch(pattern, output)
            assert matches, f"{step}\nprinted\n{output}\nexpected\n{printed}"

    def close(self) -> None:
        self._watchdog.cancel()
        self._kill()
        self.process.communicate()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # with its background processes


def run_blocks(steps: Steps, folder: Path, program: str = "sh") -> None:
    shell = Shell(folder, program)
    try:
        shell.run(steps)
    finally:
        shell.close()


def install_curl_stub(folder: Path) -> None:
    """The options of curl that the documents use, for machines without curl."""
    program = """\
        #!/usr/bin/env python3
        import argparse, base64, sys, urllib.error, urllib.request

        parser = argparse.ArgumentParser()
        parser.add_argument("url")
        parser.add_argument("-s", action="store_true")
        parser.add_argument("-S", action="store_true")
        parser.add_argument("-X", dest="method")
        parser.add_argument("-H", dest="headers", action="append", default=[])
        parser.add_argument("-d", "--data-binary", dest="data")
        parser.add_argument("-u", dest="user")
        parser.add_argument("-o", dest="output")
        given = parser.parse_args()
        headers = dict(each.split(": ", 1) for each in given.headers)
        if given.user:
            headers["Authorization"] = "Basic " + base64.b64encode(given.user.encode()).decode()
        data = None if given.data is None else given.data.encode()
        if data is not None and data.startswith(b"@"):
            data = open(data[1:], "rb").read()
        request = urllib.request.Request(given.url, data, headers, method=given.method)
        try:
            response = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            response = error
        except urllib.error.URLError:
            sys.exit(7)
        text = response.read()
        open(given.output, "wb").write(text) if given.output else sys.stdout.write(text.decode())
    """
    folder.mkdir(exist_ok=True)
    (folder / "curl").write_text(dedent(program))
    (folder / "curl").chmod(0o755)
