"""Mails of the service's own: for what people do to each other, not for what devices say.

They leave by the operator's mail server and the same durable way as everything else. Where there is
no mail server, nothing is queued.
"""

from collections.abc import Sequence

import msgspec

from longwire.delivery import channels
from longwire.delivery.channel_handlers import Ending, Shape
from longwire.delivery.channels import Dispatch, Policy
from longwire.delivery.destinations.base import Message, Sender
from longwire.delivery.egress import Egress
from longwire.identity import groups
from longwire.identity.groups import Relation
from longwire.ids import delivery_id
from longwire.model import Actor, Connector
from longwire.notifications.addresses import is_address, may_be_written_to
from longwire.notifications.types.base import (
    Envelope,
    Letter,
    Means,
    Office,
    PushTarget,
    enclosed,
)
from longwire.notifications.types.email import Email, EmailParams
from longwire.store import users as store_users
from longwire.store.database import Tx
from longwire.store.deliveries import Claimed

MAILING = "mail"
INVITED = "invited"


class Mail(msgspec.Struct, frozen=True):
    """What lies in the queue."""

    to: str
    letter: Letter


class Mailing:
    """The purpose of such deliveries."""

    def __init__(self, office: Office) -> None:
        self._office = office

    def open(self, tx: Tx, connector: Connector, egress: Egress) -> tuple[Shape, Sender]:
        def shape(claimed: Claimed) -> Message:
            mail = msgspec.json.decode(claimed.body, type=Mail)
            return enclosed(
                delivery_id(claimed.connector_number, claimed.seq),
                connector.group_id,
                claimed.device_id,
                msgspec.json.encode(mail.letter),
                msgspec.json.encode(Envelope(mail.to)).decode(),
            )

        return shape, Email(EmailParams(to=[]), Means(egress, self._office, _no_token))

    def ended(self, tx: Tx, writer: int, connector: Connector, endings: Sequence[Ending]) -> None:
        """Nobody waits for it."""


async def _no_token(digest: str) -> PushTarget | None:
    return None


def invite(
    tx: Tx,
    actor: Actor,
    email: str,
    group_id: str,
    role_id: str,
    dispatch: Dispatch,
    office: Office,
) -> Relation:
    """Make somebody a member by their address, and let them know if they were none before."""
    relation = groups.invite(tx, actor, email, group_id, role_id)
    can_mail = Email.unavailable(office) is None and is_address(email)
    if relation.is_new and can_mail and may_be_written_to(email, office.mail_domains):
        outlet = channels.outlet(tx, MAILING, f"{MAILING}:{group_id}", group_id, "email", Policy())
        mail = Mail(email, _invitation(tx, actor, relation))
        channels.send(tx, outlet, dispatch, [("", msgspec.json.encode(mail).decode())])
    return relation


def _invitation(tx: Tx, actor: Actor, relation: Relation) -> Letter:
    return Letter(
        subject="You are a member of a group now",
        body=(
            f"{_who(tx, actor)} has made you a member of the group"
            f" “{relation.group.name}”, with the role {relation.role.name}.\n\n"
            "To use it, ask whoever runs this service for your credentials, if you have none yet."
        ),
        reason=INVITED,
        message={},
    )


def _who(tx: Tx, actor: Actor) -> str:
    user = store_users.own(tx, actor.id) if actor.kind == "user" else None
    if user is None:
        return "A program that acts for the group"
    return f"{user.name} ({user.email})" if user.name else user.email
