"""One guard for every connection that leaves: it looks at the address, not at the name.

A name is resolved once, all its addresses are judged, and the connection goes to one of exactly
these, so that nothing can change between the look and the step. Public addresses may be reached;
everything else (this machine, private networks, metadata services, and IPv6 addresses that carry
one of those inside) only when the operator has allowed its network.
"""

import asyncio
import contextlib
import functools
import queue
import re
import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

RESOLVE_TIMEOUT_S = 5.0
CONNECT_TIMEOUT_S = 5.0
RESOLUTIONS_MAX = 16
IDLE_THREAD_S = 10.0
HOST_CHARACTERS_MAX = 253
# Only new connections look into it; each entry holds addresses that have been judged.
REMEMBER_ADDRESSES_S = 10

# `ipaddress` calls multicast, NAT64 of loopback and more "global", and changes its mind between
# versions. These are the registries of special addresses, written out.
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
# The only part of IPv6 that has been given out for public use, and what is not public in it.
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

# getaddrinfo stops reading at a NUL and takes a zone after a percent sign; the rest ends a host in
# a URL. None of them is in a name.
NO_HOST = re.compile(r"[\x00-\x20\x7f-\xa0/\\?#@%<>\"\[\]]")

Address = IPv4Address | IPv6Address
# What getaddrinfo says about one address: family, type, protocol, canonical name, socket address.
AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]


class EgressDenied(Exception):
    """The way out leads where it must not. The text is ours and safe to show."""


class Egress:
    """Says which addresses may be reached, and reaches them."""

    def __init__(self, allowed: Sequence[str] = ()) -> None:
        """`allowed` are networks such as 10.0.0.0/8 that may be reached although not public."""
        self._allowed = [ip_network(network) for network in allowed]
        self._names = _Names()

    def permits(self, address: str) -> bool:
        """Whether a connection to this IP address may be made."""
        try:
            ip = ip_address(address)
        except ValueError:
            return False
        if isinstance(ip, IPv6Address):
            if ip.scope_id is not None:
                return False
            # The machine itself treats the two as one.
            ip = ip.ipv4_mapped or ip
        if any(ip in network for network in self._allowed):
            return True
        return is_public(ip) and not is_this_machine(ip)

    def check(self, address: str) -> None:
        """For libraries that connect by themselves: raise EgressDenied unless permitted."""
        if not self.permits(address):
            raise EgressDenied(f"{address} is not a public address and may not be reached")

    def refuse_literal(self, host: str) -> str | None:
        """Why a host that is an address, in any spelling, is refused; None for a name.

        Nobody is asked for anything. A name is judged when it is used.
        """
        try:
            for address in numeric(host):
                self.check(address)
        except EgressDenied as denied:
            return str(denied)
        except socket.gaierror:
            return "this is not the name of a host"
        return None

    async def resolve(self, host: str, port: int) -> list[str]:
        """All addresses of a host, each of them permitted.

        Raises EgressDenied if any is not, and socket.gaierror if there are none or not in time.
        """
        addresses = numeric(host)
        if addresses:
            for address in addresses:
                self.check(address)
            return addresses
        try:
            async with asyncio.timeout(RESOLVE_TIMEOUT_S):
                addresses = await asyncio.wrap_future(self._names.ask(host))
        except TimeoutError:
            raise socket.gaierror(socket.EAI_AGAIN, "the name did not resolve in time") from None
        if not all(map(self.permits, addresses)):
            # Which address stays with us: names inside a private network are nobody's business.
            raise EgressDenied(f"{host} leads to an address that may not be reached")
        return addresses

    async def connect(self, host: str, port: int) -> socket.socket:
        """A non-blocking socket, connected to one of the host's addresses.

        Raises as `resolve` does, and OSError when none of the addresses answers in time.
        """
        addresses = await self.resolve(host, port)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + CONNECT_TIMEOUT_S
        failure = OSError("there is no address to connect to")
        for tried, address in enumerate(addresses):
            share_s = (deadline - loop.time()) / (len(addresses) - tried)
            try:
                async with asyncio.timeout(share_s):
                    return await self._connect_to(address, port)
            except TimeoutError:
                failure = TimeoutError("the connection was not made in time")
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

    def open_socket(self, info: AddressInfo) -> socket.socket:
        """A socket for an answer of getaddrinfo, where a library takes a socket factory."""
        family, kind, protocol, _, target = info
        self.check(target[0])
        return socket.socket(family, kind, protocol)

    def connector(self, *, connections_max: int, keep_alive_s: float) -> aiohttp.TCPConnector:
        """aiohttp's connections, guarded; to be made inside the event loop.

        For a URL with an address instead of a name aiohttp asks no resolver; the socket factory
        sees it nevertheless.
        """
        return _Connector(
            resolver=_Resolver(self),
            socket_factory=self.open_socket,
            ttl_dns_cache=REMEMBER_ADDRESSES_S,
            limit=connections_max,
            keepalive_timeout=keep_alive_s,
        )


