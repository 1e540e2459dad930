"""The devices of a group or a subtree by their numbers, a window at a time.

A window is bounded by the devices that are read, not by those that match.
"""

from typing import NamedTuple

from longwire.store import schema
from longwire.store.database import Tx

LIST_WINDOW = """
select number, id, name, type, network, tags
from device
where group_id = :home
    and number > :after
    and number <= :until
order by number
limit :most
"""

LAST_NUMBER = """
select max(number)
from device
"""

NEXT_GROUP = """
select min(group_id)
from group_path
where ancestor_id = :root
    and group_id > :after
"""


class SelectableDevice(NamedTuple):
    """What a selection looks at."""

    number: int
    id: str
    name: str
    type: str
    network: str
    tags: str  # JSON


def list_window(
    tx: Tx, group_number: int, after: int, until: int, most: int
) -> list[SelectableDevice]:
    values = {"home": group_number, "after": after, "until": until, "most": most}
    return [SelectableDevice(*row) for row in tx.fetch_raw(LIST_WINDOW, values)]


def get_last_number(tx: Tx) -> int:
    """The number of the newest device."""
    return tx.fetch_raw(LAST_NUMBER, {})[0][0] or 0


def get_next_group(tx: Tx, root_id: str, after: int) -> int | None:
    """The next group of a subtree, by number."""
    values = {"root": schema.group_number(root_id), "after": after}
    number: int | None = tx.fetch_raw(NEXT_GROUP, values)[0][0]
    return number
