"""What messages say of devices."""

from collections.abc import Collection

import msgspec

from longwire.changes import DeviceContext
from longwire.store.database import Tx
from longwire.store.statement import Statement

LIST_CONTEXTS = Statement("""
select id, group_id, name, type, tags
from device
where id {in:ids}
""")


def list_contexts(tx: Tx, ids: Collection[str]) -> dict[str, tuple[str, DeviceContext]]:
    """The group of some devices, and what is said of them; nobody is kept from changing them."""
    return {
        device_id: (str(group), DeviceContext(name, type, msgspec.json.decode(tags)))
        for device_id, group, name, type, tags in tx.fetch(LIST_CONTEXTS, ids=ids)
    }