def is_public(ip: Address) -> bool:
    """Whether an address is meant to be reached by everybody."""
    if isinstance(ip, IPv4Address):
        return not any(ip in network for network in NOT_PUBLIC)
    if ip in NAT64:
        return is_public(IPv4Address(int(ip) & 0xFFFFFFFF))
    return ip in PUBLIC_IPV6 and not any(ip in network for network in NOT_PUBLIC_IPV6)


def is_this_machine(ip: Address) -> bool:
    """Whether packets to this address would stay here.

    On its own public address a machine is inside its own firewall. Connecting a datagram socket
    sends nothing; it makes the system choose where it would send from, and to itself it sends from
    the same address.
    """
    family = socket.AF_INET if isinstance(ip, IPv4Address) else socket.AF_INET6
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((str(ip), 9))
        return ip_address(probe.getsockname()[0]) == ip
    return False


def numeric(host: str) -> list[str]:
    """The address that a host is, in whatever spelling the system takes for one; [] for a name."""
    if "%" in host:
        raise EgressDenied("an address with a zone may not be reached")
    if not 0 < len(host) <= HOST_CHARACTERS_MAX or NO_HOST.search(host):
        raise socket.gaierror(socket.EAI_NONAME, "this is not the name of a host")
    try:
        return _ask(host, socket.AI_NUMERICHOST)
    except UnicodeError:
        raise socket.gaierror(socket.EAI_NONAME, "this is not the name of a host") from None
    except socket.gaierror:
        return []


def _ask(host: str, flags: int = 0) -> list[str]:
    addresses = []
    for *_, target in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags):
        zone = target[3] if len(target) == 4 else 0
        addresses.append(f"{target[0]}%{zone}" if zone else str(target[0]))
    return list(dict.fromkeys(addresses))


class _Names:
    """Asks for names, in a few threads of its own.

    The system's resolver blocks and cannot be called off. So the threads are bounded, nobody waits
    for them when the process ends, several who ask for the same name share one answer, and what
    nobody waits for any more is not asked.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: dict[str, Future[list[str]]] = {}
        self._waiting: queue.SimpleQueue[tuple[str, float]] = queue.SimpleQueue()
        self._threads = 0

    def ask(self, host: str) -> Future[list[str]]:
        with self._lock:
            answer = self._asked.get(host)
            if answer is None:
                answer = self._asked[host] = Future()
                # From here on it cannot be cancelled: others may wait for it, too.
                answer.set_running_or_notify_cancel()
                self._waiting.put((host, time.monotonic()))
            if self._threads < min(len(self._asked), RESOLUTIONS_MAX):
                threading.Thread(target=self._serve, name="resolve", daemon=True).start()
                self._threads += 1
            return answer

    def _serve(self) -> None:
        while True:
            try:
                host, asked_at = self._waiting.get(timeout=IDLE_THREAD_S)
            except queue.Empty:
                with self._lock:
                    # Under the lock nothing can be put: either there is work now, or none is left.
                    if self._waiting.empty():
                        self._threads -= 1
                        return
                continue
            try:
                if time.monotonic() - asked_at > RESOLVE_TIMEOUT_S:
                    raise socket.gaierror(socket.EAI_AGAIN, "the name did not resolve in time")
                addresses = _ask(host)
            except Exception as error:
                self._taken(host).set_exception(error)
            else:
                self._taken(host).set_result(addresses)

    def _taken(self, host: str) -> Future[list[str]]:
        """The answer to fill in; whoever asks from now on starts anew."""
        with self._lock:
            return self._asked.pop(host)


class _Resolver(AbstractResolver):
    """What aiohttp asks for the addresses of a name."""

    def __init__(self, egress: Egress) -> None:
        self._egress = egress

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await self._egress.resolve(host, port)
        ]

    async def close(self) -> None:
        """There is nothing to let go of."""


class _Connector(aiohttp.TCPConnector):
    """aiohttp's connections, without those that somebody keeps open by not reading.

    Closing one waits until everything written has been taken, which may be never; all the while the
    connection and what was to be sent stay in memory. So what is not written by then is dropped.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._lent: set[asyncio.Transport] = set()

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's name
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        transport = connection.transport
        if transport is not None:
            self._lent.add(transport)
            connection.add_callback(functools.partial(self._take_back, transport))
        return connection

    def _take_back(self, transport: asyncio.Transport) -> None:
        self._lent.discard(transport)
        if transport.get_write_buffer_size():
            transport.abort()

    async def close(self, *, abort_ssl: bool = False) -> None:
        while self._lent:
            self._lent.pop().abort()
        await super().close(abort_ssl=abort_ssl)


# For what the operator has named, as they have named the database: it may be anywhere, and often is
# in their own network. The guard is for what others name.
ANYWHERE = Egress(["0.0.0.0/0", "::/0"])
