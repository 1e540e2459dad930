"""The table of shared views: links that show something of a group to whoever has them."""

import sqlalchemy as sa

from longwire.store.schema.base import GroupNumber, metadata, moment

share = sa.Table(
    "share",
    metadata,
    # A chart, a device, a list or a map that a link shows.
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("group_id", GroupNumber, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("subgroups", sa.Boolean, nullable=False),
    sa.Column("device_ids", sa.Text, nullable=False),  # JSON; an empty list for those of the group
    sa.Column("parameters", sa.Text, nullable=False),  # JSON
    sa.Column("digest", sa.LargeBinary, nullable=False),  # of the secret
    sa.Column("origins", sa.Text, nullable=False),  # of pages that may embed it, in JSON
    # With whose permissions it is read.
    sa.Column("actor_kind", sa.Text, nullable=False),
    sa.Column("actor_id", sa.Text, nullable=False),
    moment("created_at"),
    moment("expires_at"),
    sa.Column("uses", sa.BigInteger, nullable=False),
    moment("first_used_at", required=False),
    moment("last_used_at", required=False),
    # Answers: what does a secret open? which does this group have, the newest first? which have
    # expired long ago?
    sa.Index("ix_share_digest", "digest", unique=True),
    sa.Index("ix_share_group_id_created_at_id", "group_id", "created_at", "id"),
    sa.Index("ix_share_expires_at", "expires_at"),
)
