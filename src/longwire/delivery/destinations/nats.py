"""NATS: each message is published to JetStream, and delivered when a stream has confirmed it.

The protocol is nats-py's; the socket is ours, so that it leads to an address the guard has seen.
The library's own search for servers is taken out: it would try for ever, and go where a server
tells it to. Plain NATS confirms nothing, so it is not offered.
"""

import asyncio
import builtins
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.transport import TcpTransport
from nats.errors import Error, ProtocolError
from nats.protocol.parser import PERMISSIONS_ERR, Parser

from longwire.delivery.destinations.addresses import (
    MAY_HOLD,
    URL_CHARACTERS_MAX,
    address_problem,
    filled,
    fit,
    login_problems,
    parsed,
    placeholder_problem,
)
from longwire.delivery.destinations.base import (
    Delivered,
    Message,
    Outcome,
    Params,
    Parcel,
    Refused,
    Request,
    Secret,
    Unreachable,
    only_problems,
)
from longwire.delivery.destinations.connections import (
    CONNECT_TIMEOUT_S,
    UNCONFIRMED,
    Confirmations,
    NoConnection,
    SharedConnection,
    failure,
    guarded,
    trusting,
)
from longwire.delivery.egress import Egress
from longwire.delivery.formats import FORMATS

DEFAULT_PORTS = {"nats": 4222, "tls": 4222}
PING_S = 10
PINGS_UNANSWERED_MAX = 2
# Only confirmations come, and news of the server.
LINE_BYTES_MAX = 64 * 1024
UNREAD_BYTES_MAX = 128 * 1024
# A server hangs up on lines of more than 4 KiB by default; ours also has the place for the answer.
SUBJECT_BYTES_MAX = 2_048

# By what the server says, of which we keep nothing.
NOT_LET_IN = {
    "authorization violation": "the server did not accept the login",
    "authentication": "the server did not accept the login",
    "maximum": "the server has no room for another connection",
}
NO_RESPONDERS = "503"
NO_STREAM = Refused("no stream takes this subject")
NOT_PERMITTED = Refused("the server does not let this login publish to this subject")
NO_CONFIRMATIONS = Refused("the server does not let this login receive confirmations")
TOO_LARGE = 10_054
NOT_TAKEN = {
    10_023: "the server has no room for the message",
    10_047: "the server has no room for the message",
    10_060: "another stream takes this subject",
    TOO_LARGE: "the message is larger than the stream takes",
    10_077: "the stream has no room for the message",
    10_122: "the stream has no room for the message",
}


class NatsParams(Params, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """What a connector of the type `nats` can be told."""

    url: Annotated[
        str,
        Meta(
            max_length=URL_CHARACTERS_MAX,
            description=(
                "nats://host:port, or tls:// to insist on an encrypted connection. Other servers"
                " of a cluster are not looked for."
            ),
        ),
    ]
    subject: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=512,
            description=(
                f"Of a JetStream stream. {MAY_HOLD} Characters of a value that have a meaning in a"
                " subject, dots among them, become an underscore."
            ),
        ),
    ]
    username: Annotated[str, Meta(min_length=1, max_length=1_024)] | None = None
    password: Secret | None = None
    token: Secret | None = None
    stream: (
        Annotated[
            str,
            Meta(
                pattern=r"^[^\s.*>/\\]{1,255}$(?!\n)",
                description="Refuse unless the stream behind the subject has this name.",
            ),
        ]
        | None
    ) = None

    def problems(self, egress: Egress) -> list[tuple[str, str]]:
        return super().problems(egress) + only_problems(
            {
                "url": address_problem(self.url, DEFAULT_PORTS, egress),
                "subject": subject_problem(self.subject),
                **login_problems(self.username, self.password),
                "token": "comes instead of a username" if self.token and self.username else None,
            }
        )


def subject_problem(template: str) -> str | None:
    """Why nothing can be published to the subjects that this makes."""
    if "*" in template or ">" in template:
        return "must not have the wildcards * and >"
    if not template.isprintable() or " " in template:
        return "must not have spaces or characters that do not print"
    if not all(template.split(".")):
        return "has an empty part between dots"
    return placeholder_problem(template)


def fit_for_subject(value: str) -> str:
    """A message's value as one token of a subject, which it can neither leave nor make special."""
    return fit(value, special="*>.$ ")


