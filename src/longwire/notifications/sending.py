"""The channel handlers of notifications and contact points: their messages, and the results."""

from functools import partial

from longwire.delivery.channel_handlers import (
    AttemptOutcome,
    BuildMessage,
    SettledChannels,
)
from longwire.delivery.destinations.base import (
    FailureCode,
    OutboundMessage,
    ParamsBase,
    Refused,
    Sender,
)
from longwire.delivery.http.egress import Egress
from longwire.delivery.mail.mail_rules import check_notification_mail
from longwire.identity import groups, users
from longwire.ids import format_delivery_id
from longwire.model import SYSTEM, Actor, Channel
from longwire.notifications.recipients import CONTACT_KIND, can_read_notifications
from longwire.notifications.rules import KIND
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import (
    NotificationSender,
    PushTarget,
    SenderContext,
    SendingConfig,
    build_outbound_message,
    decode_context,
)
from longwire.store.database import Database, Tx
from longwire.store.delivery.delivery_leases import ClaimedDelivery
from longwire.store.identity import audit
from longwire.store.identity import users as store_users
from longwire.store.identity.users import PUSH_TOKENS
from longwire.store.notifications import contact_points
from longwire.store.notifications import notifications as store

NOT_A_RECIPIENT = Refused(
    "the notification was updated, and this is no longer a recipient",
    is_final=True,
    code=FailureCode.WITHDRAWN,
)


class NotificationHandler:
    """Handles the channels of notifications."""

    def __init__(self, database: Database, config: SendingConfig) -> None:
        self._database = database
        self._config = config

    def open(self, tx: Tx, channel: Channel, egress: Egress) -> tuple[BuildMessage, Sender]:
        params = KIND.open_params(tx, channel)
        return self._open(channel, egress, params, catalogue.TYPES[channel.type])

    def _open(
        self,
        channel: Channel,
        egress: Egress,
        params: ParamsBase,
        sender_type: type[NotificationSender],
    ) -> tuple[BuildMessage, Sender]:
        get_push_target = partial(self._get_push_target, channel.group_id)

        def build_message(claimed: ClaimedDelivery) -> OutboundMessage | Refused:
            message = build_outbound_message(
                format_delivery_id(claimed.channel_number, claimed.seq),
                channel.group_id,
                claimed.device_id,
                claimed.body,
                claimed.context,
            )
            # The recipients may have been updated since it fired.
            recipients = sender_type.list_recipients(params, lambda: [message.to])
            if message.to.lower() not in {each.lower() for each in recipients}:
                return NOT_A_RECIPIENT
            return message

        check_mail = partial(self._check_mail, channel.group_id)
        context = SenderContext(egress, self._config, get_push_target, check_mail)
        return build_message, sender_type(params, context)

    async def _get_push_target(self, group_id: str, digest: str) -> PushTarget | None:
        return await self._database.read(
            partial(_read_push_target, group_id=group_id, digest=digest)
        )

    async def _check_mail(self, group_id: str, address: str) -> Refused | None:
        def check(tx: Tx) -> Refused | None:
            return check_notification_mail(tx, group_id, address, self._config.mail)

        return await self._database.write(check)

    def on_results(self, tx: Tx, writer: int, settled: SettledChannels) -> None:
        """Store when a message was last accepted, and disable invalid push tokens.

        Failures are stored by the engine, for all channels.
        """
        for channel, results in settled:
            if any(each.outcome is AttemptOutcome.DELIVERED for each in results):
                self._set_sent(tx, channel)
            for each in results:
                if each.code is FailureCode.RECIPIENT_GONE and each.claimed.context:
                    self._disable_push_token(tx, channel, each.claimed.context)

    def _set_sent(self, tx: Tx, channel: Channel) -> None:
        store.set_sent(tx, channel.number)

    def _disable_push_token(self, tx: Tx, channel: Channel, context: str) -> None:
        digest = decode_context(context).to
        push = PUSH_TOKENS.find(tx, digest=bytes.fromhex(digest), is_enabled=True)
        if push is not None and store_users.disable_push_token(tx, push.digest):
            audit.log(tx, SYSTEM, "pushToken.disable", push.user_id, group_id=channel.group_id)


class ContactPointHandler(NotificationHandler):
    """Handles the channels of contact points, through which notifications are sent as well."""

    def open(self, tx: Tx, channel: Channel, egress: Egress) -> tuple[BuildMessage, Sender]:
        params = CONTACT_KIND.open_params(tx, channel)
        return self._open(channel, egress, params, catalogue.CONTACT_POINT_TYPES[channel.type])

    def on_results(self, tx: Tx, writer: int, settled: SettledChannels) -> None:
        super().on_results(tx, writer, settled)
        contexts = [
            decode_context(each.claimed.context)
            for _, results in settled
            for each in results
            if each.outcome is AttemptOutcome.DELIVERED
        ]
        # In order, so that processes do not wait for each other.
        for number in sorted({each.notification for each in contexts if each.notification}):
            store.set_sent(tx, number)

    def _set_sent(self, tx: Tx, channel: Channel) -> None:
        contact_points.set_sent(tx, channel.number)


def _read_push_target(tx: Tx, group_id: str, digest: str) -> PushTarget | None:
    """A push token, as long as its user has accepted and may read the group's notifications."""
    try:
        push = PUSH_TOKENS.find(tx, digest=bytes.fromhex(digest), is_enabled=True)
    except ValueError:
        return None  # an address: the notification was of another type when it fired
    if push is None or not can_read_notifications(tx, push.user_id, group_id):
        return None
    if groups.is_invited(tx, Actor("user", push.user_id), [group_id]):
        return None  # removed since it fired, and invited again
    return PushTarget(push.type, users.reveal_push_token(tx, push))
