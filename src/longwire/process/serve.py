"""Runs the service as a process: its sockets, its lock, its worker processes, its exit code."""

import asyncio
import gc
import json
import math
import os
import platform
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType

import structlog

from longwire import __version__, extras
from longwire.clock import Clock
from longwire.process import app, app_config, delivery_process, startup, systemd
from longwire.process.descriptors import divide_descriptors, raise_descriptor_limit
from longwire.process.logs import configure_logging
from longwire.process.memory_bounds import describe_memory_bounds
from longwire.prometheus import SHARED_FOLDER_VARIABLE
from longwire.settings import RELOADABLE, Settings, list_changed, setting_fields
from longwire.settings.declaration import PREFIX, SettingsError, redact_password
from longwire.settings.loading import load as load_settings
from longwire.web.errors import encode_problem
from longwire.web.server import StopEvents, build_server, reload_server, run_until_done

EXIT_DATABASE_FAILED = 70
BACKLOG = 2_048
RESTART_AFTER_S = 1.0
# For delivery attempts in progress and for closing the database.
STOP_MARGIN_S = 20.0
GC_AFTER_OBJECTS = 20_000
# How long a thread may compute while others wait for the lock of the interpreter.
SWITCH_INTERVAL_S = 0.0005
INHERITED_FDS_VARIABLE = "WORKER_OF_LONGWIRE_INHERITS"  # not a setting, so without their prefix

log = structlog.get_logger()

LoadSettings = Callable[[], Settings]
# Prints that the service is up, and the credentials of a first start.
Announce = Callable[[Settings, startup.PreparationResult], None]


def serve(
    settings: Settings, announce: Announce, load: LoadSettings, clock: Clock | None = None
) -> int:
    """Serve until stopped; returns the exit code. On SIGHUP the settings are loaded again.

    `clock` is for a service of one process whose time somebody turns.
    """
    hangup = _defer_hangup()
    reload = _Reload(settings, load)
    _require_certificate(settings)
    _require_extras(settings)
    plain_http = startup.describe_plain_http(settings)
    if plain_http is not None:
        log.warning("plain HTTP on a public address", reason=plain_http)
    with _open_listening_socket(settings.host, settings.port, "--port") as listener:
        settings = replace(settings, port=listener.getsockname()[1])
        with startup.lock_data_folder(settings):
            if settings.workers > 1:
                return _run_workers(settings, listener, announce, reload)
            return _run_server(settings, listener, announce, reload, hangup, clock=clock)


def serve_as_worker(settings: Settings, inherited: str) -> int:
    """Serve on a socket inherited from the parent process, as long as the parent lives."""
    hangup = _defer_hangup()
    descriptor, lifeline, started, reloaded = inherited.split(",", 3)
    threading.Thread(target=_stop_when_parent_exits, args=(int(lifeline),), daemon=True).start()
    with socket.socket(fileno=int(descriptor)) as listener:
        reload = _Reload(settings, partial(_load_reloaded, Path(reloaded), settings))
        on_started = partial(os.write, int(started), b"1")
        return _run_server(
            settings, listener, lambda settings, prepared: None, reload, hangup, on_started
        )


