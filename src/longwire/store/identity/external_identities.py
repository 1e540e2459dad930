"""Which user a subject of an identity provider is, and the memberships that its claims gave."""

from longwire.model import Membership
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.statement import Statement

GET_USER_ID = Statement(
    """
select user_id
from external_identity
where issuer = :issuer
    and subject = :subject
""",
    into=str,
)

HAS_SUBJECT = Statement("""
select 1
from external_identity
where user_id = :user
    and issuer = :issuer
""")

INSERT = Statement("""
insert into external_identity (issuer, subject, user_id, created_at)
values (:issuer, :subject, :user, :now)
""")

DELETE_OF_USER = Statement("""
delete from external_identity
where user_id = :user
""")

LIST_MEMBERSHIPS = Statement("""
select cast(group_id as text), role_id, claim_value
from member
where user_id = :user
""")

SET_CLAIM_VALUE = Statement("""
update member
set role_id = :role,
    updated_at = :at,
    claim_value = :claim_value
where group_id = :home
    and user_id = :user
""")


def get_user_id(tx: Tx, issuer: str, subject: str) -> str | None:
    return tx.first(GET_USER_ID, issuer=issuer, subject=subject)


def has_subject(tx: Tx, issuer: str, user_id: str) -> bool:
    """Whether the user is bound to some subject of this provider."""
    return bool(tx.fetch(HAS_SUBJECT, user=user_id, issuer=issuer))


def insert(tx: Tx, issuer: str, subject: str, user_id: str) -> None:
    tx.run(INSERT, issuer=issuer, subject=subject, user=user_id, now=tx.now)


def delete_of(tx: Tx, user_id: str) -> int:
    """Delete who a user is at every provider; how many subjects that were."""
    return tx.run(DELETE_OF_USER, user=user_id)


def list_memberships(tx: Tx, user_id: str) -> dict[str, tuple[str, str | None]]:
    """The role and, if a claim gave it, the claim's value of each membership, by group."""
    rows = tx.fetch(LIST_MEMBERSHIPS, user=user_id)
    return {group_id: (role_id, claim_value) for group_id, role_id, claim_value in rows}


def set_claim_value(tx: Tx, membership: Membership, claim_value: str) -> None:
    """Keep which value of a claim gives a membership, and the role that goes with it."""
    tx.run(
        SET_CLAIM_VALUE,
        home=schema.group_number(membership.group_id),
        user=membership.user_id,
        role=membership.role_id,
        at=membership.updated_at,
        claim_value=claim_value,
    )