class Nats:
    """One connector's way to its server: a connection kept open, and many messages on it."""

    type: ClassVar[str] = "nats"
    title: ClassVar[str] = "NATS JetStream"
    params_type: ClassVar[builtins.type[Params]] = NatsParams
    formats: ClassVar[tuple[str, ...]] = FORMATS
    batch_max: ClassVar[int] = 1

    def __init__(self, params: NatsParams, egress: Egress) -> None:
        self._params = params
        self._egress = egress
        self._address = parsed(params.url, DEFAULT_PORTS)
        # A confirmation has its message's number, and the session notices silence.
        self._shared = SharedConnection(self._open, survives_cancelling=True)

    async def send(self, parcel: Parcel) -> Outcome:
        message = parcel.only
        try:
            async with self._shared.borrowed() as session:
                return await session.store(
                    self._subject(message), message.body, self._headers(message)
                )
        except ConnectionAbortedError:
            return UNCONFIRMED  # closed under way
        except Exception as error:
            return failure(error)

    def describe(self, parcel: Parcel) -> Request:
        message = parcel.only
        return Request(
            method="PUBLISH",
            url=f"{self._address}/{self._subject(message)}",
            headers=self._headers(message),
            body=message.body.decode(errors="replace"),
        )

    async def close(self) -> None:
        await self._shared.close()

    def _subject(self, message: Message) -> str:
        return filled(self._params.subject, message, fit_for_subject)

    def _headers(self, message: Message) -> dict[str, str]:
        headers = {"Nats-Msg-Id": message.id, "Content-Type": message.content_type}
        if self._params.stream is not None:
            headers["Nats-Expected-Stream"] = self._params.stream
        return headers

    async def _open(self) -> "_Session":
        reader = asyncio.StreamReader(limit=LINE_BYTES_MAX)
        # Encrypted later if at all: in this protocol the server speaks first.
        writer = await guarded(self._egress, self._address.host, self._address.port, reader)
        session = _Session(_Wire(reader, writer), is_encrypted=self._address.scheme == "tls")
        try:
            await session.connect(
                # Not resolved, as nothing is selected; the name is for the certificate.
                servers=[str(self._address)],
                tls=trusting(),  # also for nats://, where the server may ask for it
                tls_hostname=self._address.host,
                user=self._params.username,
                password=self._params.password,
                token=self._params.token,
                error_cb=session.on_error,
                allow_reconnect=False,
                connect_timeout=int(CONNECT_TIMEOUT_S),
                ping_interval=PING_S,
                max_outstanding_pings=PINGS_UNANSWERED_MAX,
                # No limit: the engine bounds what is under way, and at a limit of its own the
                # library would wait in a place where it ignores being cancelled.
                pending_size=0,
            )
            await session.listen()
        except BaseException as error:
            await session.close()
            if isinstance(error, Error):
                raise NoConnection(_not_let_in(error)) from None
            raise
        return session


class _Error(msgspec.Struct, frozen=True):
    code: int = 0
    err_code: int = 0


class _Answer(msgspec.Struct, frozen=True):
    """What JetStream says to a message: a stream has it, or an error."""

    stream: str | None = None
    error: _Error | None = None


