"""Tables of the service itself: its database, cache epochs, processes and audit log."""

import sqlalchemy as sa

from longwire.store.schema.base import GroupNumber, metadata, moment, serial_key

instance = sa.Table(
    "instance",
    metadata,
    # Facts about this database as a whole, such as which secret key it was made with.
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

cache_epoch = sa.Table(
    "cache_epoch",
    metadata,
    # One row each for auth, config and records. A change adds one to its row; every process polls
    # them and invalidates its caches. The row's lock serialises changes of one sort.
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("epoch", sa.BigInteger, nullable=False),
)

config_change = sa.Table(
    "config_change",
    metadata,
    # The epoch of the last change of each group's configuration; 0 is the platform's own. No
    # reference to the group, because of that 0.
    sa.Column("group_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
)
# Which groups have changed since an epoch.
sa.Index(None, config_change.c.epoch)

audit = sa.Table(
    "audit",
    metadata,
    # Who did what to which object, when, from where, in which request. Only ever added to.
    serial_key("id"),
    moment("at"),
    sa.Column("actor_kind", sa.Text, nullable=False),
    sa.Column("actor_id", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("object_id", sa.Text, nullable=False),
    sa.Column("group_id", GroupNumber),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("request_id", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    # The name of the object at that time, and JSON of its fields before and after the change.
    sa.Column("object_name", sa.Text),
    sa.Column("changes", sa.Text),
    # Who was shown the link that the actor's session began with, if it was somebody else.
    sa.Column("issued_by", sa.Text),
    # Answers: what happened in this group, or to this object, newest first?
    sa.Index("ix_audit_group_id_at_id", "group_id", "at", "id"),
    sa.Index("ix_audit_object_id_at_id", "object_id", "at", "id"),
)

lease = sa.Table(
    "lease",
    metadata,
    # What only one process at a time may do, which one does it, and until when unless it says so
    # again.
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("holder", sa.Text, nullable=False),
    moment("until_at"),
)

node = sa.Table(
    "node",
    metadata,
    # The processes on one PostgreSQL: who has which number, and until when unless it says so again.
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    moment("until_at"),
)

# Numbers the processes that write to one PostgreSQL, for `seq` and `counter`.
writer_number = sa.Sequence("writer_number", metadata=metadata)
