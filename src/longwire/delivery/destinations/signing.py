"""Secrets that sign requests, by Standard Webhooks 1.0."""

from base64 import b64decode, b64encode
from collections.abc import Iterator
from secrets import token_bytes

from longwire.delivery.destinations.base import MASK

SECRET_PREFIX = "whsec_"
# By Standard Webhooks 1.0.
KEY_BYTES_MIN, KEY_BYTES_MAX = 24, 64
SECRET_BYTES = 32  # of one that is made here


def validate_signing_secret(secret: str | None) -> Iterator[str]:
    try:
        if secret is not None and secret != MASK:  # a mask has its own error
            signing_key(secret)
    except ValueError:
        yield f"must be {SECRET_PREFIX} and {KEY_BYTES_MIN} to {KEY_BYTES_MAX} bytes in base64"


def signing_key(secret: str) -> bytes:
    """The key to sign with, read as the libraries of Standard Webhooks do; else ValueError."""
    text = secret.removeprefix(SECRET_PREFIX).rstrip("=")
    key = b64decode(text + "=" * (-len(text) % 4), validate=True)
    if not KEY_BYTES_MIN <= len(key) <= KEY_BYTES_MAX:
        raise ValueError("the key is too short or too long")
    return key


def new_signing_secret() -> str:
    return SECRET_PREFIX + b64encode(token_bytes(SECRET_BYTES)).decode()
