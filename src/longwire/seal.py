"""Secrets at rest: keyed digests for comparison, authenticated encryption for recovery.

All keys are derived from one 32-byte key that is stored outside the database. A copy of the
database alone reveals no token, client secret or connector password.
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


class UnsealError(Exception):
    """The text was not sealed with this key, or not for this purpose."""


class Keyring:
    """The keys derived from the operator's key, one per purpose."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"the key must have {KEY_BYTES} bytes, not {len(key)}")
        self._digest_key = _derive(key, b"digest")
        self._cipher = AESGCM(_derive(key, b"seal"))
        self.fingerprint = _derive(key, b"fingerprint").hex()[:16]

    def digest(self, secret: str) -> bytes:
        """HMAC-SHA256 of a secret: deterministic, so that it can be looked up."""
        return hmac.digest(self._digest_key, secret.encode(), hashlib.sha256)

    def matches(self, secret: str, digest: bytes) -> bool:
        return hmac.compare_digest(self.digest(secret), digest)

    def seal(self, text: str, purpose: str) -> str:
        """Encrypt with AES-GCM; unsealing needs the same purpose (table, row, column …)."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, text.encode(), purpose.encode())
        return _encode_base64url(sealed)

    def seal_bytes(self, content: bytes, purpose: str) -> bytes:
        """The same for bytes, without the encoding as text."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, content, purpose.encode())

    def unseal_bytes(self, sealed: bytes, purpose: str) -> bytes:
        nonce, content = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, content, purpose.encode())
        except (InvalidTag, ValueError) as error:
            raise UnsealError from error

    def unseal(self, sealed: str, purpose: str) -> str:
        try:
            raw = base64.urlsafe_b64decode(sealed.encode("ascii") + b"=" * (-len(sealed) % 4))
            text = self._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], purpose.encode())
        except (InvalidTag, ValueError) as error:
            raise UnsealError from error
        if _encode_base64url(raw) != sealed:
            # The base64 decoder ignores stray characters and trailing bits; accept one form only.
            raise UnsealError
        return text.decode()


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def _encode_base64url(sealed: bytes) -> str:
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


def _derive(key: bytes, purpose: bytes) -> bytes:
    return HKDF(
        algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"longwire/" + purpose
    ).derive(key)
