"""Passwords, authenticator apps and recovery codes of people."""

from collections.abc import Iterable

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.store.database import Tx
from longwire.store.statement import Statement

GET_HASH = Statement(
    """
select sealed_hash
from user_password
where user_id = :user_id
""",
    into=str,
)

SAVE_HASH = Statement("""
insert into user_password (user_id, sealed_hash, changed_at)
values (:user_id, :sealed_hash, :now)
on conflict (user_id) do update
set sealed_hash = excluded.sealed_hash,
    changed_at = excluded.changed_at
""")

DELETE_HASH = Statement("""
delete from user_password
where user_id = :user_id
""")


@dataclass(frozen=True, slots=True)
class TotpRow:
    """An authenticator app of a user."""

    sealed_secret: str
    last_step: int
    confirmed_at: Moment | None


GET_TOTP = Statement(
    """
select sealed_secret, last_step, confirmed_at
from user_totp
where user_id = :user_id
""",
    into=TotpRow,
)

SAVE_TOTP = Statement("""
insert into user_totp (user_id, sealed_secret, last_step, confirmed_at)
values (:user_id, :sealed_secret, :last_step, :confirmed_at)
on conflict (user_id) do update
set sealed_secret = excluded.sealed_secret,
    last_step = excluded.last_step,
    confirmed_at = excluded.confirmed_at
""")

USE_STEP = Statement("""
update user_totp
set last_step = :step
where user_id = :user_id
    and last_step < :step
""")

DELETE_TOTP = Statement("""
delete from user_totp
where user_id = :user_id
""")

INSERT_CODE = Statement("""
insert into recovery_code (digest, user_id)
values (:digest, :user_id)
""")

USE_CODE = Statement("""
delete from recovery_code
where digest = :digest
    and user_id = :user_id
""")

DELETE_CODES = Statement("""
delete from recovery_code
where user_id = :user_id
""")


def get_sealed_hash(tx: Tx, user_id: str) -> str | None:
    return tx.first(GET_HASH, user_id=user_id)


def save_hash(tx: Tx, user_id: str, sealed_hash: str) -> None:
    """The caller holds a lock on the user."""
    tx.run(SAVE_HASH, user_id=user_id, sealed_hash=sealed_hash, now=tx.now)


def delete_hash(tx: Tx, user_id: str) -> bool:
    return tx.run(DELETE_HASH, user_id=user_id) > 0


def get_totp(tx: Tx, user_id: str) -> TotpRow | None:
    return tx.first(GET_TOTP, user_id=user_id)


def save_totp(tx: Tx, user_id: str, totp: TotpRow) -> None:
    """The caller holds a lock on the user."""
    tx.run(
        SAVE_TOTP,
        user_id=user_id,
        sealed_secret=totp.sealed_secret,
        last_step=totp.last_step,
        confirmed_at=totp.confirmed_at,
    )


def use_step(tx: Tx, user_id: str, step: int) -> bool:
    """Note that the code of a time step was used; False if it, or a later one, was used before."""
    return tx.run(USE_STEP, user_id=user_id, step=step) > 0


def delete_totp(tx: Tx, user_id: str) -> bool:
    tx.run(DELETE_CODES, user_id=user_id)
    return tx.run(DELETE_TOTP, user_id=user_id) > 0


def replace_recovery_codes(tx: Tx, user_id: str, digests: Iterable[bytes]) -> None:
    tx.run(DELETE_CODES, user_id=user_id)
    for digest in digests:
        tx.run(INSERT_CODE, digest=digest, user_id=user_id)


def use_recovery_code(tx: Tx, user_id: str, digest: bytes) -> bool:
    """Delete a recovery code; of two who do so at once, one gets True."""
    return tx.run(USE_CODE, digest=digest, user_id=user_id) > 0
