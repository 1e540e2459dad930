"""How many mails were sent in an hour for a group, and for the user whose quota it counts for."""

from longwire.clock import HOUR
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.statement import Statement, build_limited_delete

COUNT_MAIL = Statement("""
insert into mail_quota (holder, hour, mails)
values (:holder, :hour, 1)
on conflict (holder, hour) do update
set mails = mail_quota.mails + 1
returning mails
""")

GET_QUOTA_USER = Statement("""
select quota_user_id
from device_group
where id = :home
""")

PRUNE = build_limited_delete("mail_quota", "holder, hour", where="hour < :hour")


def count_mail(tx: Tx, group_id: str) -> tuple[int, int]:
    """Count one more mail; how many there are in this hour for the group, and for its user."""
    user_id = tx.fetch(GET_QUOTA_USER, home=schema.group_number(group_id))[0][0]
    return count_one(tx, f"group {group_id}"), count_one(tx, f"user {user_id}")


def count_one(tx: Tx, holder: str) -> int:
    """Count one more of a holder in this hour; how many there are."""
    return int(tx.fetch(COUNT_MAIL, holder=holder, hour=tx.now // HOUR)[0][0])


def prune(tx: Tx, limit: int) -> int:
    """Delete some counts of hours that have passed."""
    return tx.run(PRUNE, hour=tx.now // HOUR, most=limit)
