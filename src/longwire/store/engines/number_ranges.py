"""The devices of some groups as one range of numbers, which SQLite reads in half the time.

Devices are numbered as they are created, so those of a group mostly lie side by side. Reading the
rows from its first to its last is faster than finding each by the index of its group, as long as
not too many of them belong to others. PostgreSQL knows itself how rows are read best.
"""

from collections.abc import Mapping
from typing import NamedTuple

from longwire.model import Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.statement import Statement

# For more groups, finding their ends takes too long.
GROUPS_MAX = 1_000
# How many rows of a range there may be for each one that belongs to the groups.
ROWS_PER_DEVICE_MAX = 2

# Which of some groups have devices, and how many.
LIST_HOMES = Statement("""
select id, device_count
from device_group
where id {in:homes}
    and device_count > 0
""")

GET_ENDS = Statement("""
select min(e.first_number), max(e.last_number)
from (
    select
        (select min(number) from device where group_id = g.value) as first_number,
        (select max(number) from device where group_id = g.value) as last_number
    from json_each({array:homes}) g
) e
""")


class NumberRange(NamedTuple):
    """The numbers of the first and the last device."""

    first: int
    last: int


def list_homes(tx: Tx, scope: Scope) -> dict[int, int]:
    """How many devices the scope's groups have, without those that have none."""
    homes = [schema.group_number(group_id) for group_id in scope.group_ids]
    return dict(tx.fetch(LIST_HOMES, homes=homes))


def find_range(tx: Tx, homes: Mapping[int, int]) -> NumberRange | None:
    """The range of some groups on SQLite; None if reading it is no better."""
    if tx.is_postgres or not homes or len(homes) > GROUPS_MAX:
        return None
    ends = find_ends(tx, homes)
    if ends is None or ends.last - ends.first >= ROWS_PER_DEVICE_MAX * sum(homes.values()):
        return None
    return ends


def find_ends(tx: Tx, homes: Mapping[int, int]) -> NumberRange | None:
    """The first and the last device of some groups on SQLite; None if they have none."""
    first, last = tx.fetch(GET_ENDS, homes=homes)[0]
    return None if first is None else NumberRange(first, last)


def is_in_range(group: str, number: str, *, is_one_group: bool) -> str:
    """The condition on SQLite, with the parameters `home` or `homes`, `first` and `last`."""
    among = "= :home" if is_one_group else "{in:homes}"
    # The plus keeps SQLite from using an index.
    return f"+{group} {among} and {number} between :first and :last"
