"""The purpose of deliveries that are letters: how they leave, and who hears what became of them."""

from collections.abc import Sequence

import msgspec

from longwire.delivery.destinations.base import Message, Refused, Sender
from longwire.delivery.egress import Egress
from longwire.delivery.purposes import Ending, Shape
from longwire.identity import users
from longwire.ids import delivery_id
from longwire.model import SYSTEM, Connector, Notification
from longwire.notifications.rules import open_params
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import (
    TOKEN_IS_DEAD,
    Envelope,
    Means,
    Office,
    PushTarget,
    enclosed,
)
from longwire.store import audit
from longwire.store import notifications as store
from longwire.store import users as store_users
from longwire.store.database import Database, Tx
from longwire.store.deliveries import Claimed


class Notifying:
    """Notifications: letters to people."""

    def __init__(self, database: Database, office: Office) -> None:
        self._database = database
        self._office = office

    def open(self, tx: Tx, connector: Connector, egress: Egress) -> tuple[Shape, Sender]:
        params = open_params(tx, Notification(connector))
        means = Means(egress, self._office, self._find_token)

        def shape(claimed: Claimed) -> Message | Refused:
            return enclosed(
                delivery_id(claimed.connector_number, claimed.seq),
                connector.group_id,
                claimed.device_id,
                claimed.body,
                claimed.context,
            )

        return shape, catalogue.TYPES[connector.type](params, means)

    async def _find_token(self, digest: str) -> PushTarget | None:
        found = await self._database.read(
            lambda tx: users.usable_push_token(tx, bytes.fromhex(digest))
        )
        return PushTarget(found.push.type, found.token) if found is not None else None

    def ended(self, tx: Tx, writer: int, connector: Connector, endings: Sequence[Ending]) -> None:
        """Keep when something was taken last, and let go of push tokens that lead nowhere.

        Failures are kept by the engine, for whatever leaves through it.
        """
        if any(each.end == "delivered" for each in endings):
            store.note_sent(tx, connector.number)
        for each in endings:
            if each.reason == TOKEN_IS_DEAD and each.claimed.context:
                self._let_go(tx, connector, each.claimed.context)

    def _let_go(self, tx: Tx, connector: Connector, context: str) -> None:
        digest = msgspec.json.decode(context, type=Envelope).to
        push = store_users.push_token(tx, bytes.fromhex(digest))
        if push is not None and store_users.disable_push_token(tx, push.digest):
            audit.note(
                tx, SYSTEM, "pushToken.disable", push.created_by, group_id=connector.group_id
            )