class _Wire(TcpTransport):
    """A connection that is there already."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._bare_io_reader = self._io_reader = reader
        self._bare_io_writer = self._io_writer = writer

    def close(self) -> None:
        # A farewell would wait for a peer that may be gone, and nothing is owed to it.
        if self._io_writer is not None:
            self._io_writer.transport.abort()

    async def wait_closed(self) -> None:
        # Nothing is left to wait for; and after a failed handshake the library would wait on the
        # part of the connection that nobody tells about its end.
        await asyncio.sleep(0)


class _Parser(Parser):
    """Gives up on a server that fills our memory or makes no sense.

    The library waits for the end of whatever was announced. On what it does not understand it stops
    listening, and takes the connection for open.
    """

    async def parse(self, data: bytes = b"") -> None:
        if len(self.buf) + len(data) > UNREAD_BYTES_MAX:
            raise ProtocolError
        try:
            await super().parse(data)
        except Exception:
            raise ProtocolError from None


class _Session(Client):
    """One connection, from the login to its loss."""

    def __init__(self, wire: _Wire, *, is_encrypted: bool) -> None:
        super().__init__()
        self._ps = _Parser(self)
        self._wire = wire
        self._is_encrypted = is_encrypted
        self._confirmations = Confirmations[Outcome](on_silence=self._drop)
        self._inbox = self.new_inbox()
        self._count = 0
        self._subjects: dict[str, str] = {}  # under the place for the answer
        self._is_dropped = False

    @property
    def is_open(self) -> bool:
        return self.is_connected and not self._is_dropped

    async def listen(self) -> None:
        """Take confirmations; to be called once, after the login."""
        if not self.is_connected:
            raise ConnectionResetError
        await self.subscribe(f"{self._inbox}.*", cb=self._on_answer)

    async def store(self, subject: str, body: bytes, headers: dict[str, str]) -> Outcome:
        """Publish, and wait until a stream has it."""
        # A server answers these by hanging up, which would take the others along.
        if len(subject.encode()) > SUBJECT_BYTES_MAX:
            return Refused("the subject is too long", is_final=True)
        if len(body) + _header_bytes(headers) > self.max_payload:
            return Refused("the message is larger than the server takes", is_final=True)
        self._count += 1
        answer_to = f"{self._inbox}.{self._count}"
        self._subjects[answer_to] = subject
        try:
            with self._confirmations.expected(answer_to) as confirmation:
                await self.publish(subject, body, reply=answer_to, headers=headers)
                return await confirmation or UNCONFIRMED
        except Error:
            return UNCONFIRMED
        finally:
            del self._subjects[answer_to]

    async def on_error(self, error: Exception) -> None:
        """What the library says while nobody asks. Only what concerns those who wait matters."""
        said = str(error)
        if PERMISSIONS_ERR not in said:
            return
        # The only way to learn of this; no answer comes. Its text has lost its capital letters.
        for answer_to, subject in list(self._subjects.items()):
            if f'for publish to "{subject.lower()}"' in said:
                self._confirmations.confirm(answer_to, NOT_PERMITTED)
        if "for subscription" in said or "with reply" in said:
            for answer_to in list(self._subjects):
                self._confirmations.confirm(answer_to, NO_CONFIRMATIONS)

    async def _on_answer(self, message: Msg) -> None:
        self._confirmations.confirm(message.subject, _outcome(message))

    def _drop(self) -> None:
        """Let go at once; the library notices by itself and tidies up."""
        self._is_dropped = True
        self._confirmations.lose_all()
        self._wire.close()

    # What the library would do otherwise.

    async def _select_next_server(self) -> None:
        """Resolve, connect, and try again without end: but the connection is there already."""
        self._current_server = self._server_pool[0]
        self._transport = self._wire

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        """Learn of other servers, where nobody has looked whether they may be reached."""
        if initial_connection and self._is_encrypted:
            # The library takes the server's word for it, and would log in without encryption.
            info["tls_required"] = True

    async def _close(self, status: int, do_cbs: bool = True) -> None:
        """Write out what is left, however long that takes, and leave those who wait waiting."""
        self._pending, self._pending_data_size = [], 0
        self._confirmations.lose_all()
        await super()._close(status, do_cbs)


def _not_let_in(error: Error) -> Refused | Unreachable:
    said = str(error).lower()
    for fragment, words in NOT_LET_IN.items():
        if fragment in said:
            return Refused(words)
    return failure(error)


def _outcome(message: Msg) -> Outcome:
    if message.headers and message.headers.get("Status") == NO_RESPONDERS:
        return NO_STREAM
    try:
        answer = msgspec.json.decode(message.data, type=_Answer)
    except msgspec.DecodeError:
        return NO_STREAM  # somebody else listens there and has answered something
    if answer.error is not None:
        number = answer.error.err_code or answer.error.code
        words = NOT_TAKEN.get(number, f"the stream did not take the message (code {number})")
        return Refused(words, is_final=number == TOO_LARGE)
    # A repetition, which the stream has already, is a success like the first time.
    return Delivered() if answer.stream else NO_STREAM


def _header_bytes(headers: dict[str, str]) -> int:
    lines = (f"{name}: {value}\r\n" for name, value in headers.items())
    return len(f"NATS/1.0\r\n{''.join(lines)}\r\n".encode())
