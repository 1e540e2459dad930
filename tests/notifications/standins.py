"""Local receivers of notifications: a mail server, a browser, and Firebase."""

import asyncio
import functools
import json
import ssl
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from typing import Any
from urllib.parse import parse_qs

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from longwire.notifications.webpush import decode_base64url, encode_base64url
from longwire.store.database import Tx
from longwire.store.schema import delivery
from tests.delivery.receiver import Received, Receiver, StubResponse
from tests.waiting import PATIENCE_S, eventually
from tests.world import World


@dataclass(frozen=True)
class Mail:
    sender: str
    to: list[str]
    raw: bytes
    was_encrypted: bool

    @property
    def message(self) -> EmailMessage:
        return BytesParser(policy=default).parsebytes(self.raw)

    @property
    def text(self) -> str:
        return self.message.get_content()


class _Controller(Controller):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.protocols: list[SMTP] = []

    def factory(self) -> SMTP:
        self.protocols.append(super().factory())
        return self.protocols[-1]

    def _trigger_server(self) -> None:
        # It looks for itself at the configured port, which is 0.
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()

    async def abort_connections(self) -> None:
        """Leave none to the garbage collector, whose warning would fail any later test."""
        for protocol in self.protocols:
            if protocol.transport is not None:
                protocol.transport.abort()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


class MailServer:
    """An SMTP server; `replies` are given to RCPT or DATA in turn, and then 250."""

    def __init__(self, *, login: tuple[str, str] | None = None, tls: ssl.SSLContext | None = None):
        self.mails: list[Mail] = []
        self.replies: dict[str, list[str]] = {"RCPT": [], "DATA": []}
        self._login = login
        self._tls = tls
        self.controller: _Controller

    def __enter__(self) -> "MailServer":
        self.controller = _Controller(
            self,
            ready_timeout=PATIENCE_S,
            server_hostname="localhost",
            hostname="127.0.0.1",
            port=0,
            tls_context=self._tls,
            require_starttls=self._tls is not None,
            auth_required=self._login is not None,
            auth_require_tls=False,
            authenticator=self._authenticate,
        )
        self.controller.start()
        return self

    def __exit__(self, *exc: object) -> None:
        aborted = self.controller.abort_connections()
        asyncio.run_coroutine_threadsafe(aborted, self.controller.loop).result(PATIENCE_S)
        self.controller.stop(no_assert=True)

    @property
    def port(self) -> int:
        return self.controller.port

    def settings(self, **others: Any) -> dict[str, Any]:
        return {
            "smtp_host": "127.0.0.1",
            "smtp_port": self.port,
            "smtp_security": "none",
            "smtp_from": "Longwire <longwire@example.com>",
        } | others

    def _authenticate(self, server, session, envelope, mechanism, data) -> AuthResult:
        assert isinstance(data, LoginPassword)
        given = (data.login.decode(), data.password.decode())
        return AuthResult(success=given == self._login, handled=False)

    async def handle_RCPT(self, server, session, envelope, address, options) -> str:
        if self.replies["RCPT"]:
            return self.replies["RCPT"].pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session: Session, envelope: Envelope) -> str:
        self.mails.append(
            Mail(
                envelope.mail_from or "",
                list(envelope.rcpt_tos),
                envelope.content or b"",
                session.ssl is not None,
            )
        )
        return self.replies["DATA"].pop(0) if self.replies["DATA"] else "250 OK"


