"""The `longwire` command as an operator runs it: a process with flags, signals and an exit code.

For tests that kill the service, limit its resources or read its output; all others use a world,
which is faster.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import httpx
import psutil

from tests.preloaded import RunningCommand, launcher
from tests.socket_client import SocketClient
from tests.waiting import PATIENCE_S, eventually
from tests.world import ok

START_S = PATIENCE_S
STOP_S = 120

COMMAND = (sys.executable, "-m", "longwire")


def environment(**variables: str) -> dict[str, str]:
    """The environment of the test, without settings of the service."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LONGWIRE_")}
    return {**kept, **variables}


def longwire(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    with TemporaryFile() as out, TemporaryFile() as err:
        running = start_command(arguments, cwd, out, err, **variables)
        code = running.wait(timeout=START_S)
        out.seek(0)
        err.seek(0)
        texts = out.read().decode(), err.read().decode()
    return subprocess.CompletedProcess(arguments, code, *texts)


def longwire_from_the_shell(
    *arguments: str, cwd: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """The same in a process that loads what it needs, as when an operator types it."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    )


def start_command(
    arguments: Sequence[str],
    cwd: Path,
    out: BinaryIO,
    err: BinaryIO,
    *,
    under: Sequence[str] = (),
    source: Path | None = None,
    **variables: str,
) -> RunningCommand | subprocess.Popen[bytes]:
    """Start a command; under another one, or of other code, as a new process, else as a fork of a
    loaded one."""
    env = environment(**variables)
    if source is not None:
        env["PYTHONPATH"] = str(source)
    if not under and source is None:
        return launcher().start(arguments, cwd=cwd, env=env, stdout=out, stderr=err)
    return subprocess.Popen(
        [*under, *COMMAND, *arguments],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
    )


class Service:
    """`longwire serve` in a process, and a client of its operator."""

    def __init__(
        self,
        data: Path,
        *flags: str,
        under: Sequence[str] = (),
        source: Path | None = None,
        port: int = 0,
        **variables: str,
    ) -> None:
        """`under` is a command that runs ours, such as a tracer; `source` the folder of other code.

        What replaces itself by ours, such as `nsenter`, is no wrapper: it is the process.
        """
        data.parent.mkdir(parents=True, exist_ok=True)
        self.data = data
        self._out = data.parent / f"{data.name}.{time.monotonic_ns()}.out"
        self._err = self._out.with_suffix(".err")
        arguments = ["serve", "--data", str(data), "--port", str(port), *flags]
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = start_command(
                arguments, data.parent, out, err, under=under, source=source, **variables
            )
        self._is_wrapped = bool(under) and under[0] != "nsenter"
        self._token: str | None = None

    # --- lifecycle ---

    def started(self) -> "Service":
        """Wait until it has printed its URL and responds there."""
        eventually(lambda: " serves " in self.out or self.has_exited, START_S)
        found = re.search(r" serves (https?://\S+) ", self.out)
        assert found, f"it did not start: {self.out}\n{self.err}"
        self.url = found[1]
        self.http = SocketClient(self.url)
        eventually(lambda: self.has_exited or self.is_live(), START_S)
        assert not self.has_exited, self.err
        return self

    def is_live(self) -> bool:
        try:
            return self.http.get("/health/live").status_code == 200
        except httpx.TransportError:
            return False

    @property
    def has_exited(self) -> bool:
        return self.process.poll() is not None

    @property
    def pid(self) -> int:
        """The process of the service, not that of a wrapper."""
        if not self._is_wrapped:
            return self.process.pid
        return int(psutil.Process(self.process.pid).children()[0].pid)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def ended(self) -> int:
        """The exit code."""
        return self.process.wait(timeout=STOP_S)

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.ended()

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.ended()

    def clean_up(self) -> None:
        """Kill what is still running."""
        if hasattr(self, "http"):
            self.http.close()
        if self.has_exited:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            own = psutil.Process(self.process.pid)
            for process in [*own.children(recursive=True), own]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self.process.wait(timeout=STOP_S)

    # --- output ---

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    @property
    def log(self) -> list[dict[str, Any]]:
        """The log, line by line; every line must be JSON, but one that is being written."""
        has_ended = self.process.poll() is not None
        text = self.err
        whole = text if has_ended else text[: text.rfind("\n") + 1]
        return [json.loads(line) for line in whole.splitlines()]

    # --- requests ---

    @property
    def operator(self) -> dict[str, str]:
        return dict(json.loads((self.data / "operator.json").read_text()))

    @property
    def token(self) -> str:
        if self._token is None:
            granted = self.http.post(
                "/oauth2/token?grant_type=client_credentials",
                auth=(self.operator["clientId"], self.operator["clientSecret"]),
                headers={"Content-Type": "application/x-www-form-urlencoded"},
            )
            self._token = str(ok(granted)["access_token"])
        return self._token

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def post_group(self, name: str) -> httpx.Response:
        return self.http.post("/group", json={"name": name}, headers=self.bearer)

    def group_names(self) -> set[str]:
        """The names of all groups that the operator has created."""
        names: set[str] = set()
        params: dict[str, str] = {"limit": "1000"}
        while True:
            page = ok(self.http.get("/user/groups", params=params, headers=self.bearer))
            names |= {group["name"] for group in page["items"]}
            if "nextToken" not in page:
                return names
            params["nextToken"] = page["nextToken"]
