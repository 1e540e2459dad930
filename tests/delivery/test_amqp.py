"""AMQP: what a broker gets, when it counts as delivered, and what is said when it is not.

Against a real RabbitMQ where one is installed; what it cannot be made to do, a few lines do that
speak as much of the protocol as it takes to be believed.
"""

import asyncio
import os
import shutil
import signal
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiormq
import msgspec
import pamqp.frame
import pytest
from pamqp import commands
from pamqp.body import ContentBody

from longwire.delivery.destinations import amqp, connections
from longwire.delivery.destinations.amqp import Amqp, AmqpParams, sanitize_routing_word
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.destinations.broker import FLOODING
from longwire.delivery.destinations.connections import RESPONSE_BYTES_MAX, default_tls_context
from longwire.delivery.http.egress import Egress
from tests.certificates import write_certificate
from tests.delivery.brokers import (
    Relay,
    a_message,
    is_listening,
    make_batch,
)
from tests.delivery.stories import story
from tests.ports import free_port
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.usefixtures("patient_connections")

HERE = ("127.0.0.1/32", "::1/128")
LOST = Unreachable("the connection was lost")
SERVER = shutil.which("rabbitmq-server", path="/usr/lib/rabbitmq/bin:" + os.environ["PATH"])
START_TIMEOUT_S = 240  # only ends what hangs
QUEUE = "readings"


class RabbitMq:
    """A node of its own, in a folder of its own; its guest may do anything."""

    def __init__(self, folder: Path) -> None:
        self.port, distribution_port = free_port(), free_port()
        self._log = folder / "output.txt"
        # Whom a node talks to for its cluster: nobody else on this machine, and no name service.
        alone = f"-start_epmd false -erl_epmd_port {distribution_port}"
        self._environment = os.environ | {
            "HOME": str(folder),
            "RABBITMQ_NODENAME": f"longwire{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(distribution_port),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "env"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": alone,
        }
        (folder / "rabbitmq.conf").write_text("max_message_size = 100000\n")
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [SERVER or ""],
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not is_listening(self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"RabbitMQ did not start: {self._log.read_text()}")
            time.sleep(0.05)

    def stop(self) -> None:
        # The server is a child of the script that was started.
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture(scope="module")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMq]:
    if SERVER is None:
        pytest.skip("rabbitmq-server is not installed")
    server = RabbitMq(tmp_path_factory.mktemp("rabbitmq"))
    yield server
    server.stop()


class Queue:
    """The receiver's side: a queue, and what is in it."""

    def __init__(self, port: int, **arguments: Any) -> None:
        self._url = f"amqp://guest:guest@127.0.0.1:{port}/"
        self._arguments = arguments

    async def __aenter__(self) -> "Queue":
        self._connection = await aiormq.connect(self._url)
        self.channel = await self._connection.channel()
        await self.channel.queue_delete(QUEUE)
        await self.channel.queue_declare(QUEUE, arguments=self._arguments)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    async def messages(self) -> list[Any]:
        found = []
        while (message := await self.channel.basic_get(QUEUE, no_ack=True)).header.properties:
            if isinstance(message.delivery, commands.Basic.GetEmpty):
                break
            found.append(message)
        return found

    async def ids(self) -> list[str]:
        return [message.header.properties.message_id for message in await self.messages()]


def a_destination(port: int, allowed: Sequence[str] = HERE, **params: Any) -> Amqp:
    fields = {"url": f"amqp://127.0.0.1:{port}", "routingKey": QUEUE} | params
    return Amqp(msgspec.convert(fields, AmqpParams), Egress(allowed))


async def sent_once(destination: Amqp, **changes: Any) -> Outcome:
    try:
        return await destination.send(make_batch(**changes))
    finally:
        await destination.close()


# --- what arrives ---


