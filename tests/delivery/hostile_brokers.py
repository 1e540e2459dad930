"""Brokers that accept a login and then do their worst; each connection has a thread.

The messages that they get are never confirmed.
"""

import contextlib
import functools
import io
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, Self

import pamqp.frame
from aiokafka.protocol import admin, metadata
from pamqp import commands

Behaviour = Callable[[socket.socket], None]

HEARTBEATS = pamqp.frame.marshal(pamqp.heartbeat.Heartbeat(), 0) * 8_000
NATS_INFO = b'INFO {"server_id":"x","version":"2.10.0","max_payload":1048576,"headers":true}\r\n'
PINGRESP = b"\xd0\x00"
KAFKA_APIS = [(0, 0, 7), (3, 0, 1), (18, 0, 0), (22, 0, 0)]


class HostileBroker:
    """Listens on a free port, and counts connections."""

    def __init__(self, behaves: Behaviour) -> None:
        self._behaves = behaves
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self.port: int = self._listening.getsockname()[1]
        self.connections = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                self._open.append(connection)
                threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, EOFError):
            self._behaves(connection)
        self._open.remove(connection)


def flood(connection: socket.socket, block: bytes) -> None:
    while True:
        connection.sendall(block)


def read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


# --- AMQP ---


def send_heartbeats(connection: socket.socket) -> None:
    read(connection, 8)
    capabilities = {"publisher_confirms": True, "basic.nack": True}
    _send(connection, commands.Connection.Start(server_properties={"capabilities": capabilities}))
    _receive(connection)
    _send(connection, commands.Connection.Tune(0, 131_072, 0))
    _receive(connection)
    _receive(connection)
    _send(connection, commands.Connection.OpenOk())
    _receive(connection)
    _send(connection, commands.Channel.OpenOk(), 1)
    _receive(connection)
    _send(connection, commands.Confirm.SelectOk(), 1)
    flood(connection, HEARTBEATS)


def _send(connection: socket.socket, frame: Any, channel: int = 0) -> None:
    connection.sendall(pamqp.frame.marshal(frame, channel))


def _receive(connection: socket.socket) -> None:
    _, _, size = pamqp.frame.frame_parts(read(connection, 7))
    read(connection, (size or 0) + 1)


# --- NATS ---


def send_lines(line: bytes) -> Behaviour:
    def behave(connection: socket.socket) -> None:
        connection.sendall(NATS_INFO)
        received = b""
        while b"PING" not in received:
            received += connection.recv(4_096)
        connection.sendall(b"PONG\r\n")
        flood(connection, line * 8_000)

    return behave


# --- MQTT ---


def send_packets(packet: bytes) -> Behaviour:
    def behave(connection: socket.socket) -> None:
        connection.recv(4_096)
        connection.sendall(b"\x20\x03\x00\x00\x00")  # CONNACK of MQTT 5
        flood(connection, packet * max(1, 65_536 // len(packet)))

    return behave


# Quality of service 2: a client keeps them until they are released, each under its own number.
UNRELEASED = b"".join(
    b"\x34\xed\x07\x00\x01t" + struct.pack(">H", number) + b"\x00" + b"x" * 999
    for number in range(1, 200)
)


# --- Kafka ---


def describe_many_partitions(connection: socket.socket) -> None:
    """Answer to every request, at length."""
    _, port = connection.getsockname()
    apis = admin.ApiVersionResponse_v0(0, KAFKA_APIS).encode()
    described = _describe_partitions(port)
    while True:
        api, number = _receive_kafka(connection)
        answer = struct.pack(">i", number) + (apis if api == 18 else described)
        connection.sendall(struct.pack(">i", len(answer)) + answer)


@functools.lru_cache(maxsize=2)  # else who floods is busier than who is flooded
def _describe_partitions(port: int) -> bytes:
    partitions = [(0, number, 1, [1], [1]) for number in range(9_000)]
    described = metadata.MetadataResponse_v1(
        [(1, "127.0.0.1", port, None)], 1, [(0, "readings", False, partitions)]
    )
    return bytes(described.encode())


def announce(size: int) -> Behaviour:
    """Announce a response of this size, of which one byte after the other follows."""

    def behave(connection: socket.socket) -> None:
        _receive_kafka(connection)
        connection.sendall(struct.pack(">i", size))
        for _ in range(size):
            connection.sendall(b"x")

    return behave


def _receive_kafka(connection: socket.socket) -> tuple[int, int]:
    (size,) = struct.unpack(">i", read(connection, 4))
    request = io.BytesIO(read(connection, size))
    api, _, number = struct.unpack(">hhi", request.read(8))
    return api, number
