"""The egress guard: decides by IP address which hosts outbound connections may reach.

A host name is resolved once, all its addresses are checked, and the connection goes to one of
exactly these, so DNS rebinding cannot slip in between. Public addresses are permitted; everything
else (this machine, private networks, metadata services, and IPv6 addresses that embed one of those)
only when the operator has allowed its network.

Client libraries run unmodified inside `Egress.guarded()`: a context variable marks their tasks, the
event loop resolves and connects through the guard, and an audit hook refuses every other way to
open a connection.
"""

import asyncio
import contextlib
import functools
import queue
import re
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from longwire.delivery.http.open_connections import UNLIMITED, OpenConnections
from longwire.delivery.http.proxies import Proxy
from longwire.work.budgets import TokenBucket
from longwire.work.fair_queue import FairQueue
from longwire.work.turns import CallerKey, current_caller

RESOLVE_TIMEOUT_S = 5.0
CONNECT_TIMEOUT_S = 5.0
RESOLUTIONS_MAX = 16
# Of one group or caller: whose names hang leaves most of the threads to the others.
RESOLUTIONS_PER_CALLER_MAX = 4
IDLE_THREAD_S = 10.0
HOST_CHARACTERS_MAX = 253
TLS_SHUTDOWN_TIMEOUT_S = 1
KEPT_EXCHANGES_BURST = 200
# For unknown names and for those with an address that is not permitted alike.
NOT_RESOLVED = "the host name does not resolve to an address that may be reached"

# `ipaddress` calls multicast, NAT64 of loopback and more "global", and differs between versions.
# These are the registries of special-purpose addresses, written out.
NOT_PUBLIC = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network; 0.0.0.0 connects to this machine
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by carriers; also a cloud's metadata, 100.100.100.200
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's metadata behind an address that looks public
        "169.254.0.0/16",  # link-local; most clouds' metadata
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; also a cloud's metadata, 192.0.0.192
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays from IPv6 to IPv4
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# The only IPv6 range allocated for public use, and what is not public in it.
PUBLIC_IPV6 = IPv6Network("2000::/3")
NOT_PUBLIC_IPV6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments; also Teredo, which carries an IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which carries an IPv4 address
        "3fff::/20",  # documentation
    )
)
# How a network without IPv4 reaches IPv4; the address is in the last 32 bits.
NAT64 = IPv6Network("64:ff9b::/96")

# getaddrinfo stops at a NUL and takes a zone after a percent sign; the rest ends a host in a URL.
# None of them occurs in a host name.
_INVALID_IN_HOST = re.compile(r"[\x00-\x20\x7f-\xa0/\\?#@%<>\"\[\]]")

IpAddress = IPv4Address | IPv6Address
# One result of getaddrinfo: family, type, protocol, canonical name, socket address.
AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]


class EgressDenied(Exception):
    """The guard refuses a destination. The message is safe to show to users."""


