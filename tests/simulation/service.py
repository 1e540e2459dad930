"""The service as a simulated process: the real one on SQLite, without threads or sockets."""

import asyncio
import gc
import random
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from contextvars import Context, copy_context
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from uvicorn.server import ServerState

from longwire.clock import Clock
from longwire.delivery.http.egress import Egress
from longwire.process.app import App
from longwire.process.app_config import build_wire_limits
from longwire.process.startup import build_database, load_keys, prepare
from longwire.seal import Keyring
from longwire.settings import Settings
from longwire.store.database import DatabaseContext
from longwire.store.engines.sqlite import SQLite
from longwire.store.engines.workers import RunJobs, WorkerPool
from longwire.web.errors import encode_problem
from longwire.web.server import build_server
from tests.simulation.disk import Disk, SimulatedVfs
from tests.simulation.loop import CURRENT, SimLoop, SimulatedProcess
from tests.simulation.network import Network, SimSocket, Transport
from tests.simulation.surroundings import SURROUNDINGS

NAME = "longwire.db"
ADDRESS = ("10.0.0.1", 80)
STOP_S = 60.0


class StepPool(WorkerPool):
    """A pool whose threads are steps of the event loop, at times that the seed chooses."""

    def __init__(
        self, name: str, open_worker: Callable[[], AbstractContextManager[RunJobs]], **options: Any
    ) -> None:
        super().__init__(name, open_worker, **options)
        self._opened = ExitStack()
        self._workers: list[RunJobs] = []
        self._is_scheduled = False
        self._idle_timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        for _ in self._threads:
            self._workers.append(self._opened.enter_context(self._open_worker()))

    def submit(self, work: Any, *caller: Any) -> Any:
        future = super().submit(work, *caller)
        self._schedule()
        return future

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            delay_s = _CHANCE.uniform(0.000_05, 0.002)
            asyncio.get_running_loop().call_later(delay_s, self._step)

    def _step(self) -> None:
        self._is_scheduled = False
        if len(self._queue):
            self._serve_batch(_CHANCE.choice(self._workers))
        if len(self._queue):
            self._schedule()
        elif self._is_atomic and self._idle_timer is None:
            self._idle_timer = asyncio.get_running_loop().call_later(1.0, self._do_idle)

    def _do_idle(self) -> None:
        self._idle_timer = None
        if not self._is_closed:
            self._run_batch(self._workers[0], (), ())

    def close(self) -> None:
        self._is_closed = True
        while len(self._queue) and self._workers:
            self._serve_batch(self._workers[0])
        self._opened.close()

    def abandon(self) -> None:
        """The process is dead: close what SQLite has open, which can write nothing any more."""
        with suppress(Exception):
            self._opened.close()


_CHANCE = random.Random(0)


class ServiceProcess(SimulatedProcess):
    """One start of the service, until it stops or dies."""

    def __init__(self, number: int, settings: Settings, disk: Disk) -> None:
        super().__init__(f"service {number}")
        self.settings = settings
        self.disk = disk
        self.context = copy_context()
        self.context.run(CURRENT.set, self)
        self.is_ready = False
        self.app: App | None = None
        self.database: SQLite | None = None
        self._config: Any = None
        self._state = ServerState()
        self._stopping: asyncio.Event | None = None

    def start(self, loop: SimLoop) -> asyncio.Task[None]:
        return loop.create_task(self._run(), context=self.context)

    async def _run(self) -> None:
        keys, _ = load_keys(self.settings)
        self.database = SQLite(
            self.disk.folder / NAME, DatabaseContext(Clock(), Keyring(*keys)), pool_class=StepPool
        )
        try:
            prepare(self.database, self.settings, lambda: None)
            self.database.start()
            await self._serve(self.database)
        finally:
            if not self.is_dead:
                self.is_ready = False
                self.database.close()

    async def _serve(self, database: SQLite) -> None:
        self._stopping = asyncio.Event()
        self.app = app = App(self.settings, database)
        app.stop = self._stopping.set
        server = build_server(
            app,
            host=ADDRESS[0],
            port=ADDRESS[1],
            limits=build_wire_limits(self.settings),
            encode_error=encode_problem,
            fast_path=app.fast_path,
            on_too_many=app.count_rejected_connection,
            on_stopping=app.stop_streams,
        )
        self._config = server.config
        if not self._config.loaded:
            self._config.load()
        to_app: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
        from_app: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
        lifespan = asyncio.create_task(app({"type": "lifespan"}, to_app.get, from_app.put))  # type: ignore[arg-type]
        await to_app.put({"type": "lifespan.startup"})
        await from_app.get()
        self.is_ready = True
        await self._stopping.wait()
        app.leave()
        self.is_ready = False
        app.stop_streams()
        deadline = asyncio.get_running_loop().time() + STOP_S
        while self._state.tasks and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        await to_app.put({"type": "lifespan.shutdown"})
        await lifespan

    def stop(self) -> None:
        if self._stopping is not None:
            self._stopping.set()

    def accept(self) -> asyncio.Protocol:
        """The protocol of a new connection."""
        protocol: asyncio.Protocol = self._config.http_protocol_class(
            config=self._config, server_state=self._state, app_state={}
        )
        return protocol

    def die(self) -> None:
        """As by `kill -9`: nothing of it runs any more, whatever it was doing."""
        self.is_dead = True
        self.is_ready = False
        self.disk.is_off = True

    def end(self) -> None:
        """It has stopped by itself."""
        self.is_dead = True

    def bury(self) -> None:
        """Free what a dead process has."""
        grave = copy_context()
        grave.run(CURRENT.set, self)
        for task in list(self.tasks):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            work = task.get_coro()
            with suppress(BaseException):
                grave.run(work.close)  # type: ignore[union-attr]
        self.tasks.clear()
        if self.database is not None:
            for pool in (self.database._readers, self.database._writer):
                assert isinstance(pool, StepPool)
                pool.abandon()
        self.app = self.database = self._config = None
        self.context = Context()


