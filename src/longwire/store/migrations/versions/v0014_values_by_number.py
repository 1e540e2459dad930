"""An index by which devices are sorted by a value, on PostgreSQL.

By a column that changes with every fifth of a number or so, and not with every record: PostgreSQL
moves a row within its page while no indexed value changes. It is the sign, the exponent and two
bits of the number, in its order.
"""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_BITS = "(get_byte(float8send(number), 0) * 256 + get_byte(float8send(number), 1))"
RANK = f"case when {_BITS} < 32768 then {_BITS} else 32768 - {_BITS} end / 4"


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute(
        "alter table current_value"
        f" add column number_rank smallint generated always as ({RANK}) stored"
    )
    op.create_index(
        "ix_current_value_number_rank",
        "current_value",
        ["group_id", "key_number", "number_rank", "device_number"],
    )
