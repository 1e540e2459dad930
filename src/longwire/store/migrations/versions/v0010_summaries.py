"""Tables of summaries: of days, of quarters of an hour, and of what has to be made again.

Everything that is stored is due, so that what was stored before is summarised as well.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

BIGINT, INTEGER = sa.BigInteger(), sa.Integer()
FIRST_HOUR, ALL_HOURS = -(2**25), 2**40

MARK_ALL = f"""
insert into summary_due (device_number, stay, hour, number, hours{{slot}})
select device_number, stay, {FIRST_HOUR}, -1, {ALL_HOURS}{{slot}}
from device_stay
"""


def upgrade() -> None:
    _create(
        "summary_days",
        *_required(BIGINT, "device_number"),
        *_required(INTEGER, "stay"),
        *_required(BIGINT, "key_number"),
        *_required(INTEGER, "page"),
        *_required(sa.LargeBinary(), "packed"),
        key=("device_number", "stay", "key_number", "page"),
    )
    _create(
        "summary_quarters",
        *_required(BIGINT, "device_number"),
        *_required(INTEGER, "stay"),
        *_required(INTEGER, "day"),
        *_required(BIGINT, "key_number"),
        *_required(sa.LargeBinary(), "packed"),
        key=("device_number", "stay", "day", "key_number"),
    )
    _create(
        "summary_due",
        *_required(BIGINT, "device_number"),
        *_required(INTEGER, "stay"),
        *_required(BIGINT, "hour number hours"),
        key=("device_number", "stay", "hour", "number"),
    )
    op.execute(MARK_ALL.format(slot=", slot" if _is_postgres() else ""))


def _create(name: str, *columns: sa.Column[Any], key: tuple[str, ...]) -> None:
    slot = sa.Column("slot", sa.SmallInteger(), server_default="0", nullable=False)
    op.create_table(
        name,
        *columns,
        *([slot] if _is_postgres() else []),
        sa.PrimaryKeyConstraint(*key, *(["slot"] if _is_postgres() else []), name=f"pk_{name}"),
        sqlite_with_rowid=False,
    )


def _required(type_: sa.types.TypeEngine[Any], names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, type_, autoincrement=False, nullable=False) for name in names.split()]


def _is_postgres() -> bool:
    return bool(op.get_bind().dialect.name == "postgresql")
