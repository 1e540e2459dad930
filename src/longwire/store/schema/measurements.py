"""Tables of measurements: what they are called by, what is declared, and current values."""

from typing import Any

import sqlalchemy as sa

from longwire.store.schema.base import (
    SLOT_BY,
    GroupNumber,
    KeyText,
    metadata,
    moment,
    serial_key,
)
from longwire.store.schema.devices import device_type

# In place of a group: what is declared for all.
ALL_GROUPS = "0"
# In place of the number of a key: what a record had beyond the measurements that are kept.
LEFT_OUT = 0

measurement_key = sa.Table(
    "measurement_key",
    metadata,
    # Where in the records of a kind a value is, as a number: it is in every row with a value, and
    # stays the same whatever the measurement is called. Never deleted.
    serial_key("number"),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("path", KeyText, nullable=False),  # a JSON Pointer
    # What it is called unless somebody has declared it.
    sa.Column("name", KeyText, nullable=False),
    sa.UniqueConstraint("kind", "path"),
    sa.Index("ix_measurement_key_name", "name", unique=True),
    sqlite_autoincrement=True,
)

declared_measurements = sa.Table(
    "declared_measurements",
    metadata,
    # The declared measurements of a device type: for all, or for a group and those below it. No
    # reference to the group, since 0 is none; they are deleted with it.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("type", sa.Text, sa.ForeignKey(device_type.c.name), primary_key=True),
    sa.Column("measurements", sa.Text, nullable=False),  # JSON
    moment("updated_at"),
    sa.Column("updated_by", sa.Text, nullable=False),
    # Answers: which groups have declared some of this type?
    sa.Index("ix_declared_measurements_type", "type"),
)

found_measurement = sa.Table(
    "found_measurement",
    metadata,
    # Numbers that were found in the records of a group's devices of a type; a bounded number.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("type", sa.Text, primary_key=True),
    sa.Column("key_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

current_value = sa.Table(
    "current_value",
    metadata,
    # The newest value of each measurement of a device since it is in its group. By group and
    # measurement, because lists of devices show and sort by one measurement of all devices.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("key_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
    # Of its record: the timestamp, or the arrival if that was earlier; and the order of arrival.
    # Null if there was no valid value yet.
    moment("ts", required=False),
    sa.Column("seq", sa.BigInteger),
    # One of them: a word is a value of a state only.
    sa.Column("number", sa.Double),
    sa.Column("text", sa.Text),
    # How many values were invalid, and when the last one was.
    sa.Column("invalid", sa.BigInteger, nullable=False, server_default="0"),
    moment("invalid_at", required=False),
    # Sorted by a number, devices are found by an index on PostgreSQL only, of the column
    # `number_rank` that the migration adds there; SQLite reads all values as fast.
    # Answers: what are the values of this device?
    sa.Index("ix_current_value_device_number", "device_number"),
    sqlite_with_rowid=False,
    info={SLOT_BY: "device_number", "postgresql_with": {"fillfactor": 80}},
)

# How many hours a mark reaches if it reaches to the end.
ALL_HOURS = 2**40
FIRST_HOUR = -(2**25)  # before all dates


def _summary_table(name: str, *columns: sa.Column[Any]) -> sa.Table:
    return sa.Table(
        name,
        metadata,
        *columns,
        sqlite_with_rowid=False,
        info={SLOT_BY: "device_number"},
    )


def _key(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, primary_key=True, autoincrement=False)


# The numbers of a measurement of a device in each day of UTC, packed by 32 days.
summary_days = _summary_table(
    "summary_days",
    _key("device_number"),
    sa.Column("stay", sa.Integer, primary_key=True, autoincrement=False),
    _key("key_number"),
    sa.Column("page", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("packed", sa.LargeBinary, nullable=False),
)

# The same by quarter of an hour, packed. By day before measurement, since what a record changes is
# one day of all its measurements; and apart, since a sum over years reads days alone.
summary_quarters = _summary_table(
    "summary_quarters",
    _key("device_number"),
    sa.Column("stay", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
    _key("key_number"),
    sa.Column("packed", sa.LargeBinary, nullable=False),
)

summary_due = _summary_table(
    "summary_due",
    # Marks: hours of a device whose summaries have to be made again from its records.
    _key("device_number"),
    sa.Column("stay", sa.Integer, primary_key=True, autoincrement=False),
    _key("hour"),
    # 0 of the hour that was the present one; else a number that no other mark has.
    _key("number"),
    sa.Column("hours", sa.BigInteger, nullable=False),
)
