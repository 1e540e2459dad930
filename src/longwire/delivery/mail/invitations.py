"""Invitations: mailed to members who were added by their address, or shown to whoever invites.

The mail leaves through a channel of its own, as durably as everything else. Where none can be sent,
nothing is queued.
"""

import enum
from dataclasses import dataclass, replace

import msgspec

from longwire.delivery import channels
from longwire.delivery.channel_handlers import BuildMessage, SettledChannels
from longwire.delivery.channels import ChannelPolicy, DispatchContext
from longwire.delivery.destinations.base import OutboundBatch, OutboundMessage, Outcome, Sender
from longwire.delivery.http.egress import Egress
from longwire.delivery.mail import mail_rules
from longwire.delivery.mail.email_addresses import is_address, is_allowed_address
from longwire.delivery.mail.smtp import MailConfig, OutboundMail, SmtpClient
from longwire.identity import groups, invitations, languages
from longwire.identity.groups import MembershipView
from longwire.identity.sign_in_links import PAGE_PATH
from longwire.ids import format_delivery_id
from longwire.model import Actor, Channel, ChannelPurpose
from longwire.quotas import Quotas
from longwire.store.database import Tx
from longwire.store.delivery.delivery_leases import ClaimedDelivery
from longwire.store.identity import users as store_users
from longwire.translations.catalogue import DEFAULT_LANGUAGE, translate

SEAL_PURPOSE = "mail"


class InvitationMail(msgspec.Struct, frozen=True):
    """The body of a delivery, as JSON; sealed while it is stored."""

    to: str
    subject: str
    body: str
    language: str = DEFAULT_LANGUAGE


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
            OutboundMail(batch.single.id, mail.to, mail.subject, mail.body, batch.at, mail.language)
        )

    async def close(self) -> None:
        """Every mail closes its own connection."""


class InvitationMailStatus(enum.StrEnum):
    """What becomes of the mail of an invitation."""

    QUEUED = "queued"
    NOT_CONFIGURED = "not_configured"  # the service sends no mail
    ADDRESS_NOT_ALLOWED = "address_not_allowed"  # by the operator's list of domains, or no address
    ACCEPTED = "accepted"  # there is nothing to send: they have accepted before


@dataclass(frozen=True, slots=True)
class SentInvitation:
    """A membership, what becomes of the mail, and the link if whoever invites hands it over."""

    membership: MembershipView
    mail: InvitationMailStatus
    url: str | None = None


def invite_member(
    tx: Tx,
    actor: Actor,
    email: str,
    group_id: str,
    role_id: str,
    dispatch: DispatchContext,
    config: MailConfig,
    quotas: Quotas,
    *,
    language: str | None = None,
) -> SentInvitation:
    """Add a member by address; mail or show the link, again if they have not accepted yet."""
    default = languages.get_of_actor(tx, actor)
    membership = groups.invite(
        tx, actor, email, group_id, role_id, quotas, language=language or default
    )
    user = store_users.USERS.get(tx, membership.user_id)
    if user is not None and user.seen_at is None and language is not None:
        # Who was never here has not chosen it: what was last chosen for them counts.
        store_users.USERS.save(tx, user, replace(user, language=language))
    status = _get_mail_status(membership, email, config)
    if status is InvitationMailStatus.ACCEPTED:
        return SentInvitation(membership, status)
    if status is not InvitationMailStatus.QUEUED:
        return SentInvitation(membership, status, _build_shown_link(tx, actor, membership, config))
    channel = channels.get_or_create_channel(
        tx, ChannelPurpose.MAIL, f"mail:{group_id}", group_id, "email", ChannelPolicy()
    )
    mail_rules.reserve_mail(tx, group_id, config)
    mail_rules.reserve_invitation(tx, membership.user_id)
    mail = _build_invitation(tx, actor, email, membership, config, language or default)
    # Sealed: whoever reads the database must not get in by its links.
    body = tx.keyring.seal(msgspec.json.encode(mail).decode(), SEAL_PURPOSE)
    channels.enqueue(tx, channel, dispatch, [("", body)])
    return SentInvitation(membership, status)


def _get_mail_status(
    membership: MembershipView, email: str, config: MailConfig
) -> InvitationMailStatus:
    if not membership.is_pending:
        return InvitationMailStatus.ACCEPTED
    if not config.is_configured:
        return InvitationMailStatus.NOT_CONFIGURED
    if not is_address(email) or not is_allowed_address(email, config.mail_domains):
        return InvitationMailStatus.ADDRESS_NOT_ALLOWED
    return InvitationMailStatus.QUEUED


def _build_shown_link(
    tx: Tx, actor: Actor, membership: MembershipView, config: MailConfig
) -> str | None:
    """For users who act for themselves: the session of the link depends on what they hold."""
    if actor.kind != "user" or tx.origin.issued_by is not None:
        return None
    return invitations.build_link(
        tx, config.base_url, membership.group.id, membership.user_id, issued_by=actor.id
    )


def _build_invitation(
    tx: Tx,
    actor: Actor,
    email: str,
    membership: MembershipView,
    config: MailConfig,
    invited_in: str | None,
) -> InvitationMail:
    user = store_users.USERS.get(tx, membership.user_id)
    link = invitations.build_link(tx, config.base_url, membership.group.id, membership.user_id)
    language = languages.choose(None if user is None else user.language, invited_in)
    return InvitationMail(
        # It signs in, so it goes to the address of the user, however somebody has typed that.
        to=user.email if user is not None else email,
        subject=translate(language, "invitation.subject"),
        body=translate(
            language,
            "invitation.body",
            inviter=_name_actor(tx, actor, language),
            group=mail_rules.to_line(membership.group.name or membership.group.id),
            role=mail_rules.to_line(membership.role.name),
            url=link,
            page=f"{config.base_url}{PAGE_PATH}",
        ),
        language=language,
    )


def _name_actor(tx: Tx, actor: Actor, language: str) -> str:
    user = store_users.USERS.get(tx, actor.id) if actor.kind == "user" else None
    if user is None:
        return translate(language, "invitation.program")
    return f"{mail_rules.to_line(user.name)} ({user.email})" if user.name else user.email
