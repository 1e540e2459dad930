"""No two places of values have one name: of those that had, the later ones get a number."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

CHARACTERS_MAX = 64

LIST_TAKEN = sa.text("""
select number, name
from measurement_key
where name in (select name from measurement_key group by name having count(*) > 1)
order by name, number
""")

FIND = sa.text("""
select 1
from measurement_key
where name = :name
""")

RENAME = sa.text("""
update measurement_key
set name = :name
where number = :number
""")


def upgrade() -> None:
    connection = op.get_bind()
    seen: set[str] = set()
    for number, name in connection.execute(LIST_TAKEN).all():
        if name in seen:
            end = f"__{number}"
            changed = name[: CHARACTERS_MAX - len(end)] + end
            while connection.execute(FIND, {"name": changed}).first() is not None:
                end += "_"
                changed = name[: CHARACTERS_MAX - len(end)] + end
            connection.execute(RENAME, {"number": number, "name": changed})
        seen.add(name)
    op.drop_index("ix_measurement_key_name", "measurement_key")
    op.create_index("ix_measurement_key_name", "measurement_key", ["name"], unique=True)
