"""Secrets at rest: digests that recognise, seals that hide and give back.

Everything rests on one key of 32 bytes that the operator keeps beside the database, never in it. A
copy of the database alone gives away no token, no client secret and no connector password.
"""

import base64
import hashlib
import hmac
import os
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
_NONCE_BYTES = 12


class BrokenSeal(Exception):
    """The text was not sealed with this key, or not for this purpose."""


class Keyring:
    """The keys derived from the operator's one key, each for a purpose of its own."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, this one has {len(key)}")
        self._digest_key = _derive(key, b"digest")
        self._cipher = AESGCM(_derive(key, b"seal"))
        self.fingerprint = _derive(key, b"fingerprint").hex()[:16]

    def digest(self, secret: str) -> bytes:
        """The same 32 bytes for the same secret, useless without the key."""
        return hmac.digest(self._digest_key, secret.encode(), hashlib.sha256)

    def matches(self, secret: str, digest: bytes) -> bool:
        return hmac.compare_digest(self.digest(secret), digest)

    def seal(self, text: str, purpose: str) -> str:
        """Hide a text; it opens again only with the same purpose (table, row, column, caller …)."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, text.encode(), purpose.encode())
        return _armour(sealed)

    def unseal(self, sealed: str, purpose: str) -> str:
        try:
            raw = base64.urlsafe_b64decode(sealed.encode("ascii") + b"=" * (-len(sealed) % 4))
            text = self._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], purpose.encode())
        except (InvalidTag, ValueError) as error:
            raise BrokenSeal from error
        if _armour(raw) != sealed:
            # Base64 is read leniently: stray characters and spare bits would go unnoticed.
            raise BrokenSeal
        return text.decode()


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def _armour(sealed: bytes) -> str:
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


def _derive(key: bytes, purpose: bytes) -> bytes:
    return HKDF(
        algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"longwire/" + purpose
    ).derive(key)
