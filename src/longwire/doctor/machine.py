"""Checks of the machine: descriptors, memory, clock, disk, files, certificate, port."""

import ctypes
import fcntl
import http.client
import json
import os
import resource
import secrets
import shutil
import socket
import ssl
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509

from longwire.clock import DAY, SECOND, Clock
from longwire.doctor.findings import Area, Finding
from longwire.process.descriptors import UNLIMITED, DescriptorBudget, divide_descriptors
from longwire.process.memory_bounds import describe_memory_bounds
from longwire.settings import Settings

MIB = 1024 * 1024
# Interpreter and libraries, also those that are loaded by their first use; what clients may take
# comes on top.
PROGRAM_MIB = 150
FREE_BYTES_MIN = 512 * MIB
FREE_SHARE_MIN = 0.1
FSYNCS = 15
FSYNC_SLOW_S = 0.02
# No disk is as fast as this: something answers that did not write.
FSYNC_IMPLAUSIBLE_S = 3e-6
CERTIFICATE_DAYS_MIN = 14
TIMEOUT_S = 5.0

# Values of Linux.
_TIME_ERROR = 5
_TIMEX_BYTES = 208

_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_IN_MEMORY = {"tmpfs", "ramfs"}
_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "glusterfs"}
_CONTAINER_LAYERS = {"overlay", "aufs"}


def check_descriptors(area: Area, settings: Settings) -> Iterator[Finding]:
    budget = _divide_descriptors(settings)
    text = f"{budget.limit} file descriptors: {budget.connections_max} clients, "
    text += f"{budget.attempts_in_flight_max} attempts in flight"
    is_lowered = (
        budget.connections_max < settings.connections_max
        or budget.attempts_in_flight_max < settings.fixed.attempts_in_flight_max
    )
    if is_lowered:
        advice = "raise the limit (LimitNOFILE= of systemd, ulimit -Hn), or lower connections_max"
        yield area.warning(f"{text}; fewer than the settings allow", advice)
    else:
        yield area.ok(text)


