"""A stand-in for a Kafka broker: as much of the protocol as an idempotent producer needs.

It keeps count of each producer's batches as a broker does: one that it has already is not stored
again, and one after a gap is refused. What it cannot show is anything about real replicas.
"""

import asyncio
import base64
import hashlib
import hmac
import io
import ssl
import struct
from dataclasses import dataclass
from typing import Any

from aiokafka.errors import (
    NoError,
    OutOfOrderSequenceNumber,
    SaslAuthenticationFailed,
    UnknownTopicOrPartitionError,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol import admin, metadata, produce, transaction
from aiokafka.protocol.api import RequestHeader_v1
from aiokafka.record.memory_records import MemoryRecords

NODE = 0
PARTITIONS = 3
SPOKEN = (
    admin.ApiVersionRequest_v0,
    admin.SaslHandShakeRequest_v1,
    admin.SaslAuthenticateRequest_v0,
    metadata.MetadataRequest_v1,
    transaction.InitProducerIdRequest_v0,
    produce.ProduceRequest_v7,
)


@dataclass(frozen=True)
class Stored:
    """A record as a consumer would find it."""

    topic: str
    partition: int
    key: bytes
    value: bytes
    headers: dict[str, bytes]


class KafkaStandin:
    """One broker, which is the whole cluster. What it does wrong is in its attributes."""

    def __init__(self, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.port = port
        self._tls = tls
        self._ends: list[asyncio.StreamWriter] = []
        self._counts: dict[tuple[int, str, int], int] = {}
        self.connections = 0
        self.producers = 0
        self.stored: list[Stored] = []
        self.topics = {"readings"}
        self.advertised: tuple[str, int] | None = None  # where it says it can be reached
        self.nodes = 1  # as many as it claims to be; all at the same address
        self.refuses_topics: type[Exception] | None = None  # asked for a topic
        self.refuses: type[Exception] | None = None  # asked to store
        self.is_silent = False  # takes requests, and answers none
        self.forgotten_answers = 0  # so often it hangs up instead of saying that it has stored
        self.login: tuple[str, str, str] | None = None  # mechanism, username, password
        self.iterations = 4_096

    async def __aenter__(self) -> "KafkaStandin":
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, ssl=self._tls
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for end in self._ends:
            end.transport.abort()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._ends.append(writer)
        conversation = _Conversation(self)
        try:
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                request = io.BytesIO(await reader.readexactly(size))
                answer = conversation.answer(request)
                if self.is_silent:
                    continue
                if answer is None:
                    break
                writer.write(struct.pack(">i", len(answer)) + answer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    def store(self, topic: str, partition: int, batches: bytes) -> type[Exception]:
        if self.refuses is not None:
            return self.refuses
        records = MemoryRecords(bytes(batches))
        while (batch := records.next_batch()) is not None:
            place = batch.producer_id, topic, partition
            expected = self._counts.get(place, 0)
            if batch.base_sequence > expected:
                return OutOfOrderSequenceNumber
            if batch.base_sequence < expected:
                continue
            for record in batch:
                headers = {name: bytes(value) for name, value in record.headers}
                self.stored.append(
                    Stored(topic, partition, bytes(record.key), bytes(record.value), headers)
                )
                self._counts[place] = self._counts.get(place, 0) + 1
        return NoError


class _Conversation:
    """One connection, on which a login may be due first."""

    def __init__(self, broker: KafkaStandin) -> None:
        self._broker = broker
        self._is_let_in = broker.login is None
        self._first_message = ""  # of a login in two steps

    def answer(self, request: io.BytesIO) -> bytes | None:
        header = RequestHeader_v1.SCHEMA.decode(request)
        kind = next(each for each in SPOKEN if header[0] == each.API_KEY)
        asked = kind.decode(request)
        before_login = (admin.ApiVersionRequest_v0, *SPOKEN[1:3])
        if not self._is_let_in and kind not in before_login:
            return None
        response = getattr(self, f"_{kind.__name__.partition('Request')[0]}")(asked)
        return None if response is None else struct.pack(">i", header[2]) + response.encode()

    def _ApiVersion(self, asked: Any) -> Any:
        versions = [(each.API_KEY, each.API_VERSION, each.API_VERSION) for each in SPOKEN]
        return admin.ApiVersionResponse_v0(0, versions)

    def _Metadata(self, asked: Any) -> Any:
        broker = self._broker
        host, port = broker.advertised or ("127.0.0.1", broker.port)
        topics = [self._topic(name) for name in asked.topics or []]
        nodes = [(NODE + number, host, port, None) for number in range(broker.nodes)]
        return metadata.MetadataResponse_v1(nodes, NODE, topics)

    def _topic(self, name: str) -> tuple[Any, ...]:
        broker = self._broker
        if broker.refuses_topics is not None:
            return broker.refuses_topics.errno, name, False, []
        if name not in broker.topics:
            return UnknownTopicOrPartitionError.errno, name, False, []
        partitions = []
        for number in range(max(PARTITIONS, broker.nodes)):
            leader = NODE + number % broker.nodes
            partitions.append((0, number, leader, [leader], [leader]))
        return 0, name, False, partitions

    def _InitProducerId(self, asked: Any) -> Any:
        self._broker.producers += 1
        return transaction.InitProducerIdResponse_v0(0, 0, self._broker.producers, 0)

    def _Produce(self, asked: Any) -> Any:
        assert asked.required_acks == -1, "a message counts when all replicas have it"
        answers = [
            (
                topic,
                [
                    (number, self._broker.store(topic, number, batches).errno, 0, -1, 0)
                    for number, batches in partitions
                ],
            )
            for topic, partitions in asked.topics
        ]
        if self._broker.forgotten_answers:
            self._broker.forgotten_answers -= 1
            return None
        return produce.ProduceResponse_v7(answers, 0)

    def _SaslHandShake(self, asked: Any) -> Any:
        known = self._broker.login[0] if self._broker.login else None
        error = 0 if asked.mechanism == known else UnsupportedSaslMechanismError.errno
        return admin.SaslHandShakeResponse_v1(error, [known])

    def _SaslAuthenticate(self, asked: Any) -> Any:
        mechanism, username, password = self._broker.login or ("", "", "")
        sent = bytes(asked.sasl_auth_bytes).decode()
        if mechanism == "PLAIN":
            self._is_let_in = sent.split("\0")[1:] == [username, password]
            return self._login_answer(self._is_let_in, "")
        if not self._first_message:
            self._first_message = sent.removeprefix("n,,")
            nonce = sent.rpartition("r=")[2] + "ours"
            salt = base64.b64encode(b"salt").decode()
            self._first = f"r={nonce},s={salt},i={self._broker.iterations}"
            return self._login_answer(True, self._first)
        return self._scram_verdict(sent, mechanism, password)

    def _scram_verdict(self, sent: str, mechanism: str, password: str) -> Any:
        name = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
        salted = hashlib.pbkdf2_hmac(name, password.encode(), b"salt", self._broker.iterations)
        client_key = hmac.digest(salted, b"Client Key", name)
        bare, _, proof = sent.rpartition(",p=")
        spoken = f"{self._first_message},{self._first},{bare}".encode()
        signature = hmac.digest(hashlib.new(name, client_key).digest(), spoken, name)
        expected = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._is_let_in = base64.b64decode(proof) == expected
        own = hmac.digest(hmac.digest(salted, b"Server Key", name), spoken, name)
        return self._login_answer(self._is_let_in, f"v={base64.b64encode(own).decode()}")

    def _login_answer(self, is_right: bool, response: str) -> Any:
        if is_right:
            return admin.SaslAuthenticateResponse_v0(0, None, response.encode())
        wrong = "the password <secret> of alice is wrong"  # must not be repeated to anybody
        return admin.SaslAuthenticateResponse_v0(SaslAuthenticationFailed.errno, wrong, b"")
