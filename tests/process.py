"""The `longwire` command as an operator runs it: a process of its own, with flags, signals, exits.

A test that needs to kill the service, starve it or read what it prints takes one of these; all
others take a world, which is quicker.
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
from typing import Any

import httpx
import psutil

from tests.waiting import eventually
from tests.world import ok

START_S = 120
STOP_S = 120

COMMAND = (sys.executable, "-m", "longwire")


def environment(**variables: str) -> dict[str, str]:
    """The test's own environment without any setting that happens to be in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LONGWIRE_")}
    return {**kept, **variables}


def longwire(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    )


class Service:
    """`longwire serve` in a process, and an operator who talks to it."""

    def __init__(
        self, data: Path, *flags: str, under: Sequence[str] = (), port: int = 0, **variables: str
    ) -> None:
        """`under` is a command that runs ours, such as a tracer."""
        data.parent.mkdir(parents=True, exist_ok=True)
        self.data = data
        self._out = data.parent / f"{data.name}.{time.monotonic_ns()}.out"
        self._err = self._out.with_suffix(".err")
        command = [*COMMAND, "serve", "--data", str(data), "--port", str(port), *flags]
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [*under, *command],
                cwd=data.parent,
                env=environment(**variables),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        self._is_wrapped = bool(under)
        self._token: str | None = None

    # --- its life ---

    def started(self) -> "Service":
        """Wait until it says where it serves, and answers there."""
        eventually(lambda: " serves " in self.out or self.is_over, START_S)
        found = re.search(r" serves (https?://\S+) ", self.out)
        assert found, f"it did not start: {self.out}\n{self.err}"
        self.url = found[1]
        self.http = httpx.Client(base_url=self.url, timeout=120, verify=False)
        eventually(lambda: self.is_over or self.answers(), START_S)
        assert not self.is_over, self.err
        return self

    def answers(self) -> bool:
        try:
            return self.http.get("/health/live").status_code == 200
        except httpx.TransportError:
            return False

    @property
    def is_over(self) -> bool:
        return self.process.poll() is not None

    @property
    def pid(self) -> int:
        """The service's own process, also when another one runs it."""
        if not self._is_wrapped:
            return self.process.pid
        return int(psutil.Process(self.process.pid).children()[0].pid)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def ended(self) -> int:
        """Wait for the end; the exit code."""
        return self.process.wait(timeout=STOP_S)

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.ended()

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.ended()

    def clean_up(self) -> None:
        """Leave nothing behind, whatever became of the test."""
        if hasattr(self, "http"):
            self.http.close()
        if self.is_over:
            return
        family = psutil.Process(self.process.pid).children(recursive=True)
        for process in [*family, self.process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait(timeout=STOP_S)

    # --- what it says ---

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    @property
    def log(self) -> list[dict[str, Any]]:
        """What it logged, line by line; every line must be JSON."""
        return [json.loads(line) for line in self.err.splitlines()]

    # --- talking to it ---

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
        """The names of all the groups that the operator has made."""
        names: set[str] = set()
        params: dict[str, str] = {"limit": "1000"}
        while True:
            page = ok(self.http.get("/user/groups", params=params, headers=self.bearer))
            names |= {group["name"] for group in page["items"]}
            if "nextToken" not in page:
                return names
            params["nextToken"] = page["nextToken"]