def _stop_when_parent_exits(lifeline: int) -> None:
    """Stop when the pipe closes, which means that the parent process is gone."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _run_server(
    settings: Settings,
    listener: socket.socket,
    announce: Announce,
    reload: "_Reload",
    hangup: threading.Event,
    on_started: Callable[[], object] = lambda: None,
    clock: Clock | None = None,
) -> int:
    database, prepared = startup.open_prepared_database(settings, clock or Clock())
    database.start()
    try:
        settings = _fit_to_descriptor_limit(settings)
        application = app.App(settings, database)
        server = build_server(
            application,
            host=settings.host,
            port=settings.port,
            limits=app_config.build_wire_limits(settings),
            encode_error=encode_problem,
            fast_path=application.fast_path,
            on_too_many=application.count_rejected_connection,
            on_stopping=application.stop_streams,
            stop_events=_build_stop_events(
                settings, application, partial(announce, settings, prepared), on_started
            ),
            tls_cert=settings.tls_cert or None,
            tls_key=settings.tls_key or None,
            graceful_s=math.ceil(settings.stop_timeout_s),
        )

        def stop() -> None:
            server.should_exit = True

        def apply(changed: Settings) -> None:
            changed = _fit_to_descriptor_limit(changed)
            limits = app_config.build_wire_limits(changed)
            reload_server(server, limits, changed.tls_cert or None, changed.tls_key or None)
            application.reload(changed)

        application.stop = stop
        application.on_startup = partial(
            _handle_hangup, hangup, partial(reload, settings, apply, stop)
        )
        # uvicorn re-raises captured signals after it has stopped; without our own handler that
        # would end the process before the database is closed.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, frame: stop())
        _tune_interpreter()
        server.run(sockets=[listener])
    finally:
        _defer_hangup()  # the event loop is gone, and its handlers with it
        database.close()
    log.info("stopped")
    return EXIT_DATABASE_FAILED if database.broken else 0


def _build_stop_events(
    settings: Settings,
    application: app.App,
    announce: Callable[[], None],
    on_started: Callable[[], object],
) -> StopEvents:
    def notify_started() -> None:
        log_started("serve", settings)
        systemd.notify_ready(_describe_status(settings))
        announce()  # last: on a first start it ends with the link that signs in
        on_started()

    def leave() -> None:
        log.info("stopping", lame_duck_s=settings.lame_duck_s)
        systemd.notify_stopping(_stop_takes_s(settings))
        application.leave()

    return StopEvents(notify_started, leave, settings.lame_duck_s)


def log_started(command: str, settings: Settings) -> None:
    """One line that says what runs where."""
    log.info(
        "started",
        command=command,
        version=__version__,
        pid=os.getpid(),
        url=startup.get_base_url(settings) if command == "serve" else None,
        listens=f"{settings.host}:{settings.port}" if command == "serve" else None,
        tls=bool(settings.tls_cert),
        database=redact_password(settings.database) if settings.database else "sqlite",
        data=str(settings.data.absolute()),
        delivery=settings.delivery,
        mqtt=redact_password(settings.mqtt_url) or None,
        python=platform.python_version(),
    )


def _describe_status(settings: Settings) -> str:
    return f"longwire {__version__} serves {startup.get_base_url(settings)}"


def _stop_takes_s(settings: Settings) -> float:
    return settings.lame_duck_s + settings.stop_timeout_s + STOP_MARGIN_S


def _fit_to_descriptor_limit(settings: Settings) -> Settings:
    """Raise the descriptor limit, and lower what would need more descriptors than there are."""
    budget = divide_descriptors(
        raise_descriptor_limit(),
        connections_max=settings.connections_max,
        attempts_in_flight_max=settings.fixed.attempts_in_flight_max,
        database_connections=settings.database_connections,
    )
    memory = describe_memory_bounds(budget.connections_max, settings)
    log.info("memory bounded", **memory, total_mib=sum(memory.values()))
    log.info(
        "descriptor limit divided",
        limit=budget.limit,
        reserved=budget.reserved,
        connections_max=budget.connections_max,
        attempts_in_flight_max=budget.attempts_in_flight_max,
    )
    return replace(
        settings,
        connections_max=budget.connections_max,
        fixed=replace(settings.fixed, attempts_in_flight_max=budget.attempts_in_flight_max),
    )


def _tune_interpreter() -> None:
    """Exclude the objects of the start from garbage collection, collect less often, and switch
    between threads more often.

    Requests create many short-lived objects and hardly ever cycles: at the default threshold of
    700 objects the collector would take a tenth of the time. A commit on PostgreSQL needs the lock
    of the interpreter after every round trip: with the default of 5 ms, somebody's large reports
    made others wait 80 ms for each record.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_AFTER_OBJECTS, 20, 50)
    sys.setswitchinterval(SWITCH_INTERVAL_S)


def deliver(settings: Settings, announce: Callable[[Settings], None], load: LoadSettings) -> int:
    """Deliver without serving, until stopped; returns the exit code."""
    hangup = _defer_hangup()
    reload = _Reload(settings, load)
    _require_extras(settings)
    with _open_metrics_socket(settings) as listener, startup.lock_data_folder(settings):
        if listener is not None:
            settings = replace(settings, metrics_port=listener.getsockname()[1])
        database, _ = startup.open_prepared_database(settings, Clock())
        database.start()
        try:
            settings = _fit_to_descriptor_limit(settings)
            announce(settings)
            _tune_interpreter()
            log_started("deliver", settings)
            deliverer = delivery_process.DeliveryProcess(settings, database)
            on_hangup = partial(reload, settings, lambda changed: None, deliverer.stop)
            run_until_done(
                _deliver(deliverer, listener, partial(_handle_hangup, hangup, on_hangup))
            )
        finally:
            _defer_hangup()
            database.close()
    log.info("stopped")
    return EXIT_DATABASE_FAILED if database.broken else 0


