"""Tables of records: the four kinds, their arrivals, what is counted of them, the archive."""

import sqlalchemy as sa

from longwire.records import KIND_NAMES
from longwire.store.schema.base import (
    SLOT_BY,
    TRANSACTION,
    GroupNumber,
    metadata,
    moment,
    serial_key,
)


def _record_table(kind: str) -> sa.Table:
    """What devices said of one kind, appended in order of arrival; the key is a narrow index.

    The key leads to the records of one device by time, whatever else comes in between, and makes
    the same record sent twice one row. `body` is the record as it is answered; `seq` is the order
    of arrival, with the moment of arrival in its upper bits.
    """
    return sa.Table(
        f"record_{kind}",
        metadata,
        sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("stay", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("ts", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("digest", sa.LargeBinary, primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        info={SLOT_BY: "device_number", "postgresql_partition_by": "RANGE (ts)"},
    )


record = {kind: _record_table(kind) for kind in KIND_NAMES}

arrival = sa.Table(
    "arrival",
    metadata,
    # Every record once more, by group and in order of arrival: the ledger behind the counters.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    # The next two are where they are so that PostgreSQL needs no room for them.
    sa.Column("source", sa.SmallInteger, nullable=False),
    # Of its device at that time.
    sa.Column("stay", sa.Integer, nullable=False),
    sa.Column("device_number", sa.BigInteger, nullable=False),
    sa.Column("ts", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
    info={SLOT_BY: "device_number", "postgresql_partition_by": "RANGE (seq)"},
)

reception = sa.Table(
    "reception",
    metadata,
    # Messages of networks as they came in: those of one commit and group, from the first arrival
    # that they caused to the last one.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("first_seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("last_seq", sa.BigInteger, nullable=False),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
    info={SLOT_BY: TRANSACTION},
)

reception_size = sa.Table(
    "reception_size",
    metadata,
    # How large they are; each process has a row of its own, writer 0 what was deleted.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("writer", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
    info={SLOT_BY: TRANSACTION},
)

counter = sa.Table(
    "counter",
    metadata,
    # What happened in a group in a second. Each process counts in rows of its own, so that none
    # waits for another's commit; reading adds them up.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("second", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("name", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("writer", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("value", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
    info={SLOT_BY: TRANSACTION},
)

group_storage = sa.Table(
    "group_storage",
    metadata,
    # How much is stored for a group; each process has a row of its own, writer 0 what was deleted.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("writer", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("records", sa.BigInteger, nullable=False),
    sa.Column("characters", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
    info={SLOT_BY: TRANSACTION},
)

activity = sa.Table(
    "activity",
    metadata,
    # Which devices of a group had records in an hour.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("hour", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
    info={SLOT_BY: "device_number"},
)

record_expiry = sa.Table(
    "record_expiry",
    metadata,
    # Before when records of a kind may have been deleted because they had expired: of a group, or
    # of all of them in the row of group 0.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.SmallInteger, primary_key=True, autoincrement=False),
    moment("before"),
    sqlite_with_rowid=False,
)

archive_file = sa.Table(
    "archive_file",
    metadata,
    # Files with the records of one kind and month that were moved out of the tables.
    serial_key("id"),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("state", sa.SmallInteger, nullable=False),  # writing, published, moved, dropping
    moment("begin_ts"),
    moment("end_ts"),
    # Of the devices in it.
    sa.Column("first_device", sa.BigInteger, nullable=False),
    sa.Column("last_device", sa.BigInteger, nullable=False),
    sa.Column("records", sa.BigInteger, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    # Answers: which files have records of a kind and a period?
    sa.Index("ix_archive_file_kind_begin_ts", "kind", "begin_ts"),
    # A number that a tombstone names is never used again.
    sqlite_autoincrement=True,
)

archive_tombstone = sa.Table(
    "archive_tombstone",
    metadata,
    # Records in files that were deleted: those of a device at a timestamp, up to a file.
    sa.Column("kind", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("stay", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("ts", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("file_id", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