def test_a_message_arrives_in_its_queue_to_stay_there_with_its_id(rabbitmq: RabbitMq) -> None:
    async def run() -> None:
        async with Queue(rabbitmq.port) as queue:
            assert await sent_once(a_destination(rabbitmq.port)) == Delivered()
            (message,) = await queue.messages()
        properties = message.header.properties
        assert message.body == b'{"data":"21.5"}'
        assert properties.message_id == "msg_1"
        assert properties.content_type == "application/json"
        assert properties.delivery_mode == 2

    story(run)


@pytest.mark.parametrize("body", [b"", b"\0\xff", b"x" * 90_000])
def test_any_body_arrives_as_it_is(rabbitmq: RabbitMq, body: bytes) -> None:
    async def run() -> None:
        async with Queue(rabbitmq.port) as queue:
            assert await sent_once(a_destination(rabbitmq.port), body=body) == Delivered()
            assert [message.body for message in await queue.messages()] == [body]

    story(run)


def test_a_hundred_messages_at_once_share_a_connection_and_all_arrive(rabbitmq: RabbitMq) -> None:
    async def run() -> None:
        async with Queue(rabbitmq.port) as queue, Relay(rabbitmq.port) as relay:
            destination = a_destination(relay.port)
            batches = [make_batch(id=f"msg_{number}") for number in range(100)]
            outcomes = await asyncio.gather(*map(destination.send, batches))
            await destination.close()
            assert outcomes == [Delivered()] * 100
            assert sorted(await queue.ids()) == sorted(f"msg_{number}" for number in range(100))
            assert relay.connections == 1

    story(run)


def test_the_exchange_gets_a_key_made_of_what_the_message_says(rabbitmq: RabbitMq) -> None:
    async def run() -> None:
        async with Queue(rabbitmq.port) as queue:
            await queue.channel.exchange_declare("fleet", exchange_type="topic")
            await queue.channel.queue_bind(QUEUE, "fleet", "*.data")
            key = "{deviceId}.{kind}"
            destination = a_destination(rabbitmq.port, exchange="fleet", routingKey=key)
            # A dot in it would make two words of it.
            assert await sent_once(destination, device_id="a.b") == Delivered()
            (message,) = await queue.messages()
            assert message.routing_key == "a_b.data"

    story(run)


# --- what does not arrive, and why ---


def test_a_message_that_no_queue_wants_is_refused_and_the_next_one_is_not(
    rabbitmq: RabbitMq,
) -> None:
    async def run() -> None:
        async with Queue(rabbitmq.port) as queue, Relay(rabbitmq.port) as relay:
            destination = a_destination(relay.port, routingKey="{kind}")
            outcome = await destination.send(make_batch())
            assert outcome == Refused("no queue is bound to the routing key data")
            assert await sent_once(destination, kind=QUEUE) == Delivered()
            assert await queue.ids() == ["msg_1"]
            assert relay.connections == 1

    story(run)


def test_a_message_that_the_queue_has_no_room_for_is_refused(rabbitmq: RabbitMq) -> None:
    async def run() -> None:
        full = {"x-max-length": 1, "x-overflow": "reject-publish"}
        async with Queue(rabbitmq.port, **full) as queue:
            destination = a_destination(rabbitmq.port)
            assert await destination.send(make_batch(id="msg_1")) == Delivered()
            refused = Refused("the broker rejected the message")
            assert await destination.send(make_batch(id="msg_2")) == refused
            assert await queue.ids() == ["msg_1"]
            assert await sent_once(destination, id="msg_2") == Delivered()

    story(run)


