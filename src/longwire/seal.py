"""Secrets at rest: keyed digests for comparison, authenticated encryption for recovery.

All keys are derived from one 32-byte key that is stored outside the database. A copy of the
database alone reveals no token, client secret or connector password. While that key is rotated
there are several: the newest seals, all of them open. Digests cannot be made again without what
they are of, so their key stays the first one; it is stored in the database, sealed.
"""

import base64
import contextlib
import hashlib
import hmac
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
_NONCE_BYTES = 12
_DIGEST_KEY_PURPOSE = "instance|digest_key"


class UnsealError(Exception):
    """The text was not sealed with this key, or not for this purpose."""


class Keyring:
    """The keys derived from the operator's keys, one per purpose."""

    def __init__(self, key: bytes, *older: bytes) -> None:
        keys = (key, *older)
        for each in keys:
            if len(each) != KEY_BYTES:
                raise ValueError(f"the key must have {KEY_BYTES} bytes, not {len(each)}")
        self.fingerprints = tuple(_derive(each, b"fingerprint").hex()[:16] for each in keys)
        self.fingerprint = self.fingerprints[0]
        self._digest_keys = dict(
            zip(self.fingerprints, (_derive(each, b"digest") for each in keys), strict=True)
        )
        self._digest_key = self._digest_keys[self.fingerprint]
        self._cipher, *self._older_ciphers = (AESGCM(_derive(each, b"seal")) for each in keys)

    def use_digest_key_of(self, fingerprint: str) -> None:
        """Make digests as those in the database were made: with the key of its first start."""
        self._digest_key = self._digest_keys[fingerprint]

    def use_digest_key(self, sealed: str) -> None:
        self._digest_key = bytes.fromhex(self.unseal(sealed, _DIGEST_KEY_PURPOSE))

    def seal_digest_key(self) -> str:
        return self.seal(self._digest_key.hex(), _DIGEST_KEY_PURPOSE)

    def digest(self, secret: str) -> bytes:
        """HMAC-SHA256 of a secret: deterministic, so that it can be looked up."""
        return hmac.digest(self._digest_key, secret.encode(), hashlib.sha256)

    def matches(self, secret: str, digest: bytes) -> bool:
        return hmac.compare_digest(self.digest(secret), digest)

    def seal(self, text: str, purpose: str) -> str:
        """Encrypt with AES-GCM; unsealing needs the same purpose (table, row, column …)."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, text.encode(), purpose.encode())
        return _encode_base64url(sealed)

    def seal_bytes(self, content: bytes, purpose: str) -> bytes:
        """The same for bytes, without the encoding as text."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, content, purpose.encode())

    def unseal_bytes(self, sealed: bytes, purpose: str) -> bytes:
        nonce, content = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, content, purpose.encode())
        except ValueError as error:
            raise UnsealError from error
        except InvalidTag as error:
            for cipher in self._older_ciphers:
                with contextlib.suppress(InvalidTag):
                    return cipher.decrypt(nonce, content, purpose.encode())
            raise UnsealError from error

    def is_current(self, sealed: str | bytes, purpose: str) -> bool:
        """Whether the newest key has sealed it."""
        try:
            raw = sealed if isinstance(sealed, bytes) else _decode_base64url(sealed)
            self._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], purpose.encode())
        except (InvalidTag, ValueError):
            return False
        return True

    def unseal(self, sealed: str, purpose: str) -> str:
        try:
            raw = _decode_base64url(sealed)
        except ValueError as error:
            raise UnsealError from error
        text = self.unseal_bytes(raw, purpose)
        if _encode_base64url(raw) != sealed:
            # The base64 decoder ignores stray characters and trailing bits; accept one form only.
            raise UnsealError
        return text.decode()


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def _decode_base64url(sealed: str) -> bytes:
    return base64.urlsafe_b64decode(sealed.encode("ascii") + b"=" * (-len(sealed) % 4))


def _encode_base64url(sealed: bytes) -> str:
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


def _derive(key: bytes, purpose: bytes) -> bytes:
    return HKDF(
        algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"longwire/" + purpose
    ).derive(key)
