"""Networks and original ids as the networks write them.

Since ids are checked, a device of the network "ChirpStack" with the id 70-B3-D5-… is looked for as
one of chirpstack with 70b3d5…. Those that were stored in other spellings never got a message; they
are written as they are looked for, unless another device has that id. The code of before finds them
as well. What no network can send stays as it is, until its owner changes it.
"""

import re
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

LORAWAN = ("chirpstack", "ttn", "loriot", "thingpark")
NETWORKS = (*LORAWAN, "vendor", "mqtt")
NAMES = {
    **{name: name for name in NETWORKS},
    "thethingsnetwork": "ttn",
    "thethingsstack": "ttn",
}
ROWS_AT_ONCE = 10_000

_device = sa.table(
    "device",
    *(
        sa.column(name)
        for name in ("number", "network", "original_id", "original_key", "search_key")
    ),
)


def upgrade() -> None:
    connection = op.get_bind()
    after = 0
    while rows := connection.execute(_list_candidates(after)).fetchall():
        for row in rows:
            _normalize(connection, row)
        after = rows[-1].number


def _list_candidates(after: int) -> sa.Select[Any]:
    """Devices that may be written in another way: few, in most fleets."""
    network, original_id = _device.c.network, _device.c.original_id
    name = sa.func.lower(network)
    for separator in (" ", "-", "_", "."):
        name = sa.func.replace(name, separator, "")
    is_renamed = sa.and_(name.in_(NAMES), network.not_in(NETWORKS))
    is_other_eui = sa.and_(network.in_(LORAWAN), sa.func.length(original_id) != 16)
    has_separators = sa.or_(
        *(original_id.like(each) for each in ("%-%", "%:%", "% %", "0x%", "0X%"))
    )
    is_other_id = sa.and_(network.in_(("vendor", "mqtt")), has_separators)
    return (
        sa.select(_device)
        .where(_device.c.number > after, sa.or_(is_renamed, is_other_eui, is_other_id))
        .order_by(_device.c.number)
        .limit(ROWS_AT_ONCE)
    )


def _normalize(connection: sa.Connection, row: sa.Row[Any]) -> None:
    network = NAMES.get(re.sub(r"[\s_.-]+", "", row.network).casefold(), row.network)
    original_id = _normalize_id(network, row.original_id)
    key = original_id.casefold()
    if network == "vendor":
        key = key.lstrip("0") or "0"
    if (network, original_id) == (row.network, row.original_id):
        return
    others = sa.select(_device.c.number).where(
        _device.c.network == network,
        _device.c.original_key == key,
        _device.c.number != row.number,
    )
    if connection.execute(others).first() is not None:
        return
    connection.execute(
        sa.update(_device)
        .where(_device.c.number == row.number)
        .values(
            network=network,
            original_id=original_id,
            original_key=key,
            # What it was found by before finds it until it is changed the next time.
            search_key=f"{row.search_key}\n{original_id.casefold()}",
        )
    )


def _normalize_id(network: str, original_id: str) -> str:
    """The id as the network writes it, or as it is if the network cannot send it."""
    if network == "mqtt":
        return original_id.strip() or original_id
    digits = re.sub(r"\b0[xX]|[\s:-]+", "", original_id).casefold()
    if network == "ttn":
        digits = digits.removeprefix("eui")
    if network in LORAWAN and re.fullmatch("[0-9a-f]{16}", digits):
        return digits if network == "chirpstack" else digits.upper()
    if network == "vendor" and re.fullmatch("[0-9a-f]{1,16}", digits):
        return digits.upper()
    return original_id
