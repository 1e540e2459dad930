"""Checks that a request comes from a connector: Standard Webhooks 1.0.

    webhook = Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    message_id = webhook.verify(request.body, request.headers)

While a secret is rotated, give both: a request that is signed with either is accepted.
"""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping
from datetime import datetime

from longwire_client.errors import LongwireError

_PREFIX = "whsec_"
_VERSION = "v1"


class WebhookRefused(LongwireError):
    """The request is not from the connector, or too old; `code` says which."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.code = code  # missing_header, bad_timestamp, too_old, too_new or bad_signature
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"


class Webhook:
    """Verifies requests, and signs them, with one or more secrets."""

    def __init__(self, *secrets: str, tolerance_s: float = 300.0) -> None:
        if not secrets:
            raise ValueError("a webhook needs at least one secret")
        self._keys = [_key(each) for each in secrets]
        self._tolerance_s = tolerance_s

    def verify(
        self, body: bytes, headers: Mapping[str, str], *, now: datetime | None = None
    ) -> str:
        """The id of the message, which is the same for every attempt; or WebhookRefused.

        `body` is what was received, byte by byte; do not encode it again.
        """
        given = {name.lower(): value for name, value in headers.items()}
        message_id = _header(given, "webhook-id")
        timestamp = _header(given, "webhook-timestamp")
        signatures = _header(given, "webhook-signature").split()
        self._check_time(timestamp, time.time() if now is None else now.timestamp())
        expected = [
            f"{_VERSION},{_sign(key, message_id, timestamp, body)}".encode() for key in self._keys
        ]
        # Every pair is compared, so that the time taken does not tell which one matched.
        matches = [
            hmac.compare_digest(mine, _to_bytes(theirs))
            for theirs in signatures
            for mine in expected
        ]
        if not any(matches):
            raise WebhookRefused("bad_signature", "no signature was made with a known secret")
        return message_id

    def sign(self, message_id: str, body: bytes, *, now: datetime | None = None) -> dict[str, str]:
        """The headers that a connector would send; with one signature for each secret."""
        timestamp = str(int(time.time() if now is None else now.timestamp()))
        signatures = [f"{_VERSION},{_sign(key, message_id, timestamp, body)}" for key in self._keys]
        return {
            "webhook-id": message_id,
            "webhook-timestamp": timestamp,
            "webhook-signature": " ".join(signatures),
        }

    def _check_time(self, timestamp: str, now: float) -> None:
        if not timestamp.isascii() or not timestamp.isdecimal() or len(timestamp) > 15:
            raise WebhookRefused("bad_timestamp", "webhook-timestamp is not a number of seconds")
        age_s = now - int(timestamp)
        if age_s > self._tolerance_s:
            raise WebhookRefused("too_old", f"it was signed {age_s:.0f} s ago")
        if age_s < -self._tolerance_s:
            raise WebhookRefused("too_new", f"it was signed {-age_s:.0f} s in the future")


def _header(headers: Mapping[str, str], name: str) -> str:
    if not headers.get(name):
        raise WebhookRefused("missing_header", f"there is no {name}")
    return headers[name]


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError("a secret is whsec_ and base64") from error
    if not key:
        # An unset variable, say: anybody could sign with it.
        raise ValueError("a secret must not be empty")
    return key


def _to_bytes(header: str) -> bytes:
    """What a header consists of; some servers decode what is not UTF-8 to surrogates."""
    return header.encode("utf-8", "surrogatepass")


def _sign(key: bytes, message_id: str, timestamp: str, body: bytes) -> str:
    signed = b".".join((_to_bytes(message_id), timestamp.encode(), body))
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