def _divide_descriptors(settings: Settings) -> DescriptorBudget:
    """As a process does it, which raises its soft limit to the hard one."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return divide_descriptors(
        UNLIMITED if hard == resource.RLIM_INFINITY else hard,
        connections_max=settings.connections_max,
        attempts_in_flight_max=settings.fixed.attempts_in_flight_max,
        database_connections=settings.database_connections,
    )


def check_memory(area: Area, settings: Settings) -> Iterator[Finding]:
    available = _read_available_bytes()
    if available is None:
        return
    bounds = describe_memory_bounds(_divide_descriptors(settings).connections_max, settings)
    needed_mib = (PROGRAM_MIB + sum(bounds.values())) * settings.workers
    text = (
        f"{available // MIB} MiB available, up to {needed_mib} MiB used if clients use all limits"
    )
    if available < needed_mib * MIB:
        advice = "give it more memory, or lower connections_max, request_bytes_max or workers"
        yield area.warning(text, advice)
    else:
        yield area.ok(text)


def _read_available_bytes() -> int | None:
    """What is available, or the limit of the container, whichever is less."""
    found = []
    for path in _CGROUP_LIMITS:
        text = Path(path).read_text().strip() if Path(path).exists() else ""
        if text.isdigit():
            found.append(int(text))
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        lines = (line.split() for line in meminfo.read_text().splitlines())
        found += [int(words[1]) * 1024 for words in lines if words[0] == "MemAvailable:"]
    return min(found, default=None)


def check_clock(area: Area) -> Iterator[Finding]:
    state = _read_clock_state()
    if state == _TIME_ERROR:
        advice = "run chrony, ntpd or systemd-timesyncd; tokens and retries depend on the time"
        yield area.warning("the kernel says that the clock is not synchronized", advice)
    elif state is not None:
        yield area.ok("the kernel says that the clock is synchronized")


def _read_clock_state() -> int | None:
    """The result of adjtimex, which only reads here; None where there is none."""
    try:
        adjtimex = ctypes.CDLL(None, use_errno=True).adjtimex
    except (AttributeError, OSError):
        return None
    state = int(adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES)))
    return None if state < 0 else state


# --- disk ---


def check_disk(area: Area, settings: Settings) -> Iterator[Finding]:
    folder = settings.data
    if not folder.is_dir():
        if settings.database:
            return
        advice = "start `longwire serve` once, or name the folder with --data"
        yield area.warning(f"there is no folder {folder.absolute()}", advice)
        return
    yield from _check_space(area, folder)
    if not settings.database:
        yield from _check_filesystem(area, find_filesystem(folder))
        yield from _check_fsync(area, folder)


def _check_space(area: Area, folder: Path) -> Iterator[Finding]:
    usage = shutil.disk_usage(folder)
    text = f"{usage.free // MIB} MiB of {usage.total // MIB} MiB free in {folder.absolute()}"
    if usage.free < FREE_BYTES_MIN:
        yield area.problem(text, "free some space now: a full disk makes every write a 503")
    elif usage.free < usage.total * FREE_SHARE_MIN:
        yield area.warning(text, "free some space, set retention_…_days, or use a larger disk")
    else:
        yield area.ok(text)


def find_filesystem(folder: Path) -> str:
    """The type of the file system that a folder is on; empty if unknown."""
    mounts = Path("/proc/self/mounts")
    best, found = "", ""
    for line in mounts.read_text().splitlines() if mounts.exists() else []:
        _, point, kind, *_ = line.split()
        point = point.replace("\\040", " ")
        is_below = folder.resolve().is_relative_to(point)
        if is_below and len(point) >= len(best):
            best, found = point, kind
    return found


def _check_filesystem(area: Area, kind: str) -> Iterator[Finding]:
    if kind in _IN_MEMORY:
        advice = "use a disk: name a folder on it with --data"
        yield area.problem(f"the data folder is in memory ({kind})", advice)
    elif kind in _NETWORK:
        advice = "use a local disk, or PostgreSQL: SQLite's locks and flushes need a local one"
        yield area.problem(f"the data folder is on a network file system ({kind})", advice)
    elif kind in _CONTAINER_LAYERS:
        advice = "mount a volume for the data folder: this layer goes with the container"
        yield area.warning(f"the data folder is in a layer of a container ({kind})", advice)
    elif kind:
        yield area.ok(f"the data folder is on {kind}")


def _check_fsync(area: Area, folder: Path) -> Iterator[Finding]:
    median_s = measure_fsync(folder)
    text = f"a flush to disk takes {median_s * 1000:.2f} ms"
    if median_s > FSYNC_SLOW_S:
        yield area.warning(text, "use a faster disk: every commit waits for one flush")
    elif median_s < FSYNC_IMPLAUSIBLE_S:
        advice = "check that the file system or hypervisor does not ignore flushes"
        yield area.problem(f"{text}, which no disk does", advice)
    else:
        yield area.ok(text)


def measure_fsync(folder: Path) -> float:
    """The median time of a flush after a small write, in a temporary file."""
    taken = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(FSYNCS):
            file.write(secrets.token_bytes(4096))
            file.flush()
            begun = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


# --- files ---


def check_files(area: Area, settings: Settings) -> Iterator[Finding]:
    private = [settings.data, settings.data / "secret.key", settings.data / "operator.json"]
    private += [Path(each) for each in (settings.tls_key, settings.fcm_account) if each]
    checked = 0
    for path in private:
        if not path.exists():
            continue
        checked += 1
        mode = path.stat().st_mode & 0o777
        if mode & 0o077:
            advice = f"chmod {'700' if path.is_dir() else '600'} {path}"
            yield area.problem(f"others may use {path} (mode {mode:03o})", advice)
        if not os.access(path, os.R_OK):
            yield area.problem(f"{path} cannot be read", "run this as the user of the service")
    if checked:
        yield area.ok(f"{checked} private files and folders checked")


def check_certificate(area: Area, settings: Settings) -> Iterator[Finding]:
    if not settings.tls_cert:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password="")
        certificate = x509.load_pem_x509_certificate(Path(settings.tls_cert).read_bytes())
    except (OSError, ValueError) as error:
        yield area.problem(f"the certificate cannot be used: {error}", "check tls_cert and tls_key")
        return
    ends = certificate.not_valid_after_utc
    days = (int(ends.timestamp()) * SECOND - Clock().now()) / DAY
    text = f"the certificate expires on {ends:%Y-%m-%d}"
    advice = "renew it, then send SIGHUP to the service"
    if days < 0:
        yield area.problem(f"the certificate has expired on {ends:%Y-%m-%d}", advice)
    elif days < CERTIFICATE_DAYS_MIN:
        yield area.warning(text, advice)
    else:
        yield area.ok(text)
    yield from _check_host(area, certificate, settings.public_url)


def _check_host(area: Area, certificate: x509.Certificate, public_url: str) -> Iterator[Finding]:
    host = urlsplit(public_url).hostname
    if not host:
        return
    try:
        names = certificate.extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        ).value.get_values_for_type(x509.DNSName)
    except x509.ExtensionNotFound:
        names = []
    wildcard = "*." + host.partition(".")[2]
    if names and host not in names and wildcard not in names:
        advice = "use a certificate for the host of public_url"
        yield area.warning(f"the certificate is not for {host}, but for {', '.join(names)}", advice)


# --- the service ---


def is_served(settings: Settings) -> bool:
    """Whether a process serves the data folder; always no for PostgreSQL, which has no lock."""
    lock = settings.data / "serve.lock"
    if settings.database or not lock.exists():
        return False
    with lock.open("r") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def check_port(area: Area, settings: Settings) -> Iterator[Finding]:
    host, port = settings.host, settings.port
    if not port:
        return
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            yield from _check_listener(area, settings, error)
            return
    if is_served(settings):
        yield area.ok(f"a service runs on this data folder, on another port than {port}")
    else:
        yield area.ok(f"no service runs, and {host}:{port} is free")


def _check_listener(area: Area, settings: Settings, error: OSError) -> Iterator[Finding]:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    place = f"{settings.host}:{settings.port}"
    try:
        status, answer = _get_ready(host, settings)
    except (OSError, http.client.HTTPException, ValueError):
        advice = "stop what listens there, or choose another --port"
        yield area.problem(f"cannot listen on {place}: {error.strerror}, not by longwire", advice)
        return
    if status == http.client.OK:
        yield area.ok(f"the service on {place} is ready")
    else:
        reason = str(answer.get("reason", "unknown"))
        yield area.problem(f"the service on {place} is not ready: {reason}", "see its log")


def _get_ready(host: str, settings: Settings) -> tuple[int, dict[str, object]]:
    connection: http.client.HTTPConnection
    if settings.tls_cert:
        context = ssl._create_unverified_context()  # it is our own, whatever its name
        connection = http.client.HTTPSConnection(
            host, settings.port, timeout=TIMEOUT_S, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, settings.port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", "/health/ready")
        response = connection.getresponse()
        answer = json.loads(response.read(65_536))
    finally:
        connection.close()
    if not isinstance(answer, dict) or "status" not in answer:
        raise ValueError("not the health of longwire")
    return response.status, answer
