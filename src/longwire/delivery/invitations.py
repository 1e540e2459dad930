"""Mail about invitations: sent to members who were added by their address.

It leaves through a channel of its own, as durably as everything else. Where no mail server is
configured, nothing is queued.
"""

import msgspec

from longwire.delivery import channels, mail_rules
from longwire.delivery.channel_handlers import BuildMessage, SettledChannels
from longwire.delivery.channels import ChannelPolicy, DispatchContext
from longwire.delivery.destinations.base import OutboundBatch, OutboundMessage, Outcome, Sender
from longwire.delivery.egress import Egress
from longwire.delivery.email_addresses import is_address, is_allowed_address
from longwire.delivery.smtp import MailConfig, OutboundMail, SmtpClient
from longwire.identity import groups
from longwire.identity.groups import MembershipView
from longwire.identity.sign_in_links import PAGE_PATH
from longwire.ids import format_delivery_id
from longwire.model import Actor, Channel, ChannelPurpose
from longwire.quotas import Quotas
from longwire.store import users as store_users
from longwire.store.database import Tx
from longwire.store.delivery_leases import ClaimedDelivery

ACCEPT_PATH = "/invitation"
SEAL_PURPOSE = "mail"


class InvitationMail(msgspec.Struct, frozen=True):
    """The body of a delivery, as JSON; sealed while it is stored."""

    to: str
    subject: str
    body: str


class MailHandler:
    """The channel handler of the service's own mail."""

    def __init__(self, config: MailConfig) -> None:
        self._config = config

    def open(self, tx: Tx, channel: Channel, egress: Egress) -> tuple[BuildMessage, Sender]:
        keyring = tx.keyring

        def build_message(claimed: ClaimedDelivery) -> OutboundMessage:
            return OutboundMessage(
                id=format_delivery_id(claimed.channel_number, claimed.seq),
                kind=ChannelPurpose.MAIL,
                group_id=channel.group_id,
                device_id=claimed.device_id,
                device_type="",
                body=keyring.unseal(claimed.body, SEAL_PURPOSE).encode(),
                content_type="application/json",
            )

        return build_message, MailSender(SmtpClient(self._config))

    def on_results(self, tx: Tx, writer: int, settled: SettledChannels) -> None:
        """Nothing depends on them."""


class MailSender:
    """Sends the mails of one group."""

    batch_max = 1

    def __init__(self, client: SmtpClient) -> None:
        self._client = client

    async def send(self, batch: OutboundBatch) -> Outcome:
        mail = msgspec.json.decode(batch.single.body, type=InvitationMail)
        return await self._client.send(
            OutboundMail(batch.single.id, mail.to, mail.subject, mail.body, batch.at)
        )

    async def close(self) -> None:
        """Every mail closes its own connection."""


def invite_member(
    tx: Tx,
    actor: Actor,
    email: str,
    group_id: str,
    role_id: str,
    dispatch: DispatchContext,
    config: MailConfig,
    quotas: Quotas,
) -> MembershipView:
    """Add a member by address, and send a mail if they were not a member before."""
    membership = groups.invite(tx, actor, email, group_id, role_id, quotas)
    can_send = config.is_configured and is_address(email)
    if membership.is_new and can_send and is_allowed_address(email, config.mail_domains):
        channel = channels.get_or_create_channel(
            tx, ChannelPurpose.MAIL, f"mail:{group_id}", group_id, "email", ChannelPolicy()
        )
        mail_rules.reserve_mail(tx, group_id, config)
        mail = _build_invitation(tx, actor, email, membership, config)
        # Sealed: whoever reads the database must not get in by its links.
        body = tx.keyring.seal(msgspec.json.encode(mail).decode(), SEAL_PURPOSE)
        channels.enqueue(tx, channel, dispatch, [("", body)])
    return membership


def _build_invitation(
    tx: Tx, actor: Actor, email: str, membership: MembershipView, config: MailConfig
) -> InvitationMail:
    user = store_users.get(tx, membership.user_id)
    return InvitationMail(
        # It signs in, so it goes to the address of the user, however somebody has typed that.
        to=user.email if user is not None else email,
        subject="You are a member of a group now",
        body=(
            f"{_name_actor(tx, actor)} has made you a member of the group"
            f" “{membership.group.name}”, with the role {membership.role.name}.\n\n"
            "Until you accept, the others see only this address of you, and the group sends you"
            " nothing else. To accept, open\n\n"
            f"{config.base_url}{ACCEPT_PATH}?token={membership.invitation}\n\n"
            "and press the button, which also signs you in. Later, sign in at\n\n"
            f"{config.base_url}{PAGE_PATH}"
        ),
    )


def _name_actor(tx: Tx, actor: Actor) -> str:
    user = store_users.get(tx, actor.id) if actor.kind == "user" else None
    if user is None:
        return "A program that acts for the group"
    return f"{user.name} ({user.email})" if user.name else user.email
