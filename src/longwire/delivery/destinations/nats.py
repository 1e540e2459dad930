"""NATS: each message is published to JetStream, and delivered when a stream has acknowledged it.

The client is nats-py's, under the egress guard. It does not reconnect by itself, nor to servers
that a cluster advertises. Core NATS acknowledges nothing, so it is not offered.
"""

import asyncio
from functools import partial
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.transport import TcpTransport
from nats.errors import Error, ProtocolError
from nats.protocol.parser import PERMISSIONS_ERR, Parser

from longwire.delivery.destinations import addresses
from longwire.delivery.destinations.base import (
    Delivered,
    DestinationParams,
    FailureCode,
    OutboundMessage,
    Outcome,
    Refused,
    Secret,
    Unreachable,
    invalid_message,
    list_invalid_fields,
)
from longwire.delivery.destinations.broker import BrokerDestination
from longwire.delivery.destinations.connections import (
    CONNECT_TIMEOUT_S,
    UNCONFIRMED,
    ConnectionFailed,
    PendingConfirmations,
    SharedConnection,
    default_tls_context,
    outcome_of_error,
)
from longwire.delivery.destinations.inbound_limit import InboundLimit
from longwire.delivery.http.egress import Egress

DEFAULT_PORTS = {"nats": 4222, "tls": 4222}
PING_S = 10
PINGS_UNANSWERED_MAX = 2
# Servers only send acknowledgements and INFO.
UNPARSED_BYTES_MAX = 128 * 1024
# By default servers disconnect on lines of more than 4 KiB, which also have the reply subject.
SUBJECT_BYTES_MAX = 2_048

# By a part of the server's error, in lower case; NATS has no codes for these.
LOGIN_REJECTED = Refused("the server rejected the login", code=FailureCode.LOGIN_REJECTED)
LOGIN_ERRORS = {
    "authorization violation": LOGIN_REJECTED,
    "authentication": LOGIN_REJECTED,
    "maximum": Refused("the server has reached its connection limit"),
}
NO_RESPONDERS = "503"
NO_STREAM = Refused("no stream stores this subject")
NOT_PERMITTED = Refused("not authorized to publish to this subject")
NO_ACKS_PERMITTED = Refused("not authorized to receive acknowledgements")
TOO_LARGE = 10_054
JETSTREAM_ERRORS = {
    10_023: "the server has insufficient storage",
    10_047: "the server has insufficient storage",
    10_060: "another stream stores this subject",
    TOO_LARGE: "the message is larger than the stream accepts",
    10_077: "the stream is full",
    10_122: "the stream is full",
}


StreamName = Annotated[
    str,
    Meta(
        pattern=r"^[^\s.*>/\\]{1,255}$(?!\n)",
        description="Refuse unless the stream behind the subject has this name.",
    ),
]