class Egress:
    """Decides which addresses may be reached, and connects to them."""

    def __init__(
        self,
        allowed: Sequence[str] = (),
        *,
        connections_max: int = UNLIMITED,
        proxies: Sequence[Proxy] = (),
    ) -> None:
        """`allowed` are networks such as 10.0.0.0/8 that may be reached although not public.

        Beyond `connections_max` no connection is kept open between attempts. Webhooks are sent
        through the operator's `proxies`, if there are any.
        """
        self.proxies = proxies
        # Of all destinations together: what keeping exchanges may cost.
        self.kept_exchanges = TokenBucket(KEPT_EXCHANGES_BURST, 0.0)
        self.open_connections = OpenConnections(connections_max)
        self._allowed = [ip_network(network) for network in allowed]
        self._dns = _DnsResolver()

    @classmethod
    def build_unrestricted(cls) -> "Egress":
        """For destinations that the operator configures; they often are in a private network.

        The guard is for destinations that tenants configure.
        """
        return cls(["0.0.0.0/0", "::/0"])

    @functools.cached_property
    def unrestricted(self) -> "Egress":
        """The one beside this one, whose names are looked up by threads of its own."""
        return self.build_unrestricted()

    def is_permitted(self, address: str) -> bool:
        """Whether a connection to this IP address may be made."""
        try:
            ip = ip_address(address)
        except ValueError:
            return False
        if isinstance(ip, IPv6Address):
            if ip.scope_id is not None:
                return False
            # The system connects both to the same host.
            ip = ip.ipv4_mapped or ip
        if any(ip in network for network in self._allowed):
            return True
        return is_public(ip) and not is_this_machine(ip)

    def check(self, address: str) -> None:
        """Raise EgressDenied unless a connection to this IP address is permitted."""
        if not self.is_permitted(address):
            raise EgressDenied(f"{address} is not a public address and may not be reached")

    def validate_host(self, host: str) -> str | None:
        """Why a host that is an IP address, in any notation, is refused; None for a host name.

        Does not resolve anything: names are checked when they are used.
        """
        try:
            for address in parse_ip_literal(host):
                self.check(address)
        except EgressDenied as denied:
            return str(denied)
        except socket.gaierror:
            return "not a valid host name"
        return None

    async def resolve(self, host: str) -> list[str]:
        """All addresses of a host, each of them permitted.

        Raises socket.gaierror if one of a name is not, if there are none or not in time, and
        EgressDenied if the host is an address that is not permitted.
        """
        addresses = parse_ip_literal(host)
        if addresses:
            for address in addresses:
                self.check(address)
            return addresses
        try:
            async with asyncio.timeout(RESOLVE_TIMEOUT_S):
                addresses = await asyncio.wrap_future(self._dns.lookup(host))
        except TimeoutError:
            raise socket.gaierror(socket.EAI_AGAIN, "DNS lookup timed out") from None
        if not all(map(self.is_permitted, addresses)):
            # As for an unknown name: which names there are inside a private network is a secret.
            raise socket.gaierror(socket.EAI_NONAME, NOT_RESOLVED)
        return addresses

    async def connect(self, host: str, port: int) -> socket.socket:
        """A non-blocking socket, connected to one of the host's addresses.

        Raises as `resolve` does, and OSError when no address accepts in time.
        """
        return await self.connect_to_any(await self.resolve(host), port)

    async def connect_to_any(self, addresses: Collection[str], port: int) -> socket.socket:
        """The same for addresses that `resolve` has returned, in this order."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + CONNECT_TIMEOUT_S
        failure = OSError("no address to connect to")
        for tried, address in enumerate(addresses):
            share_s = (deadline - loop.time()) / (len(addresses) - tried)
            try:
                async with asyncio.timeout(share_s):
                    return await self._connect_to(address, port)
            except TimeoutError:
                failure = TimeoutError("connecting timed out")
            except OSError as error:
                failure = error
        raise failure

    async def _connect_to(self, address: str, port: int) -> socket.socket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        outgoing = socket.socket(family, socket.SOCK_STREAM)
        try:
            outgoing.setblocking(False)
            await asyncio.get_running_loop().sock_connect(outgoing, (address, port))
            self.check(outgoing.getpeername()[0])
        except BaseException:
            outgoing.close()
            raise
        return outgoing

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """Inside, every connection that this task and the tasks it starts open is checked."""
        _guard_loop(asyncio.get_running_loop())
        token = _active.set(self)
        try:
            yield
        finally:
            _active.reset(token)

    def open_socket(self, info: AddressInfo) -> socket.socket:
        """A socket for a getaddrinfo result, for libraries that take a socket factory."""
        family, kind, protocol, _, target = info
        self.check(target[0])
        return socket.socket(family, kind, protocol)


# --- guarding libraries that open their connections themselves ---

# The guard of the current task, if it reaches a tenant's destination.
_active: ContextVar[Egress | None] = ContextVar("egress", default=None)


def _guard_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Make a loop ask the guard of the current task, where it connects without Python's sockets.

    uvloop resolves and connects in C, unseen by the audit hook. An attribute of the instance hides
    the method of its class, for the loop itself as well as for libraries.
    """
    if "create_connection" in vars(loop):
        return
    _add_audit_hook()
    wrappers: Mapping[str, Callable[..., Any]] = {
        "create_connection": _create_connection,
        "create_unix_connection": _refuse_if_guarded,
        "create_datagram_endpoint": _refuse_if_guarded,
        "subprocess_exec": _refuse_if_guarded,
        "subprocess_shell": _refuse_if_guarded,
        "run_in_executor": _run_in_executor,
    }
    for name, wrapper in wrappers.items():
        setattr(loop, name, functools.partial(wrapper, getattr(loop, name)))