class Browser:
    """What a browser does with Web Push: it subscribes, and reads what was encrypted for it."""

    def __init__(self, endpoint: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._secret = b"sixteen bytes ok"
        self.endpoint = endpoint

    @property
    def token(self) -> str:
        keys = {"p256dh": encode_base64url(self._point), "auth": encode_base64url(self._secret)}
        return json.dumps({"endpoint": self.endpoint, "expirationTime": None, "keys": keys})

    @property
    def _point(self) -> bytes:
        return _point(self._key)

    def read(self, body: bytes) -> Any:
        """RFC 8188 and 8291, from the other side."""
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        theirs, record = body[21 : 21 + length], body[21 + length :]
        assert len(body) <= size == 4_096
        shared = self._key.exchange(
            ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs)
        )
        secret = _derived(self._secret, shared, b"WebPush: info\0" + self._point + theirs, 32)
        key = _derived(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _derived(salt, secret, b"Content-Encoding: nonce\0", 12)
        plain = AESGCM(key).decrypt(nonce, record, None)
        assert plain.endswith(b"\x02")
        return json.loads(plain[:-1])


def claims_of_vapid(header: str) -> tuple[dict[str, Any], str]:
    """The claims in an Authorization of RFC 8292, verified, and the key they are signed with."""
    scheme, _, rest = header.partition(" ")
    assert scheme == "vapid"
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    signed, _, signature = parts["t"].rpartition(".")
    r, s = decode_base64url(signature)[:32], decode_base64url(signature)[32:]
    ec.EllipticCurvePublicKey.from_encoded_point(
        ec.SECP256R1(), decode_base64url(parts["k"])
    ).verify(
        encode_dss_signature(int.from_bytes(r, "big"), int.from_bytes(s, "big")),
        signed.encode(),
        ec.ECDSA(hashes.SHA256()),
    )
    head, claims = (json.loads(decode_base64url(part)) for part in signed.split("."))
    assert head == {"typ": "JWT", "alg": "ES256"}
    return claims, parts["k"]


@functools.cache
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65_537, 2_048)  # takes its time


@dataclass
class Firebase:
    """The token endpoint and the message endpoint of FCM, behind one receiver."""

    receiver: Receiver
    key: rsa.RSAPrivateKey = field(default_factory=rsa_key)
    grants: int = 0
    lasts_s: int = 3_600
    messages: list[dict[str, Any]] = field(default_factory=list)
    answers: list[StubResponse] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.receiver.respond_with(self._answer)
        self.url = f"http://127.0.0.1:{self.receiver.port}"

    @property
    def account(self) -> str:
        pem = self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return json.dumps(
            {
                "type": "service_account",
                "project_id": "cellar",
                "client_email": "longwire@cellar.example",
                "private_key": pem.decode(),
                "token_uri": f"{self.url}/token",
            }
        )

    def _answer(self, request: Received) -> StubResponse:
        if request.path == "/token":
            return self._granted(parse_qs(request.body.decode()))
        assert request.path == "/v1/projects/cellar/messages:send"
        if request.headers["authorization"] != f"Bearer access-{self.grants}":
            return StubResponse(401)
        self.messages.append(request.json["message"])
        return self.answers.pop(0) if self.answers else StubResponse(body=b'{"name": "1"}')

    def _granted(self, form: dict[str, list[str]]) -> StubResponse:
        assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        signed, _, signature = form["assertion"][0].rpartition(".")
        self.key.public_key().verify(
            decode_base64url(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256()
        )
        claims = json.loads(decode_base64url(signed.split(".")[1]))
        assert claims["iss"] == "longwire@cellar.example"
        assert claims["aud"] == f"{self.url}/token"
        self.grants += 1
        granted = {"access_token": f"access-{self.grants}", "expires_in": self.lasts_s}
        return StubResponse(body=json.dumps(granted).encode())


def fcm_error(status: int, code: str, message: str = "no", field: str = "") -> StubResponse:
    kind = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
    details: list[dict[str, Any]] = [{"@type": kind, "errorCode": code}]
    if field:
        violations = [{"field": field, "description": "is wrong"}]
        kind = "type.googleapis.com/google.rpc.BadRequest"
        details.append({"@type": kind, "fieldViolations": violations})
    error = {"code": status, "message": message, "status": "X", "details": details}
    return StubResponse(status, body=json.dumps({"error": error}).encode())


def _point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )


def _derived(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


def wait_for_tries(world: World, states: list[tuple[int, int]]) -> None:
    """Until all deliveries are in these states, after so many tries: (state, tries) of each."""

    def work(tx: Tx) -> list[tuple[int, int]]:
        return sorted((row.state, row.attempts) for row in tx.rows(delivery.select()))

    eventually(lambda: world.read(work) == sorted(states))
