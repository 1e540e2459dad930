"""Names of device types as they are compared, so that one is looked up and not all are read."""

import unicodedata

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("device_type", sa.Column("name_key", sa.Text()))
    connection = op.get_bind()
    for (name,) in connection.execute(sa.text("select name from device_type")).fetchall():
        connection.execute(
            sa.text("update device_type set name_key = :key where name = :name"),
            {"key": _spell(name), "name": name},
        )
    op.create_index("ix_device_type_name_key", "device_type", ["name_key"])


def _spell(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
