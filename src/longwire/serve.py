"""Running the service as a process: its socket, its lock, its worker processes, its end."""

import asyncio
import fcntl
import gc
import math
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from types import FrameType

import structlog

from longwire import app, startup
from longwire.clock import Clock
from longwire.settings import PREFIX, Settings
from longwire.web.errors import wire_refusal
from longwire.web.server import build_server, run_until_done

EXIT_BROKEN = 70
BACKLOG = 2_048
RESTART_AFTER_S = 1.0
GC_AFTER_OBJECTS = 20_000
INHERITED = "WORKER_OF_LONGWIRE_INHERITS"  # outside of the settings' prefix

log = structlog.get_logger()

# Tells the operator that the service is up, and what a first start made.
Announce = Callable[[Settings, startup.Prepared], None]


def serve(settings: Settings, announce: Announce) -> int:
    """Serve until told to stop; the exit code."""
    _require_certificate(settings)
    with _listening(settings.host, settings.port, "--port") as listener:
        settings = replace(settings, port=listener.getsockname()[1])
        with _alone(settings):
            if settings.workers > 1:
                return _supervise(settings, listener, announce)
            return _work(settings, listener, announce)


def serve_as_worker(settings: Settings, inherited: str) -> int:
    """Serve on a socket that the supervising process has opened, for as long as that one lives."""
    descriptor, lifeline = map(int, inherited.split(","))
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    with socket.socket(fileno=descriptor) as listener:
        settings = replace(settings, port=listener.getsockname()[1])
        return _work(settings, listener, _say_nothing)


def _end_with(lifeline: int) -> None:
    """Stop when the other end of this pipe is gone, and with it the supervising process."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _say_nothing(settings: Settings, prepared: startup.Prepared) -> None:
    return None


def _work(settings: Settings, listener: socket.socket, announce: Announce) -> int:
    database, prepared = startup.opened(settings, Clock())
    database.start()
    try:
        application = app.App(settings, database)
        server = build_server(
            application,
            host=settings.host,
            port=settings.port,
            limits=app.wire_limits(settings),
            refusal=wire_refusal,
            lane=application.lane,
            tls_cert=settings.tls_cert or None,
            tls_key=settings.tls_key or None,
            graceful_s=math.ceil(settings.stop_timeout_s),
        )

        def stop() -> None:
            server.should_exit = True

        application.stop = stop
        # uvicorn raises what it caught once more after it has stopped; without a handler of ours it
        # would then end the process before the database is closed.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, frame: stop())
        announce(settings, prepared)
        _settle_memory()
        server.run(sockets=[listener])
    finally:
        database.close()
    log.info("stopped")
    return EXIT_BROKEN if database.broken else 0


def _settle_memory() -> None:
    """What is there by now stays for good, so the collector of cycles need not look at it again.

    Requests make many objects that live briefly, and hardly ever cycles: looking for those after
    every 700 new objects, as is the default, would take a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_AFTER_OBJECTS, 20, 50)


def deliver(settings: Settings, announce: Callable[[Settings], None]) -> int:
    """Deliver without serving, until told to stop; the exit code."""
    with _watchable(settings) as listener, _alone(settings):
        if listener is not None:
            settings = replace(settings, metrics_port=listener.getsockname()[1])
        database, _ = startup.opened(settings, Clock())
        database.start()
        try:
            announce(settings)
            _settle_memory()
            run_until_done(_deliver(app.Deliverer(settings, database), listener))
        finally:
            database.close()
    log.info("stopped")
    return EXIT_BROKEN if database.broken else 0


async def _deliver(deliverer: app.Deliverer, listener: socket.socket | None) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    await deliverer.run(stopping, listener)


def _require_certificate(settings: Settings) -> None:
    """Look at it before anything else is done, so that a wrong one is a plain refusal."""
    if not settings.tls_cert:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password="")
    except OSError as error:
        raise startup.CannotStart(
            f"The certificate {settings.tls_cert} with the key {settings.tls_key} cannot be used: "
            f"{error.strerror or error}."
        ) from error


# --- one process among others ---


@contextmanager
def _watchable(settings: Settings) -> Iterator[socket.socket | None]:
    """The socket of those who watch, if there is to be one."""
    if not settings.metrics_port:
        yield None
        return
    with _listening(settings.metrics_host, settings.metrics_port, "--metrics-port") as listener:
        yield listener


@contextmanager
def _listening(host: str, port: int, flag: str) -> Iterator[socket.socket]:
    """The socket, bound before anything else, so that a taken port is a plain refusal."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise startup.CannotStart(
                f"Cannot listen on {host}:{port}: {error.strerror}. "
                f"Choose another port with {flag}."
            ) from error
        listener.listen(BACKLOG)
        yield listener
    finally:
        listener.close()


@contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    """The embedded database is served by one process at a time."""
    if settings.database:
        yield
        return
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (settings.data / "serve.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise startup.CannotStart(
                f"Another longwire serves {settings.data} already; stop it, or use another --data."
            ) from error
        yield


# --- several processes ---


def _supervise(settings: Settings, listener: socket.socket, announce: Announce) -> int:
    """Keep so many workers alive on one socket, until told to stop."""
    database, prepared = startup.opened(settings, Clock())
    database.close()
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    lifeline, _held = os.pipe()  # nobody writes; it ends when this process does, however it does
    inherited = (listener.fileno(), lifeline)
    with tempfile.TemporaryDirectory(prefix="longwire-metrics-") as counters:
        environment = {
            **_as_environment(settings),
            "PROMETHEUS_MULTIPROC_DIR": counters,
            INHERITED: ",".join(map(str, inherited)),
        }
        workers = [_start_worker(inherited, environment) for _ in range(settings.workers)]
        announce(settings, prepared)
        while not stopping.wait(0.2):
            for index, worker in enumerate(workers):
                if worker.poll() is not None:
                    log.error("worker ended, starting another", code=worker.returncode)
                    time.sleep(RESTART_AFTER_S)
                    workers[index] = _start_worker(inherited, environment)
        for worker in workers:
            worker.terminate()
        codes = [worker.wait() for worker in workers]
    return max((code for code in codes if code > 0), default=0)


def _start_worker(
    inherited: tuple[int, ...], environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "longwire", "serve"],
        env={**os.environ, **environment},
        pass_fds=inherited,
        start_new_session=True,  # Ctrl-C reaches the supervisor, which stops the workers in order
    )


def _as_environment(settings: Settings) -> dict[str, str]:
    """The settings as a worker reads them back."""
    environment: dict[str, str] = {}
    for each in fields(Settings):
        value = getattr(settings, each.name)
        if isinstance(value, tuple):
            value = ",".join(str(part) for part in value)
        elif isinstance(value, Path):
            value = value.absolute()
        environment[PREFIX + each.name.upper()] = str(value)
    environment[PREFIX + "WORKERS"] = "1"
    return environment