async def _create_connection(
    original: Callable[..., Awaitable[Any]],
    protocol_factory: Callable[[], asyncio.BaseProtocol],
    host: str | None = None,
    port: int | None = None,
    *,
    ssl: Any = None,
    sock: socket.socket | None = None,
    server_hostname: str | None = None,
    **options: Any,
) -> Any:
    egress = _active.get()
    if egress is None:
        return await original(
            protocol_factory,
            host,
            port,
            ssl=ssl,
            sock=sock,
            server_hostname=server_hostname,
            **options,
        )
    if sock is not None:
        _check_socket_address(egress, sock, sock.getpeername())
    elif host is None or port is None:
        raise EgressDenied("a connection needs a host and a port")
    else:
        sock = await egress.connect(host, int(port))
        server_hostname = host if server_hostname is None else server_hostname
    tls = {name: value for name, value in options.items() if name.startswith("ssl_")}
    if ssl:
        tls = {"ssl_shutdown_timeout": TLS_SHUTDOWN_TIMEOUT_S, **tls}
        tls |= {"ssl": ssl, "server_hostname": server_hostname}
    try:
        return await original(protocol_factory, sock=sock, **tls)
    except BaseException:
        sock.close()
        raise


async def _refuse_if_guarded(
    original: Callable[..., Awaitable[Any]], *args: Any, **options: Any
) -> Any:
    if _active.get() is not None:
        raise EgressDenied("only TCP connections may be opened, and no process started")
    return await original(*args, **options)


def _run_in_executor(
    original: Callable[..., Any], executor: Any, function: Callable[..., Any], *args: Any
) -> Any:
    """Threads do not inherit the context by themselves, and guarded code may not start any."""
    if _active.get() is None:
        return original(executor, function, *args)
    return Context().run(original, executor, copy_context().run, function, *args)


# While guarded, connections to addresses are checked, and everything else here is refused: what a
# thread or process opens would not be guarded, as it does not inherit the context. (Python 3.11
# does not audit the start of threads; of our clients only paho has one, and it is not used.)
_AUDITED = frozenset(
    (
        *("socket.connect", "socket.sendto", "socket.sendmsg"),
        *("_thread.start_new_thread", "_thread.start_joinable_thread", "subprocess.Popen"),
        *("os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system"),
    )
)


@functools.cache
def _add_audit_hook() -> None:
    """Once for the process; a hook cannot be removed."""
    audited, active = _AUDITED, _active  # globals are gone when the interpreter exits

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if event in audited and (egress := active.get()) is not None:
            _check_event(egress, event, args)

    sys.addaudithook(audit)


def _check_event(egress: Egress, event: str, args: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        _check_socket_address(egress, *args)
    elif not event.startswith("socket.") or args[1] is not None:
        raise EgressDenied(f"{event} may not be used to reach a destination")


def _check_socket_address(egress: Egress, sock: socket.socket, address: Any) -> None:
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        raise EgressDenied("only TCP connections may be opened")
    egress.check(str(address[0]))


# --- addresses and names ---


def is_public(ip: IpAddress) -> bool:
    """Whether an address is publicly routable."""
    if isinstance(ip, IPv4Address):
        return not any(ip in network for network in NOT_PUBLIC)
    if ip in NAT64:
        return is_public(IPv4Address(int(ip) & 0xFFFFFFFF))
    return ip in PUBLIC_IPV6 and not any(ip in network for network in NOT_PUBLIC_IPV6)


def is_this_machine(ip: IpAddress) -> bool:
    """Whether this is an address of this machine, even a public one: it is behind the firewall.

    Connecting a datagram socket sends nothing; it makes the system choose a source address, which
    for its own addresses is the same address.
    """
    family = socket.AF_INET if isinstance(ip, IPv4Address) else socket.AF_INET6
    token = _active.set(None)  # the audit hook would check the probe, and probe again
    try:
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(ip), 9))
            return ip_address(probe.getsockname()[0]) == ip
        return False
    finally:
        _active.reset(token)


