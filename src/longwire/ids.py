"""Names for new things.

Ids are random and say nothing about when or by whom a thing was made: an invitation must not tell
whether the person was known before. Group ids are the exception, because the interface types them
as integers in places: decimal digits below 2^53, growing with time so that lists keep their order.
"""

import base64
import re
import secrets
import threading

from longwire.clock import Moment

_GROUP_EPOCH: Moment = 1_577_836_800_000_000  # 2020-01-01; 41 bits of milliseconds last until 2089
_GROUP_RANDOM_BITS = 12

_DELIVERY_ID = re.compile(r"msg_([0-9a-f]{1,16})_([0-9a-f]{1,16})")

_group_lock = threading.Lock()
_last_group = 0


def new_id(prefix: str) -> str:
    """An opaque id of 120 random bits, for example `usr_4mkcl2xs…`; the prefix tells the kind."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(15)).decode().lower()}"


def new_secret(prefix: str) -> str:
    """A secret of 256 random bits; the prefix lets scanners of leaked secrets recognise it."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def new_group_id(now: Moment) -> str:
    """The next group id: milliseconds and chance, never twice or backwards in one process."""
    global _last_group
    milliseconds = (now - _GROUP_EPOCH) // 1_000
    wish = (milliseconds << _GROUP_RANDOM_BITS) | secrets.randbits(_GROUP_RANDOM_BITS)
    with _group_lock:
        _last_group = max(wish, _last_group + 1)
        return str(_last_group)


def delivery_id(connector_number: int, seq: int) -> str:
    """The name of a record's way through a connector: the same whenever and however often it goes.

    No random part, so that it cannot be made twice, and can be found again without a look-up.
    """
    return f"msg_{connector_number:x}_{seq:x}"


def delivery_key(delivery_id: str) -> tuple[int, int] | None:
    """Connector number and `seq` out of such a name."""
    found = _DELIVERY_ID.fullmatch(delivery_id)
    key = (int(found[1], 16), int(found[2], 16)) if found else None
    # What no database could keep is the name of nothing.
    return key if key and max(key) < 2**63 else None
