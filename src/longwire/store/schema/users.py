"""Tables of users and their sign-in methods."""

import sqlalchemy as sa

from longwire.store.schema.base import metadata, moment

user = sa.Table(
    "user_account",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("email", sa.Text, nullable=False),
    sa.Column("email_key", sa.Text, nullable=False, unique=True),
    sa.Column("name", sa.Text),
    sa.Column("first_name", sa.Text),
    sa.Column("last_name", sa.Text),
    sa.Column("gender", sa.Text),
    sa.Column("is_operator", sa.Boolean, nullable=False),
    moment("seen_at", required=False),
    moment("created_at"),
    moment("updated_at"),
    # On whose account their requests go, if not on their own: the owner of the group that they were
    # invited to.
    sa.Column("sponsor_id", sa.Text),
    # To be written to in; none for the default.
    sa.Column("language", sa.Text),
)

credential = sa.Table(
    "credential",
    metadata,
    sa.Column("client_id", sa.Text, primary_key=True),
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False, index=True),
    sa.Column("secret_digest", sa.LargeBinary, nullable=False),
    moment("expires_at", required=False),
    moment("created_at"),
)

access_token = sa.Table(
    "access_token",
    metadata,
    # The token itself is never stored, only its keyed digest.
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    # Answers: which tokens die with this client?
    sa.Column("client_id", sa.Text, nullable=False, index=True),
    sa.Column("is_app_client", sa.Boolean, nullable=False),
    moment("created_at"),
    # Answers: which tokens have expired and can be pruned?
    sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
)

session = sa.Table(
    "session",
    metadata,
    # The secret in the cookie is never stored, only its keyed digest.
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("id", sa.Text, nullable=False),
    # Answers: which sessions does this person have?
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False, index=True),
    sa.Column("method", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("user_agent", sa.Text, nullable=False),
    sa.Column("client_id", sa.Text),
    sa.Column("issued_by", sa.Text),
    moment("created_at"),
    moment("seen_at"),
    # Answers: which sessions have expired and can be pruned?
    sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
    moment("ends_at"),
)

sign_in_code = sa.Table(
    "sign_in_code",
    metadata,
    # Of a link by which somebody signs in once; only the keyed digest is stored.
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    # Answers: which links does this person have?
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False, index=True),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("issued_by", sa.Text),
    moment("created_at"),
    # Answers: which links have expired and can be pruned?
    sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
)

user_password = sa.Table(
    "user_password",
    metadata,
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), primary_key=True),
    # An Argon2id hash with its parameters, encrypted: a copy of the database allows no guessing.
    sa.Column("sealed_hash", sa.Text, nullable=False),
    moment("changed_at"),
)

user_totp = sa.Table(
    "user_totp",
    metadata,
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), primary_key=True),
    sa.Column("sealed_secret", sa.Text, nullable=False),
    # The time step of the last code that was used: none is used twice.
    sa.Column("last_step", sa.BigInteger, nullable=False),
    # Not needed to sign in before that.
    moment("confirmed_at", required=False),
)

recovery_code = sa.Table(
    "recovery_code",
    metadata,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    # Answers: which codes does this person have left?
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False, index=True),
)

push_token = sa.Table(
    "push_token",
    metadata,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False),
    sa.Column("sealed_token", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("device_name", sa.Text),
    sa.Column("is_enabled", sa.Boolean, nullable=False),
    moment("created_at"),
    # Answers: which token did this person register last?
    sa.Index("ix_push_token_user_id_created_at", "user_id", "created_at"),
)

external_identity = sa.Table(
    "external_identity",
    metadata,
    # Who a subject of an identity provider is. Bound at the first sign-in, never by mail again.
    sa.Column("issuer", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, primary_key=True),
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False),
    moment("created_at"),
    # Answers: is this person another subject of the same provider already?
    sa.UniqueConstraint("user_id", "issuer"),
)

passkey = sa.Table(
    "passkey",
    metadata,
    # What the authenticator calls it.
    sa.Column("credential_id", sa.LargeBinary, primary_key=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    # A public key in COSE, and the domain that it is valid for.
    sa.Column("public_key", sa.LargeBinary, nullable=False),
    sa.Column("relying_party_id", sa.Text, nullable=False),
    sa.Column("sign_count", sa.BigInteger, nullable=False),
    sa.Column("is_synced", sa.Boolean, nullable=False),
    moment("created_at"),
    moment("seen_at", required=False),
    # Answers: which passkeys does this person have?
    sa.Index("ix_passkey_user_id_created_at", "user_id", "created_at"),
)

used_challenge = sa.Table(
    "used_challenge",
    metadata,
    # Challenges are sealed and given to whoever asks; only those that were redeemed have a row,
    # until they expire, so that nobody redeems one twice.
    sa.Column("id", sa.Text, primary_key=True),
    # Answers: which ones have expired and can be pruned?
    sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
)
