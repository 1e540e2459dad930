"""The ground: people, roles, groups, clients, tokens, audit"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "access_token",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("is_app_client", sa.Boolean(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_access_token"),
    )
    op.create_index("ix_access_token_client_id", "access_token", ["client_id"])
    op.create_index("ix_access_token_expires_at", "access_token", ["expires_at"])

    op.create_table(
        "audit",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("object_id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.BigInteger(), nullable=True),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_group_id_id", "audit", ["group_id", "id"])

    op.create_table(
        "auth_epoch",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_auth_epoch"),
    )
    op.create_table(
        "device_type",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("default_configuration", sa.Text(), nullable=False),
        sa.Column("battery", sa.Text(), nullable=True),
        sa.Column("firmware_version", sa.Text(), nullable=True),
        sa.Column("is_built_in", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_device_type"),
    )
    op.create_table(
        "instance",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_instance"),
    )
    op.create_table(
        "permission",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("is_built_in", sa.Boolean(), nullable=False),
        sa.Column("is_platform_wide", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_permission"),
    )
    op.create_table(
        "role",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("is_removable", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_role"),
    )
    op.create_index("ix_role_created_by", "role", ["created_by"])

    op.create_table(
        "user_account",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("email_key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("first_name", sa.Text(), nullable=True),
        sa.Column("last_name", sa.Text(), nullable=True),
        sa.Column("gender", sa.Text(), nullable=True),
        sa.Column("is_operator", sa.Boolean(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_user_account"),
        sa.UniqueConstraint("email_key", name="uq_user_account_email_key"),
    )
    op.create_table(
        "credential",
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("secret_digest", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_credential_user_id"),
        sa.PrimaryKeyConstraint("client_id", name="pk_credential"),
    )
    op.create_index("ix_credential_user_id", "credential", ["user_id"])

    op.create_table(
        "device_group",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("parent_id", sa.BigInteger(), nullable=True),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("token_digest", sa.LargeBinary(), nullable=False),
        sa.Column("sealed_token", sa.Text(), nullable=False),
        sa.Column("administrator_role_id", sa.Text(), nullable=False),
        sa.Column("default_role_id", sa.Text(), nullable=False),
        sa.Column("device_count", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("connector_count", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("notification_count", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("updated_by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["administrator_role_id"], ["role.id"], name="fk_device_group_administrator_role_id"
        ),
        sa.ForeignKeyConstraint(
            ["default_role_id"], ["role.id"], name="fk_device_group_default_role_id"
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["user_account.id"], name="fk_device_group_owner_id"),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["device_group.id"], name="fk_device_group_parent_id"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_device_group"),
        sa.UniqueConstraint("token_digest", name="uq_device_group_token_digest"),
    )
    op.create_index("ix_device_group_default_role_id", "device_group", ["default_role_id"])
    op.create_index("ix_device_group_parent_id", "device_group", ["parent_id"])

    op.create_table(
        "push_token",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("sealed_token", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("device_name", sa.Text(), nullable=True),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_push_token_user_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_push_token"),
    )
    op.create_index("ix_push_token_user_id_created_at", "push_token", ["user_id", "created_at"])

    op.create_table(
        "role_permission",
        sa.Column("role_id", sa.Text(), nullable=False),
        sa.Column("permission_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["permission_id"], ["permission.id"], name="fk_role_permission_permission_id"
        ),
        sa.ForeignKeyConstraint(["role_id"], ["role.id"], name="fk_role_permission_role_id"),
        sa.PrimaryKeyConstraint("role_id", "permission_id", name="pk_role_permission"),
    )
    op.create_index("ix_role_permission_permission_id", "role_permission", ["permission_id"])

    op.create_table(
        "app_client",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("secret_digest", sa.LargeBinary(), nullable=False),
        sa.Column("sealed_secret", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["group_id"], ["device_group.id"], name="fk_app_client_group_id"),
        sa.PrimaryKeyConstraint("id", name="pk_app_client"),
        sa.UniqueConstraint("group_id", "name", name="uq_app_client_group_id_name"),
    )
    op.create_table(
        "group_path",
        sa.Column("ancestor_id", sa.BigInteger(), nullable=False),
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["ancestor_id"], ["device_group.id"], name="fk_group_path_ancestor_id"
        ),
        sa.ForeignKeyConstraint(["group_id"], ["device_group.id"], name="fk_group_path_group_id"),
        sa.PrimaryKeyConstraint("ancestor_id", "group_id", name="pk_group_path"),
    )
    op.create_index("ix_group_path_group_id_depth", "group_path", ["group_id", "depth"])

    op.create_table(
        "member",
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("role_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["group_id"], ["device_group.id"], name="fk_member_group_id"),
        sa.ForeignKeyConstraint(["role_id"], ["role.id"], name="fk_member_role_id"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_member_user_id"),
        sa.PrimaryKeyConstraint("group_id", "user_id", name="pk_member"),
    )
    op.create_index(
        "ix_member_group_id_created_at", "member", ["group_id", "created_at", "user_id"]
    )
    op.create_index("ix_member_role_id", "member", ["role_id"])
    op.create_index("ix_member_user_id", "member", ["user_id"])
    op.execute("insert into auth_epoch (id, epoch) values (1, 0)")
