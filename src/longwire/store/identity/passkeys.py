"""Passkeys: the public keys of people's authenticators."""

from longwire.model import Passkey
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.rows import Rows

_table = schema.passkey
PASSKEYS = Rows(Passkey, _table)


def get_by_credential_id(tx: Tx, credential_id: bytes) -> Passkey | None:
    """A passkey by what its authenticator calls it; its row stays locked until the commit."""
    is_same = _table.c.credential_id == credential_id
    row = tx.row(PASSKEYS.select.where(is_same).with_for_update())
    return PASSKEYS.parse(row) if row else None