@pytest.mark.parametrize(
    ("params", "outcome"),
    [
        (
            {"username": "guest", "password": "wrong"},
            Refused("the broker rejected the login", code=FailureCode.LOGIN_REJECTED),
        ),
        (
            {"url": "amqp://127.0.0.1:{port}/nowhere"},
            Refused("not authorized for the virtual host", code=FailureCode.LOGIN_REJECTED),
        ),
        ({"exchange": "nowhere"}, Refused("unknown exchange")),
        (
            {"exchange": "amq.rabbitmq.trace"},
            Refused("not authorized to publish to the exchange"),
        ),
        (
            {"url": "amqps://127.0.0.1:{port}"},
            Unreachable("TLS handshake failed", code=FailureCode.TLS_FAILED),
        ),
    ],
)
def test_what_the_broker_refuses_is_said_in_our_words(
    rabbitmq: RabbitMq, params: dict[str, Any], outcome: Outcome
) -> None:
    async def run() -> None:
        fields = {name: value.format(port=rabbitmq.port) for name, value in params.items()}
        assert await sent_once(a_destination(rabbitmq.port, **fields)) == outcome

    story(run)


def test_a_message_that_is_too_large_for_the_broker_does_not_spoil_the_next(
    rabbitmq: RabbitMq,
) -> None:
    async def run() -> None:
        async with Queue(rabbitmq.port) as queue:
            destination = a_destination(rabbitmq.port)
            outcome = await destination.send(make_batch(id="huge", body=b"x" * 200_000))
            assert outcome == Refused("the broker rejected the message")
            assert await sent_once(destination, id="small") == Delivered()
            assert await queue.ids() == ["small"]

    story(run)


def test_an_address_that_may_not_be_reached_is_not_even_tried() -> None:
    async def run() -> None:
        async with Relay(9) as relay:
            outcome = await sent_once(a_destination(relay.port, allowed=["10.0.0.0/8"]))
            assert relay.connections == 0
        assert outcome == Unreachable(
            "127.0.0.1 is not a public address and may not be reached",
            is_final=True,
            code=FailureCode.EGRESS_DENIED,
        )

    story(run)


# --- trouble on the way ---


def test_a_connection_that_is_cut_while_many_wait_is_said_to_be_lost(rabbitmq: RabbitMq) -> None:
    async def run() -> None:
        async with Queue(rabbitmq.port) as queue, Relay(rabbitmq.port) as relay:
            destination = a_destination(relay.port)
            await destination.send(make_batch(id="first"))
            relay.fall_silent()
            batches = [make_batch(id=f"msg_{number}") for number in range(8)]
            sending = [asyncio.create_task(destination.send(batch)) for batch in batches]
            await asyncio.sleep(0.5)
            relay.cut()
            assert await asyncio.gather(*sending) == [LOST] * 8
            relay.speak()
            assert await sent_once(destination, id="last") == Delivered()
            # None was confirmed, and all may have arrived.
            assert {"first", "last"} <= set(await queue.ids())

    story(run)


def test_a_connection_that_was_lost_while_nobody_used_it_costs_no_message(
    rabbitmq: RabbitMq,
) -> None:
    async def run() -> None:
        async with Queue(rabbitmq.port) as queue, Relay(rabbitmq.port) as relay:
            destination = a_destination(relay.port)
            await destination.send(make_batch(id="msg_1"))
            relay.cut()
            current = destination._shared._current
            while current is not None and current.is_open:  # noqa: ASYNC110 (it is noticed soon)
                await asyncio.sleep(0.01)
            assert await sent_once(destination, id="msg_2") == Delivered()
            assert await queue.ids() == ["msg_1", "msg_2"]

    story(run)


def test_a_broker_that_falls_silent_costs_nothing_after_it_speaks_again(
    rabbitmq: RabbitMq,
) -> None:
    async def run() -> None:
        async with Queue(rabbitmq.port) as queue, Relay(rabbitmq.port) as relay:
            destination = a_destination(relay.port)
            await destination.send(make_batch(id="msg_1"))
            relay.fall_silent()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(destination.send(make_batch(id="msg_2")), 0.2)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(destination.send(make_batch(id="msg_2")), 0.2)
            relay.speak()
            assert await destination.send(make_batch(id="msg_2")) == Delivered()
            assert await sent_once(destination, id="msg_3") == Delivered()
            assert set(await queue.ids()) == {"msg_1", "msg_2", "msg_3"}

    story(run)


