"""Generates ids and secrets.

Ids are random and reveal neither creation time nor creator: an invitation must not disclose whether
the user existed before. Group ids are the exception, because the API types them as integers in
places: decimal digits below 2^53, increasing with time so that lists keep their order.
"""

import base64
import re
import secrets
import threading

from longwire.clock import Moment

_GROUP_EPOCH: Moment = 1_577_836_800_000_000  # 2020-01-01; 41 bits of milliseconds last until 2089
_GROUP_RANDOM_BITS = 12

_DELIVERY_ID = re.compile(r"msg_([0-9a-f]{1,16})_([0-9a-f]{1,16})")

_RECORD_ID = re.compile(r"rec_([0-9a-f]{1,16})")


def new_id(prefix: str) -> str:
    """An opaque id of 120 random bits, for example `usr_4mkcl2xs…`; the prefix names the kind."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(15)).decode().lower()}"


def new_secret(prefix: str) -> str:
    """A secret of 256 random bits; the prefix lets scanners of leaked secrets recognise it."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


class GroupIds:
    """The ids of new groups: milliseconds and random bits, strictly increasing. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self, now: Moment) -> str:
        milliseconds = (now - _GROUP_EPOCH) // 1_000
        candidate = (milliseconds << _GROUP_RANDOM_BITS) | secrets.randbits(_GROUP_RANDOM_BITS)
        with self._lock:
            self._last = max(candidate, self._last + 1)
            return str(self._last)


def format_delivery_id(channel_number: int, seq: int) -> str:
    """The message id of a delivery through a channel, the same on every attempt.

    Deterministic: it is derived from the row's key and needs no column or index of its own.
    """
    return f"msg_{channel_number:x}_{seq:x}"


def parse_delivery_id(text: str) -> tuple[int, int] | None:
    """Channel number and `seq` of a message id; None if it is not one."""
    match = _DELIVERY_ID.fullmatch(text)
    key = (int(match[1], 16), int(match[2], 16)) if match else None
    # Larger numbers do not fit a database integer, so no delivery has them.
    return key if key and max(key) < 2**63 else None


def format_record_id(seq: int) -> str:
    """The id of a record: its arrival, in hex."""
    return f"rec_{seq:x}"


def parse_record_id(text: str) -> int | None:
    """The arrival of a record; None if this is not an id of one."""
    match = _RECORD_ID.fullmatch(text)
    seq = int(match[1], 16) if match else None
    return seq if seq is not None and seq < 2**63 else None
