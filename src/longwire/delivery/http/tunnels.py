"""Connections through proxies: HTTP CONNECT and SOCKS5, one after the other if there are several.

A proxy opens connections from where it is, with the addresses that it finds there. So the guard
decides about the address of a proxy, and about those of each host behind it before any proxy is
asked. Then `socks5` gets an address that was checked; `http` and `socks5h` get the name, as they
decide by names, and look it up themselves.
"""

import asyncio
import ipaddress
import re
import socket
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import msgspec

from longwire.delivery.destinations.base import FailureCode, Unreachable
from longwire.delivery.destinations.connections import (
    CONNECTION_LOST,
    TIMED_OUT,
    ConnectionFailed,
    outcome_of_error,
)
from longwire.delivery.http.egress import CONNECT_TIMEOUT_S, Egress, EgressDenied
from longwire.delivery.http.proxies import Proxy

# Of what a proxy answers: its head, which has a page behind it at most if it refuses.
HEAD_BYTES_MAX = 16 * 1_024

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})[ \r\n]")
_VERSION, _LOGIN_VERSION, _CONNECT = 5, 1, 1
_NO_LOGIN, _LOGIN = 0, 2
_IPV4, _NAME, _IPV6 = 1, 3, 4
_SOCKS_FAILURES = {
    2: "its rules do not allow the connection",
    3: "the network cannot be reached from there",
    4: "the host cannot be reached from there",
    5: "the connection was refused there",
    6: "connecting timed out there",
    8: "it does not support this kind of address",
}


@dataclass(frozen=True, slots=True)
class TunnelTarget:
    """A host that is to be reached through a proxy, and an address of it that was checked."""

    host: str
    address: str
    port: int


async def open_tunnel(
    proxies: Sequence[Proxy], target: TunnelTarget, egress: Egress
) -> socket.socket:
    """A socket on which the target is at the other end.

    Raises `ConnectionFailed`, which says that it was the proxy.
    """
    try:
        async with asyncio.timeout(2 * CONNECT_TIMEOUT_S):
            return await _open_chain(proxies, target, egress)
    except ConnectionFailed:
        raise
    except TimeoutError:
        _fail("timed out", TIMED_OUT.code)
    except (OSError, EgressDenied) as error:
        outcome = outcome_of_error(error)
        if outcome is CONNECTION_LOST:
            _fail("the connection to it was lost")
        raise ConnectionFailed(
            msgspec.structs.replace(outcome, reason=f"the proxy: {outcome.reason}")
        ) from None


async def _open_chain(
    proxies: Sequence[Proxy], target: TunnelTarget, egress: Egress
) -> socket.socket:
    """Each proxy connects to the next one, and the last one to the target."""
    hops = [target]
    for proxy in reversed(proxies[1:]):
        addresses = await _get_guard(proxy, egress).resolve(proxy.host)
        hops.insert(0, TunnelTarget(proxy.host, choose_address(addresses), proxy.port))
    first = proxies[0]
    sock = await _get_guard(first, egress).connect(first.host, first.port)
    try:
        for proxy, hop in zip(proxies, hops, strict=True):
            await _request_connection(sock, proxy, hop)
    except BaseException:
        sock.close()
        raise
    return sock


def _get_guard(proxy: Proxy, egress: Egress) -> Egress:
    return egress.unrestricted if proxy.is_operators else egress


def choose_address(addresses: Sequence[str]) -> str:
    """One of IPv4, if there is any: more proxies can reach it."""
    return min(addresses, key=lambda each: ":" in each)


async def _request_connection(sock: socket.socket, proxy: Proxy, target: TunnelTarget) -> None:
    if proxy.scheme == "http":
        await _connect_by_http(sock, proxy, target)
    else:
        await _connect_by_socks(sock, proxy, target)


async def _connect_by_http(sock: socket.socket, proxy: Proxy, target: TunnelTarget) -> None:
    loop = asyncio.get_running_loop()
    host = f"[{target.host}]" if ":" in target.host else target.host
    authority = f"{host}:{target.port}"
    login = ""
    if proxy.username:
        pair = f"{proxy.username}:{proxy.password}".encode()
        login = f"Proxy-Authorization: Basic {b64encode(pair).decode()}\r\n"
    request = f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{login}\r\n"
    await loop.sock_sendall(sock, request.encode("ascii"))
    head = b""
    while b"\r\n\r\n" not in head:
        part = await loop.sock_recv(sock, 4_096)
        head += part
        if not part:
            _fail("it closed the connection")
        if len(head) > HEAD_BYTES_MAX:
            _fail("its response is too large", FailureCode.LIMIT_EXCEEDED)
    found = _STATUS.match(head)
    if found is None:
        _fail("it does not speak HTTP")
    status = int(found[1])
    if status == 407:
        _fail("it does not accept the login (407)", FailureCode.LOGIN_REJECTED)
    if not 200 <= status < 300:
        _fail(f"it answered with status {status}")
    if not head.endswith(b"\r\n\r\n"):
        _fail("it sent something that nobody asked for")


async def _connect_by_socks(sock: socket.socket, proxy: Proxy, target: TunnelTarget) -> None:
    """By RFC 1928, and RFC 1929 for the login."""
    loop = asyncio.get_running_loop()
    methods = bytes((_NO_LOGIN, _LOGIN) if proxy.username else (_NO_LOGIN,))
    await loop.sock_sendall(sock, bytes((_VERSION, len(methods))) + methods)
    version, method = await _receive(sock, 2)
    if version != _VERSION:
        _fail("it does not speak SOCKS5")
    if method not in methods:
        _fail("it does not accept the login", FailureCode.LOGIN_REJECTED)
    if method == _LOGIN:
        login = _prefix(proxy.username.encode()) + _prefix(proxy.password.encode())
        await loop.sock_sendall(sock, bytes((_LOGIN_VERSION,)) + login)
        _, status = await _receive(sock, 2)
        if status:
            _fail("it does not accept the login", FailureCode.LOGIN_REJECTED)
    place = _encode_address(target.host if proxy.scheme == "socks5h" else target.address)
    await loop.sock_sendall(
        sock, bytes((_VERSION, _CONNECT, 0)) + place + target.port.to_bytes(2, "big")
    )
    version, reply, _, kind = await _receive(sock, 4)
    if version != _VERSION:
        _fail("it does not speak SOCKS5")
    if reply:
        _fail(_SOCKS_FAILURES.get(reply, "it could not connect"))
    size = {_IPV4: 4, _IPV6: 16}.get(kind) or (await _receive(sock, 1))[0]
    await _receive(sock, size + 2)


def _encode_address(host: str) -> bytes:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return bytes((_NAME,)) + _prefix(host.encode("ascii"))
    return bytes((_IPV4 if address.version == 4 else _IPV6,)) + address.packed


def _prefix(text: bytes) -> bytes:
    return bytes((len(text),)) + text


async def _receive(sock: socket.socket, size: int) -> bytes:
    loop = asyncio.get_running_loop()
    received = b""
    while len(received) < size:
        part = await loop.sock_recv(sock, size - len(received))
        if not part:
            _fail("it closed the connection")
        received += part
    return received


def _fail(reason: str, code: FailureCode = FailureCode.UNREACHABLE) -> NoReturn:
    raise ConnectionFailed(Unreachable(f"the proxy: {reason}", code=code))
