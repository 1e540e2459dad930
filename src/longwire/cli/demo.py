"""`demo`: a service of its own with a simulated company, to look at.

The operator's part is here, with the functions of the operator's commands: device types,
credentials of people, links to sign in. The rest is a client of the service: `longwire_cli.demo`.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from longwire.cli.base import run_write
from longwire.cli.device_types import parse_types
from longwire.clock import Clock
from longwire.fleet import device_types
from longwire.identity import bootstrap, sign_in_links, tokens
from longwire.model import SYSTEM
from longwire.process import logs, serve, startup
from longwire.settings import Settings
from longwire.store.database import Tx
from longwire_cli.demo import plan, session
from longwire_cli.demo.client import ClientCredentials
from longwire_cli.demo.errors import DemoError, ServiceUnreachable
from longwire_cli.terminal import json_flag

STATE_FILE = "demo.json"
_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_STOP_S = 2.0
_THREAD_STOP_S = 10.0

People = dict[str, tuple[str, str]]  # client id and secret by e-mail address


@click.command("demo")
@click.option(
    "--devices",
    type=click.IntRange(min=plan.DEVICES_MIN, max=100_000),
    default=plan.DEVICES_DEFAULT,
    show_default=True,
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0.1, max=1_000),
    default=5.0,
    show_default=True,
    help="messages a second, of all devices together",
)
@click.option("--seed", type=int, default=1, show_default=True, help="another one, another fleet")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="keep the data in this folder; a temporary one by default",
)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="0 for any"
)
@json_flag
def demo_command(
    devices: int, rate: float, seed: int, data: Path | None, port: int, as_json: bool
) -> None:
    """Start a service with a small simulated fleet, to look at; only for this machine."""
    logs.configure_logging("error", "auto")
    with _data_folder(data) as folder:
        chosen = Settings(
            host="127.0.0.1",
            port=port,
            data=folder,
            egress_allow=_LOOPBACK,
            log_level="error",
            stop_timeout_s=_STOP_S,
        )
        state = _load_state(folder) or {"devices": devices, "seed": seed}
        clock = Clock()
        demo = _Demo(rate, state, clock, is_temporary=data is None, as_json=as_json)
        if demo.is_first_start:  # the past of the company is stored first
            clock.synchronize(clock.now() - plan.PAST)
        code = serve.serve(chosen, demo.start, lambda: chosen, clock)
        demo.stop()
    if isinstance(demo.failure, DemoError):
        raise startup.StartupError(str(demo.failure)) from demo.failure
    if demo.failure is not None:
        raise demo.failure
    sys.exit(code)


@contextmanager
def _data_folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    # Files may still be written while the folder is removed.
    with tempfile.TemporaryDirectory(
        prefix="longwire-demo-", ignore_cleanup_errors=True
    ) as temporary:
        yield Path(temporary)


def _load_state(folder: Path) -> dict[str, Any] | None:
    """What an earlier demo has left in this folder."""
    path = folder / STATE_FILE
    if not path.exists():
        if (folder / "longwire.db").exists():
            raise startup.StartupError(
                f"{folder} has the data of another service. Choose another --data."
            )
        return None
    state: dict[str, Any] = json.loads(path.read_text())
    if not state.get("group_id"):
        raise startup.StartupError(
            f"The demo in {folder} was stopped while it was being filled. Delete that folder, or "
            "choose another --data."
        )
    return state


def _add_types_and_people(tx: Tx) -> People:
    """What only the operator of a service can do; returns credentials by e-mail address."""
    for each in parse_types(json.dumps(plan.DEVICE_TYPES)):
        device_types.put_device_type(tx, SYSTEM, each)
    credentials: People = {}
    for person in plan.PEOPLE:
        issued = tokens.issue_credential(
            tx, SYSTEM, person.email, first_name=person.first_name, last_name=person.last_name
        )
        credentials[person.email] = (issued.credential.client_id, issued.secret)
    return credentials


def _create_links(tx: Tx, chosen: Settings) -> tuple[str, str]:
    """For the operator and for a viewer."""
    url = startup.get_base_url(chosen)

    def create(email: str) -> str:
        secret = sign_in_links.create_for_terminal(tx, email)
        return sign_in_links.build_url(url, secret, sign_in_links.LinkPurpose.SIGN_IN)

    return create(bootstrap.OPERATOR_EMAIL), create(plan.VIEWER_EMAIL)


class _Demo:
    """Runs next to the service, in a thread of its own; Ctrl-C stops the service, then this."""

    def __init__(
        self,
        rate: float,
        state: dict[str, Any],
        clock: Clock,
        *,
        is_temporary: bool,
        as_json: bool,
    ) -> None:
        self._rate = rate
        self._state = state
        self._clock = clock
        self.is_first_start = not state.get("group_id")
        self._is_temporary = is_temporary
        self._as_json = as_json
        self._stopping = threading.Event()
        self._cancel: Callable[[], object] = lambda: None
        self._thread: threading.Thread | None = None
        self._links = ("", "")
        self.failure: BaseException | None = None

    def start(self, chosen: Settings, prepared: startup.PreparationResult) -> None:
        """Called by the service's event loop, which responds once this has returned."""
        if not self._as_json:
            verb = "Seeding" if self.is_first_start else "Continuing"
            Console(stderr=True).print(f"{verb} the demo …", highlight=False)
        self._thread = threading.Thread(target=self._run, args=(chosen,), name="demo")
        self._thread.start()

    def stop(self) -> None:
        if self._thread is None:
            return
        self._stopping.set()
        with suppress(RuntimeError):  # its loop is closed: it has ended by itself
            self._cancel()
        self._thread.join(_THREAD_STOP_S)

    def _run(self, chosen: Settings) -> None:
        try:
            people: People = {}
            if self.is_first_start:
                people = run_write(chosen, _add_types_and_people, self._clock)
            self._links = run_write(chosen, lambda tx: _create_links(tx, chosen))
            asyncio.run(self._follow(chosen, people))
        except asyncio.CancelledError:
            return
        except BaseException as error:  # raised by the main thread
            # The service, which is in this process, is unreachable while it stops.
            if isinstance(error, ServiceUnreachable) and self._stopping.wait(2 * _STOP_S):
                return
            self.failure = error
            os.kill(os.getpid(), signal.SIGTERM)

    async def _follow(self, chosen: Settings, people: People) -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        self._cancel = partial(loop.call_soon_threadsafe, task.cancel)
        if self._stopping.is_set():
            return
        known = json.loads((chosen.data / "operator.json").read_text())
        service = session.DemoService(
            startup.get_base_url(chosen),
            ClientCredentials(known["clientId"], known["clientSecret"]),
            {email: ClientCredentials(*pair) for email, pair in people.items()},
        )

        def save(state: Any) -> None:
            (chosen.data / STATE_FILE).write_text(json.dumps(asdict(state)))

        await session.run_demo(
            service,
            session.DemoState(**self._state),
            rate=self._rate,
            clock=self._clock,
            save=save,
            report=self._report,
            on_ready=partial(self._announce, chosen),
        )

    def _report(self, step: str) -> None:
        if not self._as_json and sys.stderr.isatty():
            click.echo(f"  {step}", err=True)

    def _announce(self, chosen: Settings, fleet: Any) -> None:
        url = startup.get_base_url(chosen)
        operator, viewer = self._links
        if self._as_json:
            result = {
                "url": url,
                "operatorLink": operator,
                "viewerLink": viewer,
                "groupId": fleet.group_id,
                "devices": len(fleet.devices),
                "data": str(chosen.data),
            }
            click.echo(json.dumps(result))
        else:
            fate = "deleted at the end" if self._is_temporary else "kept"
            click.echo(
                f"{len(fleet.devices)} devices of a harbour company report to {url}\n\n"
                f"  sign in as the operator  {operator}\n"
                f"  sign in as a viewer      {viewer}\n"
                f"  the API                  {url}/docs\n"
                f"  the data                 {chosen.data}, {fate}\n\n"
                "A link signs in once, within 15 minutes; another one: longwire console link "
                f"--data {chosen.data} --port {chosen.port}\nCtrl-C stops the demo."
            )
        sys.stdout.flush()
