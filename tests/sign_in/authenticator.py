"""A passkey in software, which does what a test wants: for what no honest browser sends."""

import base64
import hashlib
import json
import os
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

USER_PRESENT, USER_VERIFIED, HAS_CREDENTIAL = 0x01, 0x04, 0x40


class SoftPasskey:
    """One key pair of one user at one site."""

    def __init__(self, *, origin: str, site: str = "localhost") -> None:
        self.origin, self.site = origin, site
        self.flags = USER_PRESENT | USER_VERIFIED
        self.count = 1
        self.id = os.urandom(16)
        self.user = b""
        self._key = ec.generate_private_key(ec.SECP256R1())

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        """What a browser returns from `navigator.credentials.create`."""
        self.user = _decode(options["user"]["id"])
        point = self._key.public_key().public_numbers()
        x, y = (number.to_bytes(32, "big") for number in (point.x, point.y))
        public_key = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})
        attested = bytes(16) + len(self.id).to_bytes(2, "big") + self.id + public_key
        data = self._authenticator_data(self.flags | HAS_CREDENTIAL) + attested
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client_data = self._client_data("webauthn.create", options["challenge"])
        return self._credential(
            {"clientDataJSON": _encode(client_data), "attestationObject": _encode(attestation)}
        )

    def sign(self, options: dict[str, Any]) -> dict[str, Any]:
        """What a browser returns from `navigator.credentials.get`."""
        self.count += 1
        client_data = self._client_data("webauthn.get", options["challenge"])
        data = self._authenticator_data(self.flags)
        signature = self._key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(SHA256()))
        return self._credential(
            {
                "clientDataJSON": _encode(client_data),
                "authenticatorData": _encode(data),
                "signature": _encode(signature),
                "userHandle": _encode(self.user),
            }
        )

    def _client_data(self, kind: str, challenge: str) -> bytes:
        client_data = {"type": kind, "challenge": challenge, "origin": self.origin}
        return json.dumps(client_data).encode()

    def _authenticator_data(self, flags: int) -> bytes:
        site = hashlib.sha256(self.site.encode()).digest()
        return site + bytes([flags]) + self.count.to_bytes(4, "big")

    def _credential(self, response: dict[str, str]) -> dict[str, Any]:
        name = _encode(self.id)
        return {"id": name, "rawId": name, "type": "public-key", "response": response}


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
