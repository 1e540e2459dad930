"""Tables of groups, their members and app clients, and the roles that these have."""

import sqlalchemy as sa

from longwire.store.schema.base import GroupNumber, KeyText, metadata, moment, partial_index
from longwire.store.schema.users import user

permission = sa.Table(
    "permission",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("is_built_in", sa.Boolean, nullable=False),
    sa.Column("is_platform_wide", sa.Boolean, nullable=False),
)

role = sa.Table(
    "role",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("is_removable", sa.Boolean, nullable=False),
    # Answers: which roles did this person make?
    sa.Column("created_by", sa.Text, index=True),
    moment("created_at"),
    moment("updated_at"),
)

role_permission = sa.Table(
    "role_permission",
    metadata,
    sa.Column("role_id", sa.Text, sa.ForeignKey(role.c.id), primary_key=True),
    sa.Column("permission_id", sa.Text, sa.ForeignKey(permission.c.id), primary_key=True),
    # Answers: which roles hold this permission?
    sa.Index("ix_role_permission_permission_id", "permission_id"),
)

group = sa.Table(
    "device_group",
    metadata,
    sa.Column("id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("parent_id", GroupNumber, sa.ForeignKey("device_group.id")),
    # Answers: does this person own a group?
    sa.Column("owner_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False, index=True),
    # Whose quota it counts for: its first owner. Handing it over does not change that, so nobody
    # can use up the quota of another.
    sa.Column("quota_user_id", sa.Text, nullable=False, index=True),
    sa.Column("name", sa.Text),
    sa.Column("name_key", KeyText, nullable=False),  # as it is sorted and searched
    sa.Column("description", sa.Text),
    sa.Column("tags", sa.Text, nullable=False),
    sa.Column("token_digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("sealed_token", sa.Text, nullable=False),
    sa.Column(
        "administrator_role_id", sa.Text, sa.ForeignKey(role.c.id), nullable=False, index=True
    ),
    # Answers: which groups fall back to this role?
    sa.Column("default_role_id", sa.Text, sa.ForeignKey(role.c.id), nullable=False, index=True),
    # Kept in step by whoever adds or removes one: counting a large fleet on every read is not
    # something a list of a thousand groups can afford.
    sa.Column("device_count", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("connector_count", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("notification_count", sa.BigInteger, nullable=False, server_default="0"),
    # When it will be deleted with everything in it; and when it was: unreachable, its rows go in
    # small steps.
    moment("deletion_at", required=False),
    moment("deleted_at", required=False),
    # Answers: the groups below another one, or the roots, by name.
    sa.Index("ix_device_group_parent_id_name_key_id", "parent_id", "name_key", "id"),
    # Answers: whose grace period has ended? which groups are to be purged?
    partial_index("ix_device_group_deletion_at", "deletion_at", where="deletion_at is not null"),
    partial_index("ix_device_group_deleted_at", "deleted_at", where="deleted_at is not null"),
    moment("created_at"),
    moment("updated_at"),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("updated_by", sa.Text, nullable=False),
    # When it was moved below its parent; null if it was created there.
    moment("moved_at", required=False),
    sa.Column("contact_point_count", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("report_count", sa.BigInteger, nullable=False, server_default="0"),
)

group_path = sa.Table(
    "group_path",
    metadata,
    # Every group with each group above it and itself (depth 0). A subtree is one index range.
    sa.Column("ancestor_id", GroupNumber, sa.ForeignKey(group.c.id), primary_key=True),
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), primary_key=True),
    sa.Column("depth", sa.Integer, nullable=False),
    # Answers: what lies on the way up from this group?
    sa.Index("ix_group_path_group_id_depth", "group_id", "depth"),
)

member = sa.Table(
    "member",
    metadata,
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), primary_key=True),
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), primary_key=True),
    # Answers: who still holds this role?
    sa.Column("role_id", sa.Text, sa.ForeignKey(role.c.id), nullable=False, index=True),
    moment("created_at"),
    moment("updated_at"),
    # Null until the member accepts the invitation, and the address that was typed in it.
    moment("accepted_at", required=False),
    sa.Column("invited_as", sa.Text),
    # The value of the identity provider's claim that gave this membership; null for all others.
    sa.Column("claim_value", sa.Text),
    # Answers: where does this person belong? which invitations have they not accepted?
    sa.Index("ix_member_user_id", "user_id"),
    partial_index("ix_member_invited", "user_id", where="accepted_at is null"),
    # Answers: the members of a group in the order they joined.
    sa.Index("ix_member_group_id_created_at", "group_id", "created_at", "user_id"),
)

app_client = sa.Table(
    "app_client",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text),
    sa.Column("secret_digest", sa.LargeBinary, nullable=False),
    sa.Column("sealed_secret", sa.Text, nullable=False),
    moment("expires_at", required=False),
    moment("created_at"),
    moment("updated_at"),
    sa.Column("created_by", sa.Text, nullable=False),
    # Its own role; null for the default role of its group. No reference, which SQLite could not add
    # to a table: a client whose role is gone has no permissions.
    sa.Column("role_id", sa.Text, index=True),
    sa.UniqueConstraint("group_id", "name"),
)

group_limits = sa.Table(
    "group_limits",
    metadata,
    # What the operator limits of a group, and how long it keeps records; for those below it, too.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("limits", sa.Text, nullable=False),  # JSON, as the next one
    sa.Column("retention_days", sa.Text, nullable=False),
    moment("updated_at"),
    sa.Column("updated_by", sa.Text, nullable=False),
)

mail_quota = sa.Table(
    "mail_quota",
    metadata,
    # How many mails were sent in an hour for a group, or for the groups of a user.
    sa.Column("holder", sa.Text, primary_key=True),
    sa.Column("hour", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("mails", sa.BigInteger, nullable=False),
    # Answers: which counts are of the past?
    sa.Index("ix_mail_quota_hour", "hour"),
)