async def _deliver(
    deliverer: delivery_process.DeliveryProcess,
    listener: socket.socket | None,
    on_startup: Callable[[], None],
) -> None:
    loop = asyncio.get_running_loop()
    on_startup()

    def stop() -> None:
        systemd.notify_stopping(STOP_MARGIN_S)
        deliverer.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    systemd.notify_ready(f"longwire {__version__} delivers")
    await deliverer.run(listener)


def _require_extras(settings: Settings) -> None:
    """Check first what is loaded later, or worker processes would be restarted without end."""
    if settings.otel_endpoint:
        extras.require("otel")


def _require_certificate(settings: Settings) -> None:
    """Check the certificate first, so that an invalid one fails with a clear message."""
    if not settings.tls_cert:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password="")
    except OSError as error:
        raise startup.StartupError(
            f"The certificate {settings.tls_cert} with the key {settings.tls_key} cannot be used: "
            f"{error.strerror or error}."
        ) from error


# --- reloading ---


class _Reload:
    """Applies changed settings and a renewed certificate while the process runs."""

    def __init__(self, loaded: Settings, load: LoadSettings) -> None:
        self._loaded = loaded
        self._load = load
        self._had_terminal = sys.stderr.isatty()

    def __call__(
        self, running: Settings, apply: Callable[[Settings], None], stop: Callable[[], None]
    ) -> None:
        """Load the settings again and apply those of them that can change.

        `running` are those of this process, with the port that it got.
        """
        if self._had_terminal and not sys.stderr.isatty():
            stop()  # the terminal was closed: nobody is left to press Ctrl-C
            return
        systemd.notify_reloading()
        try:
            self._reload(running, apply)
        finally:
            systemd.notify_ready(_describe_status(running))

    def _reload(self, running: Settings, apply: Callable[[Settings], None]) -> None:
        try:
            loaded = self._load()
            _require_certificate(loaded)
        except (SettingsError, startup.StartupError, OSError, ValueError) as error:
            log.error("reload failed, nothing was changed", reason=str(error))
            return
        reloadable = RELOADABLE
        if bool(loaded.tls_cert) != bool(running.tls_cert):
            reloadable -= {"tls_cert", "tls_key"}  # a certificate can be replaced, not introduced
        changed = list_changed(self._loaded, loaded)
        applied = {name: getattr(loaded, name) for name in reloadable}
        apply(replace(running, **applied))
        self._loaded = replace(self._loaded, **applied)
        configure_logging(loaded.log_level, loaded.log_format)
        log.info(
            "settings reloaded",
            changed=[name for name in changed if name in reloadable],
            needs_restart=[name for name in changed if name not in reloadable],
        )


def _defer_hangup() -> threading.Event:
    """Survive SIGHUP while nothing can be reloaded; the event says that there was one.

    Children do not inherit this.
    """
    deferred = threading.Event()
    signal.signal(signal.SIGHUP, lambda number, frame: deferred.set())
    return deferred


def _handle_hangup(deferred: threading.Event, on_hangup: Callable[[], None]) -> None:
    """On the event loop: handle SIGHUP from now on, and one that came before."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, on_hangup)
    if deferred.is_set():
        on_hangup()


def _load_reloaded(path: Path, started_with: Settings) -> Settings:
    """The settings that the parent process saved for its workers, if it has reloaded any."""
    return load_settings({}, json.loads(path.read_text())) if path.exists() else started_with


# --- sockets and locks ---


@contextmanager
def _open_metrics_socket(settings: Settings) -> Iterator[socket.socket | None]:
    """The socket for health and metrics, if configured."""
    if not settings.metrics_port:
        yield None
        return
    with _open_listening_socket(
        settings.metrics_host, settings.metrics_port, "--metrics-port"
    ) as listener:
        yield listener


@contextmanager
def _open_listening_socket(host: str, port: int, flag: str) -> Iterator[socket.socket]:
    """Bind the socket first, so that a port in use fails with a clear message."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise startup.StartupError(
                f"Cannot listen on {host}:{port}: {error.strerror}. "
                f"Choose another port with {flag}."
            ) from error
        listener.listen(BACKLOG)
        yield listener
    finally:
        listener.close()


