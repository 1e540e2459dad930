"""Connections in memory between the parts of a simulation: slow, split, stalled, reset."""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

from tests.simulation.loop import CURRENT, SimulatedProcess

HIGH_WATER_BYTES = 64 * 1024


@dataclass(slots=True)
class Weather:
    """How connections do at present; all zero when faults have stopped."""

    latency_s: float = 0.001
    split: float = 0.0  # the share of what is sent that arrives in pieces
    stall: float = 0.0  # the share that arrives much later
    reset: float = 0.0  # the share in place of which the connection is reset


class SimSocket:
    """What the egress guard gets for a connection; it has no descriptor."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.peer: Transport | None = None

    def getpeername(self) -> tuple[str, int]:
        return self.address

    def close(self) -> None:
        pass


class Transport(asyncio.Transport):
    """One end of a connection."""

    def __init__(
        self,
        network: "Network",
        protocol: asyncio.BaseProtocol,
        context: Context,
        names: dict[str, Any],
    ) -> None:
        super().__init__(names)
        self._network = network
        self.protocol = protocol
        self.context = context
        self.peer: Transport = self
        self._in_flight: deque[bytes] = deque()  # sent by this end, not received by the other one
        self._in_flight_bytes = 0
        self._received: deque[bytes] = deque()  # while reading is paused
        self._arrives_at = 0.0
        self._is_reading = True
        self._is_closing = False
        self._is_lost = False
        self._is_write_paused = False
        self._high_water = HIGH_WATER_BYTES

    @property
    def process(self) -> SimulatedProcess | None:
        return self.context.get(CURRENT)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        self._network.call(self, self._read_received)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high_water = HIGH_WATER_BYTES if high is None else high

    def get_write_buffer_size(self) -> int:
        return self._in_flight_bytes

    def can_write_eof(self) -> bool:
        return False

    # --- sending ---

    def write(self, data: Any) -> None:
        data = bytes(data)
        if self._is_closing or not data:
            return
        for part in self._network.split(data):
            self._in_flight.append(part)
            self._in_flight_bytes += len(part)
            self._arrives_at = self._network.schedule(self, self._arrives_at, self._arrive)
        if self._in_flight_bytes > self._high_water and not self._is_write_paused:
            self._is_write_paused = True
            self.protocol.pause_writing()  # type: ignore[attr-defined]

    def _arrive(self) -> None:
        """Called in the context of the other end."""
        if not self._in_flight:
            return  # the connection was reset
        if not self.peer._is_reading:
            self._network.call_later(self.peer, 0.01, self._arrive)
            return
        data = self._in_flight.popleft()
        self._in_flight_bytes -= len(data)
        if self._is_write_paused and self._in_flight_bytes <= self._high_water // 4:
            self._is_write_paused = False
            self._network.call(self, self._resume_writing)
        self.peer._receive(data)
        if self._is_closing and not self._in_flight and not self._is_lost:
            self._end()

    def _resume_writing(self) -> None:
        if not self._is_lost:
            self.protocol.resume_writing()  # type: ignore[attr-defined]

    # --- receiving ---

    def _receive(self, data: bytes) -> None:
        if self._is_lost or self._is_closing:
            return
        self._received.append(data)
        self._read_received()

    def _read_received(self) -> None:
        while self._received and self._is_reading and not self._is_lost:
            data = self._received.popleft()
            if isinstance(self.protocol, asyncio.BufferedProtocol):
                while data:
                    buffer = self.protocol.get_buffer(len(data))
                    count = min(len(buffer), len(data))
                    buffer[:count] = data[:count]  # type: ignore[index]
                    self.protocol.buffer_updated(count)
                    data = data[count:]
            else:
                self.protocol.data_received(data)  # type: ignore[attr-defined]

    # --- the end ---

    def close(self) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        if not self._in_flight:
            self._end()

    def abort(self) -> None:
        self._is_closing = True
        self.break_off(None)

    def break_off(self, error: Exception | None) -> None:
        """Nothing of what is under way arrives."""
        self._in_flight.clear()
        self._in_flight_bytes = 0
        self._end(error, ConnectionResetError())

    def _end(self, error: Exception | None = None, peer_error: Exception | None = None) -> None:
        self._lose(error)
        other = self.peer
        other._in_flight.clear()
        other._in_flight_bytes = 0
        self._network.call_later(other, self._network.weather.latency_s, other._lose, peer_error)

    def _lose(self, error: Exception | None) -> None:
        if self._is_lost:
            return
        self._is_lost = self._is_closing = True
        self._network.open.pop(self, None)
        self._network.call(self, self.protocol.connection_lost, error)


class Network:
    """All connections of a simulation."""

    def __init__(self, loop: asyncio.AbstractEventLoop, chance: random.Random) -> None:
        self._loop = loop
        self._chance = chance
        self.weather = Weather()
        self.open: dict[Transport, None] = {}
        self.counted: Counter[str] = Counter()

    def connect(
        self,
        client: asyncio.BaseProtocol,
        server: asyncio.BaseProtocol,
        server_context: Context,
        address: tuple[str, int],
        port: int,
    ) -> Transport:
        """A connection of who calls this to another process; the client's end."""
        theirs = {"peername": ("127.0.0.1", port), "sockname": address}
        ours = {"peername": address, "sockname": ("127.0.0.1", port)}
        near = Transport(self, client, copy_context(), ours)
        far = Transport(self, server, server_context, theirs)
        near.peer, far.peer = far, near
        self.open[near] = self.open[far] = None
        client.connection_made(near)
        self.call(far, server.connection_made, far)
        return near

    def call(self, end: Transport, callback: Callable[..., Any], *args: Any) -> None:
        self._loop.call_soon(callback, *args, context=end.context)

    def call_later(
        self, end: Transport, delay_s: float, callback: Callable[..., Any], *args: Any
    ) -> None:
        self._loop.call_later(delay_s, callback, *args, context=end.context)

    def schedule(self, end: Transport, not_before: float, arrive: Callable[[], None]) -> float:
        """Have what was sent arrive after what was sent before; when."""
        weather, chance = self.weather, self._chance
        at = self._loop.time() + weather.latency_s * chance.uniform(0.5, 2)
        if weather.stall and chance.random() < weather.stall:
            self.counted["stall of a connection"] += 1
            at += chance.choice((1.0, 5.0, 20.0, 90.0))
        at = max(at, not_before + 0.000_001)
        if weather.reset and chance.random() < weather.reset:
            self.counted["reset of a connection"] += 1
            self._loop.call_at(at, end.break_off, ConnectionResetError(), context=end.context)
        else:
            self._loop.call_at(at, arrive, context=end.peer.context)
        return at

    def split(self, data: bytes) -> list[bytes]:
        chance = self._chance
        if len(data) < 2 or not self.weather.split or chance.random() >= self.weather.split:
            return [data]
        self.counted["data in pieces"] += 1
        cuts = sorted(chance.randrange(1, len(data)) for _ in range(chance.randrange(1, 4)))
        return [data[i:j] for i, j in zip([0, *cuts], [*cuts, len(data)], strict=True) if i < j]

    def drop_process(self, process: SimulatedProcess) -> None:
        """It sends nothing any more; what it has sent may still arrive before the reset."""
        for end in list(self.open):
            if end.process is not process:
                continue
            self.open.pop(end, None)
            end._is_lost = end._is_closing = True
            at = self._loop.time() + self.weather.latency_s
            if self._chance.random() < 0.5:
                at = max(at, end._arrives_at + 0.000_001)
            else:
                end._in_flight.clear()
            lose = end.peer._lose
            self._loop.call_at(at, lose, ConnectionResetError(), context=end.peer.context)