class Host:
    """The machine that the service runs on: starts it again whenever it has ended."""

    def __init__(
        self,
        loop: SimLoop,
        network: Network,
        vfs: SimulatedVfs,
        folder: Path,
        settings: Settings,
        chance: random.Random,
        write_line: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._network = network
        self._vfs = vfs
        self._folder = folder
        self._settings = settings
        self._chance = chance
        self._write_line = write_line
        self._context = copy_context()
        self._starts = 0
        self._disks = 0
        self.counted: Counter[str] = Counter()
        self.disk = Disk(folder / "disk 0")
        shutil.copytree(settings.data, self.disk.folder)
        vfs.disks[str(self.disk.folder)] = self.disk
        self.process = self._make_process()
        _CHANCE.seed(chance.random())

    def _make_process(self) -> ServiceProcess:
        self._starts += 1
        return ServiceProcess(self._starts, self._settings, self.disk)

    def start(self) -> None:
        running = self.process.start(self._loop)
        running.add_done_callback(partial(self._note_end, self.process))
        self._write_line(f"{self.process.name} starts")

    def _note_end(self, process: ServiceProcess, done: "asyncio.Task[None]") -> None:
        if done.cancelled():
            return
        error = done.exception()  # also of a dead one, so that nobody asks for it later
        if process.is_dead:
            return
        if error is not None:
            text = str(error).replace(str(self._folder), "")
            self._write_line(f"{process.name} failed: {type(error).__name__}: {text}")
            self.counted["failed start"] += 1
        else:
            self._write_line(f"{process.name} has stopped")
        process.end()
        self._network.drop_process(process)
        process.bury()
        gc.collect()
        self.process = self._make_process()
        # A supervisor starts it again.
        self._loop.call_later(1.0, self._start_if_current, self.process, context=self._context)

    def crash(self, *, is_power_loss: bool) -> None:
        """The end of the process, or of the power, right now; also amid one of its steps."""
        kind = "power loss" if is_power_loss else "kill"
        self.counted[kind] += 1
        dead = self.process
        if dead.is_dead:
            return
        dead.die()
        self._write_line(f"{kind} of {dead.name}")
        self._network.drop_process(dead)
        self._loop.call_soon(self._recover, dead, is_power_loss, context=self._context)

    def _recover(self, dead: ServiceProcess, is_power_loss: bool) -> None:
        """The machine starts again, with what its disk has."""
        if self.process is not dead:
            return
        before = self.disk
        self._disks += 1
        folder = self._folder / f"disk {self._disks}"
        self.disk = before.start_again(folder, self._chance if is_power_loss else None)
        dead.bury()
        self.counted.update(before.counted)
        del self._vfs.disks[str(before.folder)]
        shutil.rmtree(before.folder)
        self._vfs.disks[str(folder)] = self.disk
        gc.collect()
        self.process = self._make_process()
        self._loop.call_later(self._chance.uniform(0.1, 3.0), self._start_if_current, self.process)

    def _start_if_current(self, process: ServiceProcess) -> None:
        if self.process is process:
            self.start()

    def connect(self, protocol: asyncio.Protocol, port: int) -> Transport:
        if not self.process.is_ready:
            raise ConnectionRefusedError
        server = self.process.context.run(self.process.accept)
        return self._network.connect(protocol, server, self.process.context, ADDRESS, port)


def make_settings(folder: Path, **changes: Any) -> Settings:
    """Of a service in a simulation: its receivers have private addresses."""
    return Settings(
        data=folder,
        egress_allow=(ip_network("10.0.0.0/8"),),
        token_lifetime_s=10**8,
        **changes,
    )


def prepare_template(folder: Path) -> Settings:
    """A data folder as after the first start."""
    settings = make_settings(folder)
    database, save_key = build_database(settings, Clock())
    prepare(database, settings, save_key)
    database.close()
    return settings


Connect = Callable[[SimSocket, asyncio.BaseProtocol], Transport]


def connect_egress(dial: Callable[[str, int], Any]) -> None:
    """Have every egress guard get its connections from the simulated network."""

    async def connect_to(self: Egress, address: str, port: int) -> Any:
        self.check(address)
        return await dial(address, port)

    Egress._connect_to = connect_to  # type: ignore[method-assign, assignment]


__all__ = ["SURROUNDINGS", "Host", "ServiceProcess", "connect_egress", "prepare_template"]