# --- worker processes ---


def _run_workers(
    settings: Settings, listener: socket.socket, announce: Announce, reload: _Reload
) -> int:
    """Run `workers` processes on one socket and restart those that exit, until stopped."""
    database, prepared = startup.open_prepared_database(settings, Clock())
    database.close()
    stopping, hanging_up = threading.Event(), threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            _terminate(workers)  # a second signal: they stop at once
        stopping.set()

    workers: list[subprocess.Popen[bytes]] = []
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGHUP, lambda number, frame: hanging_up.set())
    # Nobody writes; workers see it close when this process exits, for whatever reason.
    lifeline, _write_end = os.pipe()
    # Each worker writes a byte when it serves.
    started, started_end = os.pipe()
    os.set_blocking(started, False)
    inherited = (listener.fileno(), lifeline, started_end)
    with tempfile.TemporaryDirectory(prefix="longwire-metrics-") as counters:
        reloaded = Path(counters) / "settings.json"
        environment = {
            **_to_environment(settings),
            SHARED_FOLDER_VARIABLE: counters,
            INHERITED_FDS_VARIABLE: ",".join(map(str, (*inherited, reloaded))),
        }

        def apply(changed: Settings) -> None:
            environment.update(_to_environment(changed))
            reloaded.write_text(json.dumps(_to_environment(changed)))
            for worker in workers:
                worker.send_signal(signal.SIGHUP)

        workers += [_start_worker(inherited, environment) for _ in range(settings.workers)]
        supervision = _WorkerSupervision(settings, started, partial(announce, settings, prepared))
        while not stopping.wait(0.2):
            supervision.notify()
            if hanging_up.is_set():
                hanging_up.clear()
                reload(settings, apply, stopping.set)
            workers[:] = [_restart_if_exited(each, inherited, environment) for each in workers]
        systemd.notify_stopping(_stop_takes_s(settings))
        _terminate(workers)
        codes = [worker.wait() for worker in workers]
    return max((code for code in codes if code > 0), default=0)


def _terminate(workers: Iterable[subprocess.Popen[bytes]]) -> None:
    for worker in workers:
        worker.terminate()


class _WorkerSupervision:
    """Tells systemd when all workers serve, and then that this process looks after them."""

    def __init__(self, settings: Settings, started: int, announce: Callable[[], None]) -> None:
        self._settings = settings
        self._announce = announce
        self._started = started
        self._count = 0
        self._watchdog_s = systemd.get_watchdog_interval_s()
        self._alive_at = -math.inf

    def notify(self) -> None:
        if self._count < self._settings.workers:
            with suppress(BlockingIOError):
                self._count += len(os.read(self._started, self._settings.workers))
            if self._count >= self._settings.workers:
                systemd.notify_ready(_describe_status(self._settings))
                self._announce()
        now = time.monotonic()
        if self._watchdog_s is not None and now - self._alive_at >= self._watchdog_s:
            self._alive_at = now
            systemd.notify_alive()


def _restart_if_exited(
    worker: subprocess.Popen[bytes], inherited: tuple[int, ...], environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    if worker.poll() is None:
        return worker
    log.error("worker exited, restarting", code=worker.returncode)
    time.sleep(RESTART_AFTER_S)
    return _start_worker(inherited, environment)


def _start_worker(
    inherited: tuple[int, ...], environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "longwire", "serve"],
        # All settings are in `environment`; where the parent took them from must not interfere.
        env={**_without_settings(os.environ), **environment},
        pass_fds=inherited,
        start_new_session=True,  # Ctrl-C reaches only the parent, which stops the workers
    )


def _without_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Without what is for the parent alone: settings, and the socket of systemd."""
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith((PREFIX, *systemd.VARIABLES))
    }


def _to_environment(settings: Settings) -> dict[str, str]:
    """The settings as environment variables for a worker."""
    environment: dict[str, str] = {}
    for each in setting_fields():
        value = getattr(settings, each.name)
        if isinstance(value, tuple):
            value = ",".join(str(part) for part in value)
        elif isinstance(value, Path):
            value = value.absolute()
        environment[PREFIX + each.name.upper()] = str(value)
    environment[PREFIX + "WORKERS"] = "1"
    return environment
