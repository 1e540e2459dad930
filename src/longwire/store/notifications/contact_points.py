"""Contact points, and what uses them."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.model import ChannelOwner, Page, PageRequest
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.delivery.channel_owners import OwnerTable
from longwire.store.engines.bulk import IGNORE, insert_many
from longwire.store.statement import Statement

_use = schema.contact_point_use


@dataclass(frozen=True, slots=True)
class ContactPoint(ChannelOwner):
    """Recipients with a name, for several notifications."""

    subgroups: bool = False  # whether notifications of groups below may use it
    sent_at: Moment | None = None


CONTACT_POINTS = OwnerTable(ContactPoint, "contact_point", fields_read=(), channel_fields_read=())

# Of a group, or shared by one above it.
_IS_USABLE = "(c.group_id = :home or (c.group_id {in:path} and o.subgroups))"
LIST_SOME = CONTACT_POINTS.where("c.id {in:ids}")
LIST_SOME_USABLE = CONTACT_POINTS.where(f"c.id {{in:ids}} and {_IS_USABLE}")
LIST_USABLE = CONTACT_POINTS.where(f"c.number > :after and {_IS_USABLE}")

SET_SENT = Statement("""
update contact_point
set sent_at = :now
where channel_number = :number
    and (sent_at is null or sent_at < :now)
""")

DELETE_USES = Statement("""
delete from contact_point_use
where channel_number = :number
""")

LIST_USES = Statement("""
select c.id, c.group_id, c.purpose, n.name, k.name
from contact_point_use u
join channel c on c.number = u.channel_number
left join notification n on n.channel_number = c.number
left join contact_point k on k.channel_number = c.number
where u.contact_number = :number
    and c.deleted_at is null
order by c.number
""")

LIST_LEFT_BEHIND = Statement("""
select distinct k.name
from contact_point_use u
join channel c on c.number = u.channel_number
join channel o on o.number = u.contact_number
join contact_point k on k.channel_number = o.number
join group_path p on p.group_id = c.group_id
where p.ancestor_id = :home
    and o.group_id {in:left}
    and c.deleted_at is null
    and o.deleted_at is null
order by k.name
""")


class ContactPointUse(NamedTuple):
    """A notification or a rota that names a contact point."""

    id: str
    group_id: str
    purpose: str
    name: str | None


def list_by_ids(tx: Tx, ids: Collection[str]) -> list[ContactPoint]:
    return CONTACT_POINTS.fetch(tx, LIST_SOME, ids=list(ids)) if ids else []


def list_usable(tx: Tx, ids: Collection[str], group_path: Sequence[str]) -> list[ContactPoint]:
    """Those of some contact points that a group may use, which is the first of its path."""
    if not ids:
        return []
    path = [schema.group_number(each) for each in group_path]
    values = {"ids": list(ids), "home": path[0], "path": path}
    return CONTACT_POINTS.fetch(tx, LIST_SOME_USABLE, **values)


def list_usable_page(tx: Tx, group_path: Sequence[str], request: PageRequest) -> Page[ContactPoint]:
    """Those of a group, and those of groups above that it may use."""
    path = [schema.group_number(each) for each in group_path]
    after = request.after[0] if request.after is not None else 0
    found = CONTACT_POINTS.fetch(tx, LIST_USABLE, after=after, home=path[0], path=path)
    items = found[: request.limit]
    return Page(items, (items[-1].number,) if len(found) > len(items) else None)


def set_sent(tx: Tx, number: int) -> None:
    """Set the time of the last successful delivery."""
    tx.run(SET_SENT, now=tx.now, number=number)


def list_uses(tx: Tx, number: int) -> list[ContactPointUse]:
    """What names a contact point."""
    return [
        ContactPointUse(channel_id, str(home), purpose, notification or contact)
        for channel_id, home, purpose, notification, contact in tx.fetch(LIST_USES, number=number)
    ]


def save_uses(tx: Tx, number: int, contact_numbers: Collection[int]) -> None:
    """Store what a notification or a rota names, in place of what it did."""
    tx.run(DELETE_USES, number=number)
    rows = [(each, number) for each in sorted(set(contact_numbers))]
    insert_many(tx, _use, ("contact_number", "channel_number"), rows, IGNORE)


def list_left_behind(tx: Tx, group_id: str, left: Collection[str]) -> list[str]:
    """The names of contact points of some groups that a group or one below it uses."""
    if not left:
        return []
    groups = [schema.group_number(each) for each in left]
    home = schema.group_number(group_id)
    return [row[0] for row in tx.fetch(LIST_LEFT_BEHIND, home=home, left=groups)]
