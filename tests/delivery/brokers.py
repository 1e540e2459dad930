"""Real brokers for the tests, each a process on a free port; and a relay that makes trouble.

A broker keeps its port when it is stopped and started again. The relay stands between a destination
and its broker: it counts connections, falls silent, and cuts them.
"""

import asyncio
import os
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import pytest

from longwire.delivery.destinations.base import OutboundBatch, OutboundMessage
from longwire.delivery.destinations.connections import default_tls_context
from tests.ports import free_port
from tests.waiting import PATIENCE_S

START_TIMEOUT_S = 240.0  # only ends what hangs: a busy machine needs a minute for a JVM
START_ATTEMPTS = 3
STORY_TIMEOUT_S = PATIENCE_S

NATS_SERVER = Path(sys.executable).parent / "nats-server"
# Where `make brokers` puts it.
KAFKA_JARS = Path(__file__).parents[2] / ".brokers" / "kafka" / "lib"
MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")


class Broker:
    """A process that listens on a port."""

    def __init__(self, command: list[str], ports: list[int], log: Path) -> None:
        self._command = command
        self._ports = ports
        self._log = log
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not all(map(is_listening, self._ports)):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"{self._command[0]} did not start: {self._log.read_text()}")
            time.sleep(0.01)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


class Nats(Broker):
    """NATS with JetStream, and its MQTT (3.1.1 only) on a second port."""

    def __init__(self, folder: Path, extra: str = "", mqtt_extra: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port, self.mqtt_port = free_port(), free_port()
        config = folder / "nats.conf"
        config.write_text(
            f'listen: "127.0.0.1:{self.port}"\n'
            f'server_name: "tests"\n'
            f'jetstream {{ store_dir: "{folder / "store"}" }}\n'
            f'mqtt {{ listen: "127.0.0.1:{self.mqtt_port}"\n{mqtt_extra} }}\n'
            f"{extra}\n"
        )
        command = [str(NATS_SERVER), "-c", str(config)]
        super().__init__(command, [self.port, self.mqtt_port], folder / "log.txt")


class Mosquitto(Broker):
    """Eclipse Mosquitto, for MQTT 5."""

    def __init__(self, folder: Path, extra: str = "allow_anonymous true") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        config = folder / "mosquitto.conf"
        config.write_text(
            f"user {'root' if is_root() else 'nobody'}\nlistener {self.port} 127.0.0.1\n{extra}\n"
        )
        super().__init__([MOSQUITTO or "", "-c", str(config)], [self.port], folder / "log.txt")


class KafkaBroker(Broker):
    """Apache Kafka in KRaft mode, a single node; with SASL PLAIN on a second port."""

    def __init__(self, folder: Path) -> None:
        # While a JVM starts, somebody else may get a port that was free.
        for attempt in range(START_ATTEMPTS):
            try:
                self._start_in(folder / str(attempt))
                return
            except RuntimeError:
                if attempt == START_ATTEMPTS - 1:
                    raise

    def _start_in(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.port, self.sasl_port, controller = free_port(), free_port(), free_port()
        config = folder / "server.properties"
        login_module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        config.write_text(
            "process.roles=broker,controller\n"
            "node.id=1\n"
            f"controller.quorum.voters=1@127.0.0.1:{controller}\n"
            f"listeners=PLAINTEXT://127.0.0.1:{self.port},SASL://127.0.0.1:{self.sasl_port},"
            f"CONTROLLER://127.0.0.1:{controller}\n"
            "listener.security.protocol.map="
            "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT\n"
            "controller.listener.names=CONTROLLER\n"
            "inter.broker.listener.name=PLAINTEXT\n"
            "sasl.enabled.mechanisms=PLAIN\n"
            f"listener.name.sasl.plain.sasl.jaas.config={login_module} required"
            ' user_ada="secret";\n'
            f"log.dirs={folder / 'data'}\n"
            "auto.create.topics.enable=false\n"
            "offsets.topic.replication.factor=1\n"
            "transaction.state.log.replication.factor=1\n"
            "transaction.state.log.min.isr=1\n"
            "message.max.bytes=100000\n"
        )
        # It lives for seconds: code is compiled once, and garbage needs no threads of its own.
        java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        java += ["-cp", f"{KAFKA_JARS}/*"]
        cluster_id = "A" * 22
        subprocess.run(
            [*java, "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(config)],
            check=True,
            capture_output=True,
        )
        super().__init__([*java, "kafka.Kafka", str(config)], [self.port], folder / "log.txt")


AnyBroker = TypeVar("AnyBroker", bound=Broker)


@contextmanager
def running(broker: AnyBroker) -> Iterator[AnyBroker]:
    try:
        yield broker
    finally:
        broker.stop()


class StubServer:
    """Takes connections on a port of its own, and counts them."""

    def __init__(self, encryption: ssl.SSLContext | None = None) -> None:
        self._encryption = encryption
        self.connections = 0
        self.has_taken_one = asyncio.Event()
        self._ends: list[asyncio.StreamWriter] = []
        self._serving: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0, ssl=self._encryption)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        await self.all_gone()

    async def all_gone(self) -> None:
        """Until the other side has ended all its connections."""
        while self._serving:
            await asyncio.wait(self._serving)

    def cut(self) -> None:
        """End all connections there are."""
        for end in self._ends:
            end.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """What a connection is for; it ends with it."""

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.has_taken_one.set()
        self._ends.append(writer)
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            await self.serve(reader, writer)
        except* OSError:
            pass
        finally:
            writer.transport.abort()
            self._serving.discard(task)


class Impostor(StubServer):
    """Greets, answers whatever it receives, and writes that down."""

    def __init__(
        self,
        greeting: bytes = b"",
        *answers: bytes,
        hangs_up: bool = False,
        encryption: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(encryption)
        self._greeting = greeting
        self._answers = answers
        self._hangs_up = hangs_up
        self.received = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self._greeting)
        for answer in self._answers:
            self.received += await reader.read(65_536)
            writer.write(answer)
            await writer.drain()
        while not self._hangs_up and (block := await reader.read(65_536)):
            self.received += block


class Relay(StubServer):
    """Passes bytes on to another port of this machine, until it is cut."""

    def __init__(self, target: int) -> None:
        super().__init__()
        self._target = target
        self._speaks = asyncio.Event()
        self._speaks.set()

    async def __aexit__(self, *_: object) -> None:
        self.speak()
        await super().__aexit__()

    def fall_silent(self) -> None:
        """Connections stay, and new ones are taken; nothing comes back on any."""
        self._speaks.clear()

    def speak(self) -> None:
        self._speaks.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", self._target)
        self._ends.append(forth)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pass(reader, forth))
            group.create_task(self._pass(back, writer, self._speaks))

    @staticmethod
    async def _pass(
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        gate: asyncio.Event | None = None,
    ) -> None:
        try:
            while block := await reader.read(65_536):
                if gate is not None:
                    await gate.wait()
                writer.write(block)
                await writer.drain()
        finally:
            writer.transport.abort()
        raise ConnectionResetError  # which ends the other direction


def a_message(**changes: object) -> OutboundMessage:
    plain = {
        "id": "msg_1",
        "kind": "data",
        "group_id": "group_1",
        "device_id": "device_1",
        "device_type": "thermometer",
        "body": b'{"data":"21.5"}',
        "content_type": "application/json",
    }
    return OutboundMessage(**plain | changes)


def make_batch(**changes: object) -> OutboundBatch:
    message = a_message(**changes)
    return OutboundBatch(id=message.id, messages=[message])


async def give_up(sending: Coroutine[Any, Any, Any], after_s: float) -> None:
    """Cancel what is sent, so long after it was: not after it was only asked for."""
    task = asyncio.create_task(sending)
    await asyncio.sleep(0)
    await asyncio.sleep(after_s)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def run_story(story: Coroutine[Any, Any, Any]) -> Any:
    """How a story ends; it does end."""

    async def bounded() -> Any:
        async with asyncio.timeout(STORY_TIMEOUT_S):
            return await story

    return asyncio.run(bounded())


@contextmanager
def trusted(certificate: Path) -> Iterator[None]:
    """This process trusts a certificate, for a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(certificate))
        default_tls_context.cache_clear()
        yield
    default_tls_context.cache_clear()


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def is_root() -> bool:
    return os.geteuid() == 0
