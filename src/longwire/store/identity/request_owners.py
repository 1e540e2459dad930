"""Owners, on whose account requests go: the first level wherever work is done in turns.

A group counts for the user whose quota it counts for. Groups that an operator has created are those
of customers, so each of their trees is an owner of its own. A user counts for themself, but one
whom somebody invited, and nobody else knows, counts for the owner of that group: whoever makes up a
hundred users has no more turns than one.
"""

from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.statement import Statement

SET_SPONSOR = Statement("""
update user_account
set sponsor_id = :sponsor
where id = :user
    and sponsor_id is not null
""")

# What `to_owner_id` takes, of a group `counted`.
OWNER_COLUMNS = """payer.id,
    payer.sponsor_id,
    payer.is_operator,
    (
        select ancestor_id
        from group_path
        where group_path.group_id = counted.id
        order by depth desc
        limit 1
    )"""
JOIN_PAYER = """left join user_account payer
    on payer.id = counted.quota_user_id"""

GET_OWNER = Statement(f"""
select
    {OWNER_COLUMNS}
from device_group counted
{JOIN_PAYER}
where counted.id = :group_id
""")


def to_owner_id(
    payer_id: str | None, sponsor_id: str | None, is_operator: bool | None, root: int | None
) -> str | None:
    """The owner of a group; None if there is no such group."""
    if is_operator:
        return f"group {root}"
    return sponsor_id or payer_id


def get_owner_id(tx: Tx, group_id: str) -> str:
    """The owner of an existing group."""

    def load() -> str:
        rows = tx.fetch(GET_OWNER, group_id=schema.group_number(group_id))
        return (to_owner_id(*rows[0]) if rows else None) or f"group {group_id}"

    return tx.cache.get_auth("request owners", group_id, load)


def move_to_sponsor(tx: Tx, user_id: str, sponsor_id: str) -> None:
    """Have a user count for another owner, if they count for one; the auth epoch is bumped."""
    tx.run(SET_SPONSOR, user=user_id, sponsor=sponsor_id)


def vouch_for(tx: Tx, user_id: str) -> None:
    """From now on a user counts for themself: the operator knows who it is."""
    tx.run(SET_SPONSOR, user=user_id, sponsor=None)