def parse_ip_literal(host: str) -> list[str]:
    """The address, if a host is one in any notation that the system accepts; [] for a name."""
    if "%" in host:
        raise EgressDenied("an address with a zone may not be reached")
    if not 0 < len(host) <= HOST_CHARACTERS_MAX or _INVALID_IN_HOST.search(host):
        raise socket.gaierror(socket.EAI_NONAME, "not a valid host name")
    try:
        return _getaddrinfo(host, socket.AI_NUMERICHOST)
    except UnicodeError:
        raise socket.gaierror(socket.EAI_NONAME, "not a valid host name") from None
    except socket.gaierror:
        return []


def _getaddrinfo(host: str, flags: int = 0) -> list[str]:
    addresses = []
    for *_, target in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags):
        zone = target[3] if len(target) == 4 else 0
        addresses.append(f"{target[0]}%{zone}" if zone else str(target[0]))
    return list(dict.fromkeys(addresses))


@dataclass(frozen=True, slots=True, eq=False)
class _Lookup:
    key: tuple[CallerKey, str]  # who asks, and the name
    queued_at: float
    result: Future[list[str]]


class _DnsResolver:
    """Resolves names in a few threads of its own, which groups and callers share.

    The system's resolver blocks and cannot be cancelled. So the threads are bounded and daemonic,
    concurrent lookups of one name by one caller share a result, and expired lookups are skipped.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: dict[tuple[CallerKey, str], _Lookup] = {}
        self._queue: FairQueue[_Lookup] = FairQueue(RESOLUTIONS_PER_CALLER_MAX)
        self._threads = 0

    def lookup(self, host: str) -> Future[list[str]]:
        caller = current_caller.get()
        key = (caller, host)
        with self._lock:
            lookup = self._pending.get(key)
            if lookup is None:
                lookup = self._pending[key] = _Lookup(key, time.monotonic(), Future())
                # Not cancellable from here on: others may wait for it, too.
                lookup.result.set_running_or_notify_cancel()
                self._queue.put(caller, lookup)
            if self._threads < min(len(self._pending), RESOLUTIONS_MAX):
                thread = threading.Thread(target=self._work, name="resolve", daemon=True)
                Context().run(thread.start)  # guarded code may not start threads
                self._threads += 1
            return lookup.result

    def _work(self) -> None:
        while True:
            try:
                taken = self._queue.get(IDLE_THREAD_S)
            except queue.Empty:
                if self._may_end():
                    return
                continue
            assert taken is not None  # the queue is never stopped
            caller, lookup = taken
            try:
                self._resolve(lookup)
            finally:
                self._queue.release(caller)

    def _may_end(self) -> bool:
        with self._lock:
            # Under the lock nothing can be queued: either there is work now, or none.
            if len(self._queue):
                return False
            self._threads -= 1
            return True

    def _resolve(self, lookup: _Lookup) -> None:
        try:
            if time.monotonic() - lookup.queued_at > RESOLVE_TIMEOUT_S:
                raise socket.gaierror(socket.EAI_AGAIN, "DNS lookup timed out")
            addresses = _getaddrinfo(lookup.key[1])
        except Exception as error:
            self._pop(lookup).set_exception(error)
        else:
            self._pop(lookup).set_result(addresses)

    def _pop(self, lookup: _Lookup) -> Future[list[str]]:
        with self._lock:
            del self._pending[lookup.key]
        return lookup.result