class NatsParams(DestinationParams, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Parameters of connectors of the type `nats`."""

    url: Annotated[
        str,
        Meta(
            max_length=addresses.URL_CHARACTERS_MAX,
            description=(
                "nats://host:port, or tls:// to require an encrypted connection. Other servers of"
                " a cluster are not discovered."
            ),
        ),
    ]
    subject: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=512,
            description=f"Of a JetStream stream. {addresses.describe_placeholders('dots')}",
        ),
    ]
    username: Annotated[str, Meta(min_length=1, max_length=1_024)] | None = None
    password: Secret | None = None
    token: Secret | None = None
    stream: StreamName | None = None

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        return super().validate(egress) + list_invalid_fields(
            {
                "url": addresses.validate_hosts(
                    lambda: [addresses.parse_address(self.url, DEFAULT_PORTS)], egress
                ),
                "subject": validate_subject(self.subject),
                **addresses.validate_login(self.username, self.password),
                "token": "comes instead of a username" if self.token and self.username else None,
            }
        )


def validate_subject(template: str) -> str | None:
    """Why this subject template is invalid, or None."""
    if "*" in template or ">" in template:
        return "must not have the wildcards * and >"
    if not template.isprintable() or " " in template:
        return "must not have spaces or unprintable characters"
    if not all(template.split(".")):
        return "has an empty part between dots"
    return addresses.validate_placeholders(template)


# A placeholder's value as one token of a subject.
sanitize_subject_token = partial(addresses.sanitize, special="*>.$ ")


class Nats(BrokerDestination["_NatsSession"]):
    """One connector's connection to its server, kept open between messages."""

    type: ClassVar[str] = "nats"
    title: ClassVar[str] = "NATS JetStream"
    params_type = NatsParams

    def __init__(self, params: NatsParams, egress: Egress) -> None:
        super().__init__()
        self._params = params
        self._address = addresses.parse_address(params.url, DEFAULT_PORTS)
        # Acknowledgements carry their message's number, and the session detects a dead peer.
        self._shared = SharedConnection(egress, self._open, keep_on_cancel=True)

    async def _send(self, message: OutboundMessage) -> Outcome:
        async with self._shared.lease() as session:
            return await session.store(self._subject(message), message.body, self._headers(message))

    def _target(self, message: OutboundMessage) -> str:
        return f"{self._address}/{self._subject(message)}"

    def _subject(self, message: OutboundMessage) -> str:
        return addresses.render_template(self._params.subject, message, sanitize_subject_token)

    def _headers(self, message: OutboundMessage) -> dict[str, str]:
        headers = {"Nats-Msg-Id": message.id, "Content-Type": message.content_type}
        if self._params.stream is not None:
            headers["Nats-Expected-Stream"] = self._params.stream
        return headers

    async def _open(self) -> "_NatsSession":
        session = _NatsSession(self._inbound, requires_tls=self._address.scheme == "tls")
        try:
            await session.connect(
                servers=[str(self._address)],
                tls=default_tls_context(),  # also for nats://, where the server may require it
                tls_hostname=self._address.host,
                user=self._params.username,
                password=self._params.password,
                token=self._params.token,
                error_cb=session.on_error,
                allow_reconnect=False,
                connect_timeout=int(CONNECT_TIMEOUT_S),
                ping_interval=PING_S,
                max_outstanding_pings=PINGS_UNANSWERED_MAX,
                # No limit: the engine bounds what is in flight, and at its own limit the library
                # would wait where it ignores cancellation.
                pending_size=0,
            )
            await session.listen()
        except BaseException as error:
            await session.close()
            if isinstance(error, Error):
                raise ConnectionFailed(_outcome_of_login_error(error)) from None
            raise
        return session


class _JetStreamError(msgspec.Struct, frozen=True):
    code: int = 0
    err_code: int = 0


class _PubAck(msgspec.Struct, frozen=True):
    """JetStream's response to a message: the stream that has it, or an error."""

    stream: str | None = None
    error: _JetStreamError | None = None


# --- nats-py, bounded ---
#
# nats-py has no settings for what follows, so private parts are overridden and pyproject.toml
# bounds its version: what a server sends has a size limit, closing does not wait for the peer, and
# waiting senders learn of it.


class _AbortingTransport(TcpTransport):
    def __bool__(self) -> bool:
        return True  # or the client would replace it

    def close(self) -> None:
        """Abort; a graceful close could wait for a peer that is gone."""
        if self._io_writer is not None:
            self._io_writer.transport.abort()

    async def wait_closed(self) -> None:
        # After a failed TLS handshake the library would wait on a stream that is never closed.
        await asyncio.sleep(0)


class _BoundedParser(Parser):
    """Fails on input that is too much, too long or invalid.

    The library would buffer any announced size, and stop reading on invalid input while it takes
    the connection for open.
    """

    def __init__(self, client: Client, limit: InboundLimit) -> None:
        super().__init__(client)
        self._limit = limit

    async def parse(self, data: bytes = b"") -> None:
        if len(self.buf) + len(data) > UNPARSED_BYTES_MAX:
            raise ProtocolError
        try:
            self._limit.take(1 + data.count(b"\n"), len(data))
            await super().parse(data)
        except Exception:
            raise ProtocolError from None


class _NatsSession(Client):
    """One connection, from the login to its loss."""

    def __init__(self, limit: InboundLimit, *, requires_tls: bool) -> None:
        super().__init__()
        self._ps = _BoundedParser(self, limit)
        self._connection = _AbortingTransport()  # type: ignore[no-untyped-call]
        self._transport = self._connection
        self._requires_tls = requires_tls
        self._confirmations = PendingConfirmations[Outcome](on_silence=self._abort)
        self._inbox = self.new_inbox()
        self._count = 0
        self._subjects: dict[str, str] = {}  # by reply subject
        self._is_aborted = False

    @property
    def is_open(self) -> bool:
        return self.is_connected and not self._is_aborted

    async def listen(self) -> None:
        """Subscribe to acknowledgements; call once, after the login."""
        if not self.is_connected:
            raise ConnectionResetError
        await self.subscribe(f"{self._inbox}.*", cb=self._on_ack)

    async def store(self, subject: str, body: bytes, headers: dict[str, str]) -> Outcome:
        """Publish, and wait until a stream has it."""
        # Servers disconnect on these, which would fail the messages in flight, too.
        if len(subject.encode()) > SUBJECT_BYTES_MAX:
            return invalid_message("the subject is too long")
        if len(body) + _header_bytes(headers) > self.max_payload:
            return Refused("the message is larger than the server accepts", is_final=True)
        self._count += 1
        reply_to = f"{self._inbox}.{self._count}"
        self._subjects[reply_to] = subject
        try:
            with self._confirmations.expect(reply_to) as confirmation:
                await self.publish(subject, body, reply=reply_to, headers=headers)
                return await confirmation or UNCONFIRMED
        except Error:
            return UNCONFIRMED
        finally:
            del self._subjects[reply_to]

    async def on_error(self, error: Exception) -> None:
        """Called by the library for errors that no call of ours raises."""
        if self.is_connecting or self._current_server is None:
            raise error  # or it would retry
        text = str(error)
        if PERMISSIONS_ERR not in text:
            return
        # The only sign of it: no acknowledgement comes. The library has lower-cased the text.
        for reply_to, subject in list(self._subjects.items()):
            if f'for publish to "{subject.lower()}"' in text:
                self._confirmations.confirm(reply_to, NOT_PERMITTED)
        if "for subscription" in text or "with reply" in text:
            for reply_to in list(self._subjects):
                self._confirmations.confirm(reply_to, NO_ACKS_PERMITTED)

    async def _on_ack(self, message: Msg) -> None:
        self._confirmations.confirm(message.subject, _outcome_of_ack(message))

    def _abort(self) -> None:
        self._is_aborted = True
        self._confirmations.fail_all()
        self._connection.close()

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        """Ignore advertised servers, whose list a hostile server could grow without end."""
        if initial_connection and self._requires_tls:
            # The library trusts the server's word, and would log in without TLS.
            info["tls_required"] = True

    async def _close(self, status: int, do_cbs: bool = True) -> None:
        """Discard pending writes, which could block, and wake those who wait for an ack."""
        self._pending, self._pending_data_size = [], 0
        self._confirmations.fail_all()
        await super()._close(status, do_cbs)


def _outcome_of_login_error(error: Error) -> Refused | Unreachable:
    text = str(error).lower()
    for fragment, outcome in LOGIN_ERRORS.items():
        if fragment in text:
            return outcome
    return outcome_of_error(error)


def _outcome_of_ack(message: Msg) -> Outcome:
    if message.headers and message.headers.get("Status") == NO_RESPONDERS:
        return NO_STREAM
    try:
        ack = msgspec.json.decode(message.data, type=_PubAck)
    except msgspec.DecodeError:
        return NO_STREAM  # a subscriber that is no stream has replied
    if ack.error is not None:
        number = ack.error.err_code or ack.error.code
        words = JETSTREAM_ERRORS.get(number, f"the stream rejected the message (code {number})")
        return Refused(words, is_final=number == TOO_LARGE)
    # A duplicate, which the stream has already, counts as delivered.
    return Delivered() if ack.stream else NO_STREAM


def _header_bytes(headers: dict[str, str]) -> int:
    lines = (f"{name}: {value}\r\n" for name, value in headers.items())
    return len(f"NATS/1.0\r\n{''.join(lines)}\r\n".encode())
