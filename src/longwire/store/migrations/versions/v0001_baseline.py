"""The baseline: every table of the first release."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

INTEGER, BIGINT, TEXT = sa.Integer(), sa.BigInteger(), sa.Text()
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEY_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
RECORD_KINDS = ("data", "event", "geoloc", "telemetry")


def upgrade() -> None:
    _create_service_tables()
    _create_user_tables()
    _create_group_tables()
    _create_external_sign_in_tables()
    _create_password_tables()
    _create_fleet_tables()
    _create_record_tables()
    _create_delivery_tables()
    _create_job_tables()
    _create_archive_tables()
    op.execute(
        "insert into cache_epoch (name, epoch) values ('auth', 0), ('config', 0), ('records', 0)"
    )
    if _is_postgres():
        op.execute(sa.schema.CreateSequence(sa.Sequence("writer_number")))
        for table in (*(f"record_{kind}" for kind in RECORD_KINDS), "arrival"):
            op.execute(f"create table {table}_default partition of {table} default")
        _index_seen_devices()


def _index_seen_devices() -> None:
    """By a column that changes once in 72 minutes, and not with every record.

    PostgreSQL moves a row within its page while no indexed value changes; else every index of the
    table gets an entry for every record.
    """
    op.execute(
        "alter table device_state"
        " add column seen_hour bigint generated always as (seen_at >> 32) stored"
    )
    op.create_index(
        "ix_device_state_seen", "device_state", ["group_id", "seen_hour", "device_number"]
    )


def _required(type_: sa.types.TypeEngine[Any], names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, type_, autoincrement=False, nullable=False) for name in names.split()]


def _optional(type_: sa.types.TypeEngine[Any], names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, type_) for name in names.split()]


def _slot() -> list[sa.Column[Any]]:
    """What only PostgreSQL has in the tables that a record touches."""
    if not _is_postgres():
        return []
    return [sa.Column("slot", sa.SmallInteger(), server_default="0", nullable=False)]


def _slotted_key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    """A key whose last part is the slot, where there is one."""
    slot = ("slot",) if _is_postgres() else ()
    return sa.PrimaryKeyConstraint(*columns, *slot, name=f"pk_{table}")


def _is_postgres() -> bool:
    return bool(op.get_bind().dialect.name == "postgresql")


def _serial(name: str) -> sa.Column[int]:
    return sa.Column(name, SERIAL, autoincrement=True, nullable=False)


def _create_partial_index(name: str, table: str, columns: list[str], where: str) -> None:
    op.create_index(
        name, table, columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where)
    )


def _create_index_of_present(table: str, column: str) -> None:
    _create_partial_index(f"ix_{table}_{column}", table, [column], f"{column} is not null")


def _create_service_tables() -> None:
    """What the service keeps about itself."""
    op.create_table(
        "instance",
        *_required(TEXT, "name value"),
        sa.PrimaryKeyConstraint("name", name="pk_instance"),
    )
    op.create_table(
        "cache_epoch",
        *_required(TEXT, "name"),
        *_required(BIGINT, "epoch"),
        sa.PrimaryKeyConstraint("name", name="pk_cache_epoch"),
    )
    op.create_table(
        "config_change",
        *_required(BIGINT, "group_id epoch"),
        sa.PrimaryKeyConstraint("group_id", name="pk_config_change"),
    )
    op.create_index("ix_config_change_epoch", "config_change", ["epoch"])

    op.create_table(
        "lease",
        *_required(TEXT, "name holder"),
        *_required(BIGINT, "until_at"),
        sa.PrimaryKeyConstraint("name", name="pk_lease"),
    )
    op.create_table(
        "node",
        *_required(BIGINT, "number"),
        *_required(TEXT, "holder role"),
        *_required(BIGINT, "until_at"),
        sa.PrimaryKeyConstraint("number", name="pk_node"),
    )
    op.create_table(
        "audit",
        _serial("id"),
        *_required(BIGINT, "at"),
        *_required(TEXT, "actor_kind actor_id action object_id"),
        *_optional(BIGINT, "group_id"),
        *_required(TEXT, "address request_id detail"),
        *_optional(TEXT, "object_name changes"),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_group_id_at_id", "audit", ["group_id", "at", "id"])
    op.create_index("ix_audit_object_id_at_id", "audit", ["object_id", "at", "id"])


def _create_user_tables() -> None:
    """Users, credentials, tokens and sessions."""
    op.create_table(
        "user_account",
        *_required(TEXT, "id email email_key"),
        *_optional(TEXT, "name first_name last_name gender"),
        *_required(sa.Boolean(), "is_operator"),
        *_optional(BIGINT, "seen_at"),
        *_required(BIGINT, "created_at updated_at"),
        sa.PrimaryKeyConstraint("id", name="pk_user_account"),
        sa.UniqueConstraint("email_key", name="uq_user_account_email_key"),
    )
    op.create_table(
        "credential",
        *_required(TEXT, "client_id user_id"),
        *_required(sa.LargeBinary(), "secret_digest"),
        *_optional(BIGINT, "expires_at"),
        *_required(BIGINT, "created_at"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_credential_user_id"),
        sa.PrimaryKeyConstraint("client_id", name="pk_credential"),
    )
    op.create_index("ix_credential_user_id", "credential", ["user_id"])

    op.create_table(
        "access_token",
        *_required(sa.LargeBinary(), "digest"),
        *_required(TEXT, "client_id"),
        *_required(sa.Boolean(), "is_app_client"),
        *_required(BIGINT, "created_at expires_at"),
        sa.PrimaryKeyConstraint("digest", name="pk_access_token"),
    )
    op.create_index("ix_access_token_client_id", "access_token", ["client_id"])
    op.create_index("ix_access_token_expires_at", "access_token", ["expires_at"])

    op.create_table(
        "session",
        *_required(sa.LargeBinary(), "digest"),
        *_required(TEXT, "id user_id method address user_agent"),
        *_optional(TEXT, "client_id issued_by"),
        *_required(BIGINT, "created_at seen_at expires_at ends_at"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_session_user_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_session"),
    )
    op.create_index("ix_session_user_id", "session", ["user_id"])
    op.create_index("ix_session_expires_at", "session", ["expires_at"])

    op.create_table(
        "sign_in_code",
        *_required(sa.LargeBinary(), "digest"),
        *_required(TEXT, "user_id source"),
        *_optional(TEXT, "issued_by"),
        *_required(BIGINT, "created_at expires_at"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_sign_in_code_user_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_sign_in_code"),
    )
    op.create_index("ix_sign_in_code_user_id", "sign_in_code", ["user_id"])
    op.create_index("ix_sign_in_code_expires_at", "sign_in_code", ["expires_at"])

    op.create_table(
        "push_token",
        *_required(sa.LargeBinary(), "digest"),
        *_required(TEXT, "user_id sealed_token type"),
        *_optional(TEXT, "device_name"),
        *_required(sa.Boolean(), "is_enabled"),
        *_required(BIGINT, "created_at"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_push_token_user_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_push_token"),
    )
    op.create_index("ix_push_token_user_id_created_at", "push_token", ["user_id", "created_at"])


def _create_group_tables() -> None:
    """Roles, groups, members and app clients."""
    op.create_table(
        "permission",
        *_required(TEXT, "id name description"),
        *_required(sa.Boolean(), "is_built_in is_platform_wide"),
        sa.PrimaryKeyConstraint("id", name="pk_permission"),
    )
    op.create_table(
        "role",
        *_required(TEXT, "id name description"),
        *_required(sa.Boolean(), "is_removable"),
        *_optional(TEXT, "created_by"),
        *_required(BIGINT, "created_at updated_at"),
        sa.PrimaryKeyConstraint("id", name="pk_role"),
    )
    op.create_index("ix_role_created_by", "role", ["created_by"])

    op.create_table(
        "role_permission",
        *_required(TEXT, "role_id permission_id"),
        sa.ForeignKeyConstraint(
            ["permission_id"], ["permission.id"], name="fk_role_permission_permission_id"
        ),
        sa.ForeignKeyConstraint(["role_id"], ["role.id"], name="fk_role_permission_role_id"),
        sa.PrimaryKeyConstraint("role_id", "permission_id", name="pk_role_permission"),
    )
    op.create_index("ix_role_permission_permission_id", "role_permission", ["permission_id"])

    op.create_table(
        "device_group",
        *_required(BIGINT, "id"),
        *_optional(BIGINT, "parent_id"),
        *_required(TEXT, "owner_id quota_user_id"),
        *_optional(TEXT, "name"),
        *_required(KEY_TEXT, "name_key"),
        *_optional(TEXT, "description"),
        *_required(TEXT, "tags"),
        *_required(sa.LargeBinary(), "token_digest"),
        *_required(TEXT, "sealed_token administrator_role_id default_role_id"),
        sa.Column("device_count", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("connector_count", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("notification_count", sa.BigInteger(), server_default="0", nullable=False),
        *_optional(BIGINT, "deletion_at deleted_at"),
        *_required(BIGINT, "created_at updated_at"),
        *_required(TEXT, "created_by updated_by"),
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
    op.create_index(
        "ix_device_group_administrator_role_id", "device_group", ["administrator_role_id"]
    )
    op.create_index("ix_device_group_default_role_id", "device_group", ["default_role_id"])
    _create_index_of_present("device_group", "deletion_at")
    _create_index_of_present("device_group", "deleted_at")
    op.create_index("ix_device_group_owner_id", "device_group", ["owner_id"])
    op.create_index(
        "ix_device_group_parent_id_name_key_id", "device_group", ["parent_id", "name_key", "id"]
    )
    op.create_index("ix_device_group_quota_user_id", "device_group", ["quota_user_id"])

    op.create_table(
        "group_path",
        *_required(BIGINT, "ancestor_id group_id"),
        *_required(INTEGER, "depth"),
        sa.ForeignKeyConstraint(
            ["ancestor_id"], ["device_group.id"], name="fk_group_path_ancestor_id"
        ),
        sa.ForeignKeyConstraint(["group_id"], ["device_group.id"], name="fk_group_path_group_id"),
        sa.PrimaryKeyConstraint("ancestor_id", "group_id", name="pk_group_path"),
    )
    op.create_index("ix_group_path_group_id_depth", "group_path", ["group_id", "depth"])

    op.create_table(
        "member",
        *_required(BIGINT, "group_id"),
        *_required(TEXT, "user_id role_id"),
        *_required(BIGINT, "created_at updated_at"),
        *_optional(BIGINT, "accepted_at"),
        *_optional(TEXT, "invited_as claim_value"),
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
    _create_partial_index("ix_member_invited", "member", ["user_id"], "accepted_at is null")

    op.create_table(
        "app_client",
        *_required(TEXT, "id"),
        *_required(BIGINT, "group_id"),
        *_required(TEXT, "name"),
        *_optional(TEXT, "description"),
        *_required(sa.LargeBinary(), "secret_digest"),
        *_required(TEXT, "sealed_secret"),
        *_optional(BIGINT, "expires_at"),
        *_required(BIGINT, "created_at updated_at"),
        *_required(TEXT, "created_by"),
        sa.ForeignKeyConstraint(["group_id"], ["device_group.id"], name="fk_app_client_group_id"),
        sa.PrimaryKeyConstraint("id", name="pk_app_client"),
        sa.UniqueConstraint("group_id", "name", name="uq_app_client_group_id_name"),
    )
    op.create_table(
        "mail_quota",
        *_required(TEXT, "holder"),
        *_required(BIGINT, "hour mails"),
        sa.PrimaryKeyConstraint("holder", "hour", name="pk_mail_quota"),
    )
    op.create_index("ix_mail_quota_hour", "mail_quota", ["hour"])


def _create_external_sign_in_tables() -> None:
    """Identity providers and passkeys."""
    op.create_table(
        "external_identity",
        *_required(TEXT, "issuer subject user_id"),
        *_required(BIGINT, "created_at"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name="fk_external_identity_user_id"
        ),
        sa.PrimaryKeyConstraint("issuer", "subject", name="pk_external_identity"),
        sa.UniqueConstraint("user_id", "issuer", name="uq_external_identity_user_id_issuer"),
    )
    op.create_table(
        "passkey",
        *_required(sa.LargeBinary(), "credential_id"),
        *_required(TEXT, "id user_id name"),
        *_required(sa.LargeBinary(), "public_key"),
        *_required(TEXT, "relying_party_id"),
        *_required(BIGINT, "sign_count"),
        *_required(sa.Boolean(), "is_synced"),
        *_required(BIGINT, "created_at"),
        *_optional(BIGINT, "seen_at"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_passkey_user_id"),
        sa.PrimaryKeyConstraint("credential_id", name="pk_passkey"),
        sa.UniqueConstraint("id", name="uq_passkey_id"),
    )
    op.create_index("ix_passkey_user_id_created_at", "passkey", ["user_id", "created_at"])

    op.create_table(
        "used_challenge",
        *_required(TEXT, "id"),
        *_required(BIGINT, "expires_at"),
        sa.PrimaryKeyConstraint("id", name="pk_used_challenge"),
    )
    op.create_index("ix_used_challenge_expires_at", "used_challenge", ["expires_at"])


def _create_password_tables() -> None:
    """Passwords, and what is needed beside them."""
    op.create_table(
        "user_password",
        *_required(TEXT, "user_id sealed_hash"),
        *_required(BIGINT, "changed_at"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_user_password_user_id"),
        sa.PrimaryKeyConstraint("user_id", name="pk_user_password"),
    )
    op.create_table(
        "user_totp",
        *_required(TEXT, "user_id sealed_secret"),
        *_required(BIGINT, "last_step"),
        *_optional(BIGINT, "confirmed_at"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_user_totp_user_id"),
        sa.PrimaryKeyConstraint("user_id", name="pk_user_totp"),
    )
    op.create_table(
        "recovery_code",
        *_required(sa.LargeBinary(), "digest"),
        *_required(TEXT, "user_id"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_recovery_code_user_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_recovery_code"),
    )
    op.create_index("ix_recovery_code_user_id", "recovery_code", ["user_id"])


def _create_fleet_tables() -> None:
    """Devices, their types, downlinks and registrations."""
    op.create_table(
        "device_type",
        *_required(TEXT, "name display_name default_configuration"),
        *_optional(TEXT, "battery firmware_version"),
        *_required(sa.Boolean(), "is_built_in"),
        *_optional(TEXT, "decoder decoder_source encoder_source decoded_location"),
        *_required(BIGINT, "created_at updated_at"),
        sa.PrimaryKeyConstraint("name", name="pk_device_type"),
    )
    op.create_table(
        "device",
        _serial("number"),
        *_required(TEXT, "id"),
        *_required(BIGINT, "group_id"),
        *_required(INTEGER, "stay"),
        sa.Column("slot", sa.SmallInteger(), server_default="0", nullable=False),
        *_required(TEXT, "name type network original_id"),
        *_required(KEY_TEXT, "original_key name_key search_key"),
        *_required(TEXT, "tags information configuration"),
        *_required(BIGINT, "created_at updated_at"),
        *_required(TEXT, "created_by updated_by"),
        *_optional(BIGINT, "reported_digest drifted_at"),
        sa.ForeignKeyConstraint(["group_id"], ["device_group.id"], name="fk_device_group_id"),
        sa.ForeignKeyConstraint(["type"], ["device_type.name"], name="fk_device_type"),
        sa.PrimaryKeyConstraint("number", name="pk_device"),
        sa.UniqueConstraint("id", name="uq_device_id"),
        sa.UniqueConstraint("network", "original_key", name="uq_device_network_original_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_device_group_id_number", "device", ["group_id", "number"])
    op.create_index(
        "ix_device_filter",
        "device",
        ["group_id", "number", "type", "network", "original_key", "name_key", "tags", "search_key"],
        postgresql_where=sa.text("number is null"),
    )
    op.create_index(
        "ix_device_group_id_name_key_number", "device", ["group_id", "name_key", "number"]
    )
    op.create_index("ix_device_group_id_original_key", "device", ["group_id", "original_key"])
    op.create_index("ix_device_type_group_id", "device", ["type", "group_id"])
    _create_partial_index(
        "ix_device_drift",
        "device",
        ["group_id", "number", "drifted_at"],
        "drifted_at is not null",
    )
    _create_configuration_tables()

    op.create_table(
        "device_state",
        sa.Column("device_number", SERIAL, autoincrement=False, nullable=False),
        sa.Column("seen_at", BIGINT, server_default=str(-(2**62))),
        *_optional(BIGINT, "group_id position_at silent_at"),
        sa.Column("battery_level", BIGINT, server_default="100000"),
        *_optional(sa.Double(), "lat lng"),
        *_optional(BIGINT, "radius"),
        *_optional(TEXT, "battery"),
        *_optional(BIGINT, "battery_at sequence sequence_at"),
        *_optional(TEXT, "missing"),
        *_slot(),
        _slotted_key("device_state", "device_number"),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(
        "ix_device_state_group_id_device_number", "device_state", ["group_id", "device_number"]
    )
    op.create_index(
        "ix_device_state_battery", "device_state", ["group_id", "battery_level", "device_number"]
    )
    op.create_table(
        "device_stay",
        *_required(BIGINT, "device_number"),
        *_required(INTEGER, "stay"),
        *_required(BIGINT, "group_id"),
        sa.ForeignKeyConstraint(["group_id"], ["device_group.id"], name="fk_device_stay_group_id"),
        *_slot(),
        _slotted_key("device_stay", "device_number", "stay"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_device_stay_group_id", "device_stay", ["group_id"])
    op.create_table(
        "device_watch",
        *_required(BIGINT, "device_number"),
        *_optional(BIGINT, "silent_at due_at"),
        sa.PrimaryKeyConstraint("device_number", name="pk_device_watch"),
    )
    op.create_index("ix_device_watch_due_at", "device_watch", ["due_at"])
    _create_partial_index(
        "ix_device_watch_silent", "device_watch", ["device_number"], "silent_at is not null"
    )

    op.create_table(
        "erasure",
        *_required(BIGINT, "device_number"),
        *_required(INTEGER, "stay"),
        *_required(BIGINT, "group_id"),
        sa.PrimaryKeyConstraint("device_number", "stay", name="pk_erasure"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_erasure_group_id", "erasure", ["group_id"])
    op.create_table(
        "registration",
        *_required(BIGINT, "device_number"),
        *_required(TEXT, "sealed_pac request state"),
        *_optional(TEXT, "answer"),
        *_optional(BIGINT, "seq"),
        *_required(BIGINT, "updated_at"),
        sa.PrimaryKeyConstraint("device_number", name="pk_registration"),
    )
    op.create_index("ix_registration_state", "registration", ["state"])

    op.create_table(
        "downlink",
        *_required(TEXT, "id"),
        *_required(BIGINT, "device_number group_id"),
        *_required(TEXT, "payload"),
        *_optional(TEXT, "data"),
        *_optional(INTEGER, "port"),
        *_required(sa.Boolean(), "is_confirmed"),
        *_required(TEXT, "state"),
        *_optional(TEXT, "detail reference"),
        *_optional(BIGINT, "seq"),
        *_required(BIGINT, "created_at updated_at expires_at"),
        *_required(TEXT, "created_by"),
        sa.ForeignKeyConstraint(["group_id"], ["device_group.id"], name="fk_downlink_group_id"),
        sa.PrimaryKeyConstraint("id", name="pk_downlink"),
    )
    op.create_index(
        "ix_downlink_device_number_created_at", "downlink", ["device_number", "created_at"]
    )
    op.create_index("ix_downlink_group_id", "downlink", ["group_id"])
    op.create_index("ix_downlink_state_expires_at", "downlink", ["state", "expires_at"])

    op.create_table(
        "network_link",
        *_required(BIGINT, "device_number"),
        *_required(TEXT, "url sealed_key"),
        *_required(BIGINT, "updated_at"),
        sa.PrimaryKeyConstraint("device_number", name="pk_network_link"),
    )

    op.create_table(
        "downlink_grant",
        *_required(BIGINT, "group_id"),
        *_required(TEXT, "network"),
        *_required(BIGINT, "created_at"),
        sa.ForeignKeyConstraint(
            ["group_id"], ["device_group.id"], name="fk_downlink_grant_group_id"
        ),
        sa.PrimaryKeyConstraint("group_id", "network", name="pk_downlink_grant"),
    )


def _create_configuration_tables() -> None:
    """What devices should have as their configuration, and what they report."""
    op.create_table(
        "configuration_policy",
        _serial("id"),
        *_optional(BIGINT, "group_id"),
        *_optional(TEXT, "type"),
        *_required(TEXT, "policy"),
        *_required(BIGINT, "updated_at"),
        *_required(TEXT, "updated_by"),
        sa.ForeignKeyConstraint(
            ["group_id"], ["device_group.id"], name="fk_configuration_policy_group_id"
        ),
        sa.ForeignKeyConstraint(
            ["type"], ["device_type.name"], name="fk_configuration_policy_type"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_configuration_policy"),
        sa.UniqueConstraint("group_id", name="uq_configuration_policy_group_id"),
        sa.UniqueConstraint("type", name="uq_configuration_policy_type"),
    )
    op.create_table(
        "device_report",
        *_required(BIGINT, "device_number"),
        *_required(TEXT, "configuration"),
        *_required(BIGINT, "digest reported_at version checked_version"),
        sa.PrimaryKeyConstraint("device_number", name="pk_device_report"),
    )
    _create_partial_index(
        "ix_device_report_pending",
        "device_report",
        ["device_number"],
        "version > checked_version",
    )
    op.create_table(
        "configuration_check",
        _serial("id"),
        *_optional(BIGINT, "group_id"),
        *_optional(TEXT, "type"),
        *_required(BIGINT, "at_group at_device"),
        sa.PrimaryKeyConstraint("id", name="pk_configuration_check"),
    )


def _create_record_tables() -> None:
    """The four kinds of records, arrivals and counters."""
    for kind in RECORD_KINDS:
        _create_record_table(f"record_{kind}")
    op.create_table(
        "arrival",
        *_required(BIGINT, "group_id seq"),
        *_required(sa.SmallInteger(), "kind source"),
        *_required(INTEGER, "stay"),
        *_required(BIGINT, "device_number ts"),
        *_slot(),
        _slotted_key("arrival", "group_id", "seq"),
        postgresql_partition_by="RANGE (seq)",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "reception",
        *_required(BIGINT, "group_id first_seq last_seq"),
        *_required(sa.LargeBinary(), "sealed"),
        *_slot(),
        _slotted_key("reception", "group_id", "first_seq"),
    )
    op.create_table(
        "reception_size",
        *_required(BIGINT, "group_id"),
        *_required(sa.SmallInteger(), "writer"),
        *_required(BIGINT, "bytes"),
        *_slot(),
        _slotted_key("reception_size", "group_id", "writer"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "counter",
        *_required(BIGINT, "group_id second"),
        *_required(sa.SmallInteger(), "name writer"),
        *_slot(),
        *_required(BIGINT, "value"),
        _slotted_key("counter", "group_id", "second", "name", "writer"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "group_storage",
        *_required(BIGINT, "group_id"),
        *_required(sa.SmallInteger(), "writer"),
        *_required(BIGINT, "records characters"),
        *_slot(),
        _slotted_key("group_storage", "group_id", "writer"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "activity",
        *_required(BIGINT, "group_id hour device_number"),
        *_slot(),
        _slotted_key("activity", "group_id", "hour", "device_number"),
        sqlite_with_rowid=False,
    )


def _create_record_table(name: str) -> None:
    op.create_table(
        name,
        *_required(BIGINT, "device_number"),
        *_required(INTEGER, "stay"),
        *_slot(),  # where PostgreSQL needs no room for it
        *_required(BIGINT, "ts"),
        *_required(sa.LargeBinary(), "digest"),
        *_required(BIGINT, "seq"),
        *_required(TEXT, "body"),
        _slotted_key(name, "device_number", "stay", "ts", "digest"),
        postgresql_partition_by="RANGE (ts)",
    )


def _create_delivery_tables() -> None:
    """Channels, connectors, notifications, deliveries and replays."""
    op.create_table(
        "channel",
        _serial("number"),
        *_required(TEXT, "id"),
        *_required(BIGINT, "group_id"),
        *_required(TEXT, "purpose type"),
        *_optional(TEXT, "sealed_params"),
        *_required(BIGINT, "version"),
        *_required(sa.Boolean(), "is_enabled"),
        *_required(INTEGER, "storing_s"),
        *_optional(INTEGER, "retry_delay_s retries_max"),
        *_optional(BIGINT, "error_at"),
        *_optional(TEXT, "error_message"),
        *_required(INTEGER, "failures"),
        *_optional(BIGINT, "resend_before deleted_at"),
        *_required(BIGINT, "created_at updated_at"),
        *_required(TEXT, "created_by updated_by"),
        sa.ForeignKeyConstraint(["group_id"], ["device_group.id"], name="fk_channel_group_id"),
        sa.PrimaryKeyConstraint("number", name="pk_channel"),
        sa.UniqueConstraint("id", name="uq_channel_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_channel_group_id_number", "channel", ["group_id", "number"])

    op.create_table(
        "connector",
        *_required(BIGINT, "channel_number"),
        *_optional(TEXT, "name description"),
        *_required(TEXT, "device_types tags"),
        *_required(sa.Boolean(), "subgroups"),
        *_required(TEXT, "device_ids"),
        *_optional(TEXT, "message_filter"),
        *_required(TEXT, "format"),
        sa.ForeignKeyConstraint(
            ["channel_number"], ["channel.number"], name="fk_connector_channel_number"
        ),
        sa.PrimaryKeyConstraint("channel_number", name="pk_connector"),
    )
    op.create_table(
        "notification",
        *_required(BIGINT, "channel_number"),
        *_optional(TEXT, "name description"),
        *_required(TEXT, "device_types tags"),
        *_optional(TEXT, "device_id reason schedule"),
        *_optional(BIGINT, "fired_at sent_at"),
        sa.ForeignKeyConstraint(
            ["channel_number"], ["channel.number"], name="fk_notification_channel_number"
        ),
        sa.PrimaryKeyConstraint("channel_number", name="pk_notification"),
    )
    op.create_table(
        "notification_state",
        *_required(BIGINT, "notification_number subject"),
        *_optional(BIGINT, "raised_at"),
        *_required(sa.Boolean(), "is_notified"),
        *_optional(BIGINT, "as_of fired_at"),
        *_required(INTEGER, "held_back"),
        sa.PrimaryKeyConstraint("notification_number", "subject", name="pk_notification_state"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_notification_state_subject", "notification_state", ["subject"])

    op.create_table(
        "delivery",
        *_required(BIGINT, "channel_number seq"),
        *_required(TEXT, "device_id"),
        *_required(sa.SmallInteger(), "kind"),
        *_slot(),
        *_required(BIGINT, "ts"),
        *_required(sa.SmallInteger(), "state"),
        *_optional(sa.SmallInteger(), "first_end"),
        *_required(INTEGER, "generation attempts"),
        *_required(BIGINT, "due_at"),
        *_optional(BIGINT, "lease_token lease_until"),
        *_required(BIGINT, "created_at changed_at"),
        *_optional(BIGINT, "stored_until resent_before"),
        *_optional(TEXT, "error body context attempt_log"),
        *_optional(BIGINT, "cause"),
        *_optional(TEXT, "traceparent"),
        _slotted_key("delivery", "channel_number", "seq"),
        postgresql_with={"fillfactor": 70, "autovacuum_vacuum_scale_factor": 0.02},
        sqlite_with_rowid=False,
    )
    _index_deliveries()
    counts = ["made", "succeeded", "failed", "retried", "waiting", "max_ms"]
    counts += [f"bucket_{index}" for index in range(12)]
    op.create_table(
        "connector_minute",
        *_required(BIGINT, "channel_number minute"),
        *_required(sa.SmallInteger(), "part writer"),
        *(sa.Column(name, INTEGER, nullable=False, server_default="0") for name in counts),
        *_slot(),
        _slotted_key("connector_minute", "channel_number", "minute", "part", "writer"),
        sqlite_with_rowid=False,
    )

    op.create_table(
        "replay",
        *_required(TEXT, "id"),
        *_required(
            BIGINT,
            "channel_number begin_at end_at at_group at_seq until_seq records_scanned queued",
        ),
        *_required(TEXT, "state"),
        *_required(BIGINT, "created_at updated_at"),
        *_required(TEXT, "created_by"),
        sa.PrimaryKeyConstraint("id", name="pk_replay"),
    )
    op.create_index("ix_replay_channel_number", "replay", ["channel_number"])
    _create_partial_index("ix_replay_running", "replay", ["state"], "state = 'running'")

    op.create_table(
        "deferral",
        *_required(BIGINT, "owner_id"),
        *_required(TEXT, "purpose"),
        *_required(BIGINT, "group_id first_seq last_seq lease_until"),
        sa.PrimaryKeyConstraint("owner_id", "purpose", "group_id", "first_seq", name="pk_deferral"),
        sqlite_with_rowid=False,
    )


def _index_deliveries() -> None:
    op.create_index("ix_delivery_changed", "delivery", ["channel_number", "changed_at", "state"])
    _create_partial_index("ix_delivery_cause", "delivery", ["cause"], "cause is not null")
    due = ["channel_number", "slot", "due_at", "seq"]
    if not _is_postgres():
        due = ["channel_number", "due_at", "seq", "state"]
    _create_partial_index("ix_delivery_due", "delivery", due, "state = 0")
    _create_partial_index(
        "ix_delivery_failed", "delivery", ["channel_number", "seq", "state"], "state = 3"
    )
    _create_partial_index("ix_delivery_lease", "delivery", ["lease_until"], "state = 1")
    _create_partial_index(
        "ix_delivery_open", "delivery", ["channel_number", "created_at"], "state < 2"
    )
    _create_partial_index(
        "ix_delivery_resent",
        "delivery",
        ["channel_number"],
        "resent_before is not null and state < 2",
    )
    _create_partial_index("ix_delivery_stored", "delivery", ["stored_until"], "state = 3")


def _create_job_tables() -> None:
    """Work in steps, its results, and deleted devices that can be restored."""
    op.create_table(
        "job",
        *_required(TEXT, "id kind"),
        *_required(BIGINT, "group_id"),
        *_required(TEXT, "owner_id actor_kind actor_id address request_id reason"),
        *_required(TEXT, "task selection state"),
        *_optional(TEXT, "error"),
        *_optional(BIGINT, "total"),
        *_required(BIGINT, "done changed skipped failed kept_characters"),
        *_required(TEXT, "cursor"),
        *_optional(TEXT, "undo_of undone_by"),
        *_optional(BIGINT, "undo_until"),
        *_required(BIGINT, "result_bytes"),
        *_optional(BIGINT, "result_until"),
        *_required(BIGINT, "fence lease_until created_at"),
        *_optional(BIGINT, "started_at"),
        *_required(BIGINT, "updated_at"),
        *_optional(BIGINT, "ended_at"),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
    )
    op.create_index("ix_job_group_id_created_at", "job", ["group_id", "created_at", "id"])
    op.create_index("ix_job_group_id_state", "job", ["group_id", "state", "created_at", "id"])
    _create_partial_index(
        "ix_job_open", "job", ["owner_id", "created_at"], "state in ('waiting', 'running')"
    )
    _create_index_of_present("job", "ended_at")
    _create_index_of_present("job", "undo_until")
    _create_index_of_present("job", "result_until")
    _create_partial_index("ix_job_result_bytes", "job", ["owner_id"], "result_bytes > 0")

    op.create_table(
        "job_chunk",
        *_required(TEXT, "job_id"),
        *_required(BIGINT, "number"),
        *_required(sa.LargeBinary(), "content"),
        sa.PrimaryKeyConstraint("job_id", "number", name="pk_job_chunk"),
    )

    op.create_table(
        "job_item",
        *_required(TEXT, "job_id"),
        *_required(BIGINT, "number"),
        *_required(TEXT, "object_id outcome"),
        *_optional(TEXT, "code old_values new_digest"),
        sa.PrimaryKeyConstraint("job_id", "number", name="pk_job_item"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_job_item_job_id_outcome_number", "job_item", ["job_id", "outcome", "number"]
    )
    op.create_table(
        "binned_device",
        *_required(BIGINT, "number"),
        *_required(TEXT, "id"),
        *_required(BIGINT, "group_id"),
        *_required(TEXT, "job_id snapshot"),
        sa.PrimaryKeyConstraint("number", name="pk_binned_device"),
        sa.UniqueConstraint("id", name="uq_binned_device_id"),
    )
    op.create_index("ix_binned_device_group_id", "binned_device", ["group_id"])
    op.create_index("ix_binned_device_job_id", "binned_device", ["job_id"])


def _create_archive_tables() -> None:
    """Files with records that were moved out of the tables, and what of them is deleted."""
    op.create_table(
        "archive_file",
        _serial("id"),
        *_required(TEXT, "name"),
        *_required(sa.SmallInteger(), "kind state"),
        *_required(BIGINT, "begin_ts end_ts first_device last_device records bytes"),
        *_required(TEXT, "digest"),
        sa.PrimaryKeyConstraint("id", name="pk_archive_file"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_archive_file_kind_begin_ts", "archive_file", ["kind", "begin_ts"])
    op.create_table(
        "archive_tombstone",
        *_required(sa.SmallInteger(), "kind"),
        *_required(BIGINT, "device_number"),
        *_required(INTEGER, "stay"),
        *_required(BIGINT, "ts file_id"),
        sa.PrimaryKeyConstraint("kind", "device_number", "stay", "ts", name="pk_archive_tombstone"),
        sqlite_with_rowid=False,
    )