def test_no_answer_for_too_long_is_said_and_does_not_last(
    rabbitmq: RabbitMq, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amqp, "SEND_TIMEOUT_S", 2.0)

    async def run() -> None:
        async with Queue(rabbitmq.port), Relay(rabbitmq.port) as relay:
            destination = a_destination(relay.port)
            await destination.send(make_batch())
            relay.fall_silent()
            batches = [make_batch(id=f"msg_{number}") for number in range(8)]
            outcomes = await asyncio.gather(*map(destination.send, batches))
            assert outcomes == [Unreachable("timed out", code=FailureCode.TIMED_OUT)] * 8
            monkeypatch.setattr(amqp, "SEND_TIMEOUT_S", PATIENCE_S)
            relay.speak()
            assert await sent_once(destination, id="last") == Delivered()

    story(run)


def test_one_who_gives_up_takes_the_connection_from_nobody_else(rabbitmq: RabbitMq) -> None:
    async def run() -> None:
        async with Queue(rabbitmq.port), Relay(rabbitmq.port) as relay:
            destination = a_destination(relay.port)
            relay.fall_silent()
            patient = asyncio.create_task(destination.send(make_batch(id="patient")))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(destination.send(make_batch(id="hasty")), 0.1)
            relay.speak()
            assert await patient == Delivered()
            await destination.close()

    story(run)


def test_closing_in_the_middle_of_a_send_ends_it(rabbitmq: RabbitMq) -> None:
    async def run() -> None:
        async with Queue(rabbitmq.port), Relay(rabbitmq.port) as relay:
            destination = a_destination(relay.port)
            await destination.send(make_batch(id="msg_1"))
            relay.fall_silent()
            sending = asyncio.create_task(destination.send(make_batch(id="msg_2")))
            await asyncio.sleep(0.3)
            await destination.close()
            assert await sending == LOST

    story(run)


# --- what no broker should do ---


Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def answering(behaves: Behaviour, port: int = 0, **options: Any) -> AsyncIterator[int]:
    """Something that takes connections and behaves as a test wants it; its port."""
    ends: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends.append(writer)
        with suppress(OSError, asyncio.IncompleteReadError):
            await behaves(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port, **options)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for end in ends:
            end.transport.abort()


