"""The purpose of deliveries that are letters: how they leave, and who hears what became of them."""

from collections.abc import Sequence
from functools import partial

import msgspec

from longwire.delivery.channel_handlers import Ending, Shape
from longwire.delivery.destinations.base import Message, Refused, Sender
from longwire.delivery.egress import Egress
from longwire.identity import users
from longwire.ids import delivery_id
from longwire.model import SYSTEM, Connector, Notification
from longwire.notifications.firing import may_hear
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

NOT_FOR_THEM = "the notification was changed, and is not for this recipient any more"


class Notifying:
    """Notifications: letters to people."""

    def __init__(self, database: Database, office: Office) -> None:
        self._database = database
        self._office = office

    def open(self, tx: Tx, connector: Connector, egress: Egress) -> tuple[Shape, Sender]:
        params = open_params(tx, Notification(connector))
        means = Means(egress, self._office, partial(self._find_token, connector.group_id))
        way = catalogue.TYPES[connector.type]

        def shape(claimed: Claimed) -> Message | Refused:
            message = enclosed(
                delivery_id(claimed.connector_number, claimed.seq),
                connector.group_id,
                claimed.device_id,
                claimed.body,
                claimed.context,
            )
            # Whom it was for when it fired, and whom it is for now, may differ.
            recipients = way.recipients(params, lambda: [message.to])
            if message.to.lower() not in {each.lower() for each in recipients}:
                return Refused(NOT_FOR_THEM, is_final=True)
            return message

        return shape, way(params, means)

    async def _find_token(self, group_id: str, digest: str) -> PushTarget | None:
        return await self._database.read(partial(_token, group_id=group_id, digest=digest))

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


def _token(tx: Tx, group_id: str, digest: str) -> PushTarget | None:
    """A push token, as long as whoever has it now may hear of the group."""
    try:
        found = users.usable_push_token(tx, bytes.fromhex(digest))
    except ValueError:
        return None  # no token: the notification was of another type when it fired
    if found is None or not may_hear(tx, found.push.created_by, group_id):
        return None
    return PushTarget(found.push.type, found.token)