async def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Greet a client and let it open a virtual host."""
    await reader.readexactly(8)
    send_frame(writer, commands.Connection.Start(server_properties={"capabilities": CAPABILITIES}))
    await receive_frame(reader)
    send_frame(writer, commands.Connection.Tune(0, 131_072, 0))
    await receive_frame(reader)
    await receive_frame(reader)
    send_frame(writer, commands.Connection.OpenOk())


CAPABILITIES = {"publisher_confirms": True, "basic.nack": True}


def send_frame(writer: asyncio.StreamWriter, frame: Any, channel: int = 0) -> None:
    writer.write(pamqp.frame.marshal(frame, channel))


async def receive_frame(reader: asyncio.StreamReader) -> Any:
    head = await reader.readexactly(7)
    _, _, size = pamqp.frame.frame_parts(head)
    return pamqp.frame.unmarshal(head + await reader.readexactly((size or 0) + 1))[2]


async def takes_everything(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await begin(reader, writer)
    taken = 0
    while True:
        match await receive_frame(reader):
            case commands.Channel.Open():
                send_frame(writer, commands.Channel.OpenOk(), 1)
            case commands.Confirm.Select():
                send_frame(writer, commands.Confirm.SelectOk(), 1)
            case ContentBody():
                taken += 1
                send_frame(writer, commands.Basic.Ack(taken), 1)
            case commands.Connection.Close():
                send_frame(writer, commands.Connection.CloseOk())


async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readexactly(8)


async def hangs_up_after_greeting(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    await begin(reader, writer)


async def says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def speaks_a_later_version(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    writer.write(b"AMQP\0\1\0\0")
    await reader.read()


async def says_something_huge(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\1\0\0" + (RESPONSE_BYTES_MAX + 1).to_bytes(4, "big"))
    await reader.read()


async def speaks_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await reader.read()


async def cannot_confirm(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    CAPABILITIES["publisher_confirms"] = False
    try:
        await begin(reader, writer)
    finally:
        CAPABILITIES["publisher_confirms"] = True
    await reader.read()


@pytest.mark.parametrize(
    ("behaves", "outcome"),
    [
        (hangs_up, LOST),
        (hangs_up_after_greeting, LOST),
        (speaks_a_later_version, Unreachable("the server does not speak AMQP 0-9-1")),
        (says_something_huge, FLOODING),
        (speaks_http, FLOODING),
        (cannot_confirm, Refused("the broker does not support publisher confirms")),
    ],
)
def test_what_answers_and_is_no_good_broker_is_not_believed(
    behaves: Behaviour, outcome: Outcome
) -> None:
    async def run() -> None:
        async with answering(behaves) as port:
            assert await asyncio.wait_for(sent_once(a_destination(port)), 60) == outcome

    story(run)


def test_a_broker_that_is_away_is_said_to_be_and_gets_the_message_when_it_is_back() -> None:
    async def run() -> None:
        async with answering(takes_everything) as port:
            destination = a_destination(port)
            assert await destination.send(make_batch(id="msg_1")) == Delivered()
        # That the connection is lost may be noticed before it is used, or when.
        lost = await destination.send(make_batch(id="msg_2"))
        assert lost in (LOST, Unreachable("connection refused"))
        refused = await destination.send(make_batch(id="msg_2"))
        assert refused == Unreachable("connection refused")
        async with answering(takes_everything, port):
            assert await sent_once(destination, id="msg_2") == Delivered()

    story(run)


def test_a_login_reaches_the_broker_letter_by_letter() -> None:
    answers: list[str] = []

    async def listens(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8)
        send_frame(writer, commands.Connection.Start(server_properties={}))
        answers.append((await receive_frame(reader)).response)

    async def run() -> None:
        async with answering(listens) as port:
            login = {"username": "a@b:c", "password": "p%41/ö?#[ "}
            await sent_once(a_destination(port, **login))
        assert answers == ["\0a@b:c\0p%41/ö?#[ "]

    story(run)


def test_a_broker_that_never_answers_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CONNECT_TIMEOUT_S", 0.2)

    async def run() -> None:
        async with answering(says_nothing) as port:
            destination = a_destination(port)
            batches = [make_batch(id=f"msg_{number}") for number in range(3)]
            outcomes = await asyncio.wait_for(asyncio.gather(*map(destination.send, batches)), 60)
            await destination.close()
        assert outcomes == [Unreachable("timed out", code=FailureCode.TIMED_OUT)] * 3

    story(run)


# --- encryption ---


@pytest.mark.parametrize(
    ("named", "is_trusted", "outcome"),
    [
        ("localhost", True, LOST),  # nobody is there behind the encryption
        (
            "localhost",
            False,
            Unreachable("the certificate is not trusted", code=FailureCode.TLS_FAILED),
        ),
        (
            "elsewhere.example",
            True,
            Unreachable("the certificate is not trusted", code=FailureCode.TLS_FAILED),
        ),
    ],
)
def test_a_certificate_must_be_trusted_and_be_the_host_s(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    named: str,
    is_trusted: bool,
    outcome: Outcome,
) -> None:
    certificate, key = write_certificate(tmp_path, named)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    default_tls_context.cache_clear()

    async def run() -> None:
        async with answering(hangs_up, ssl=context) as port:
            assert await sent_once(a_destination(0, url=f"amqps://localhost:{port}")) == outcome

    try:
        story(run)
    finally:
        default_tls_context.cache_clear()


# --- what the owner sees ---


@pytest.mark.parametrize(
    ("params", "wrong"),
    [
        ({}, []),
        ({"url": "amqps://broker.example.com/"}, []),
        ({"url": "amqp://broker.example.com:5672/%2Ffleet-1"}, []),
        ({"url": "amqp://[2606:4700::1]:5672"}, []),
        ({"exchange": "fleet", "routingKey": ""}, []),
        ({"routingKey": "{groupId}.{kind}"}, []),
        ({"username": "alice", "password": "s3cret"}, []),
        ({"url": "http://broker.example.com"}, ["url"]),
        ({"url": "amqp://alice:secret@broker.example.com"}, ["url"]),
        ({"url": "amqp://broker.example.com/fleet/more"}, ["url"]),
        ({"url": "amqp://broker.example.com/fleet?no_verify_ssl=1"}, ["url"]),
        ({"url": "amqp://broker.example.com/%00"}, ["url"]),
        ({"url": "amqp://broker.example.com/%ff"}, ["url"]),
        ({"url": "amqp://broker.example.com:0"}, ["url"]),
        ({"url": "amqp://broker.example.com\n"}, ["url"]),
        ({"url": "amqp://"}, ["url"]),
        ({"url": "amqp://10.0.0.1"}, ["url"]),
        ({"url": "amqp://0x7f000001"}, ["url"]),
        ({"url": "amqp://[::ffff:127.0.0.1]/"}, ["url"]),
        ({"exchange": "a\0b"}, ["exchange"]),
        ({"exchange": "", "routingKey": ""}, ["routingKey"]),
        ({"routingKey": "{deviceName}"}, ["routingKey"]),
        ({"routingKey": "{kind"}, ["routingKey"]),
        ({"routingKey": "a\r\nb"}, ["routingKey"]),
        ({"username": "alice"}, ["username"]),
        ({"password": "s3cret"}, ["password"]),
        ({"username": "alice", "password": "a\0b"}, ["username"]),
    ],
)
def test_what_is_wrong_with_parameters(params: dict[str, Any], wrong: list[str]) -> None:
    fields = {"url": "amqp://broker.example.com", "routingKey": QUEUE} | params
    problems = msgspec.convert(fields, AmqpParams).validate(Egress())
    assert [name for name, _ in problems] == wrong
    assert "secret" not in str(problems)


@pytest.mark.parametrize(
    ("value", "fit"), [("abc-1_2", "abc-1_2"), ("a.b", "a_b"), ("a\nb", "a_b"), ("", "_")]
)
def test_fit_for_key(value: str, fit: str) -> None:
    assert sanitize_routing_word(value) == fit


def test_a_key_that_gets_too_long_is_refused_for_good() -> None:
    async def run() -> None:
        destination = a_destination(9, routingKey="{deviceId}.{deviceId}")
        outcome = await sent_once(destination, device_id="é" * 80)
        assert outcome == Refused(
            "the routing key is too long", is_final=True, code=FailureCode.INVALID_MESSAGE
        )

    story(run)


@pytest.mark.parametrize(
    ("params", "url"),
    [
        ({"exchange": "fleet"}, "amqp://127.0.0.1:5672/fleet/data"),
        ({}, "amqp://127.0.0.1:5672/data"),
        ({"url": "amqps://127.0.0.1/plant"}, "amqps://127.0.0.1:5671/data"),
    ],
)
def test_what_would_be_sent_can_be_looked_at_without_the_password(
    params: dict[str, Any], url: str
) -> None:
    fields = {"routingKey": "{kind}", "username": "alice", "password": "s3cret"} | params
    request = a_destination(5672, **fields).describe(make_batch())
    assert msgspec.to_builtins(request) == {
        "method": "PUBLISH",
        "url": url,
        "headers": {
            "message_id": "msg_1",
            "content_type": "application/json",
            "delivery_mode": "2",
        },
        "body": a_message().body.decode(),
    }
