"""Who gets the messages of a notification: its own recipients, and those of contact points."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

import msgspec
import structlog

from longwire.delivery.channel_owners import OwnerKind
from longwire.delivery.destinations.base import ParamsBase
from longwire.identity import access, languages
from longwire.model import Actor, ChannelPurpose
from longwire.notifications.rules import Rule
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import (
    CONTACT_POINT_PREFIX,
    NotificationContext,
    NotificationSender,
)
from longwire.notifications.types.email import EmailSender
from longwire.notifications.types.push import PushSender
from longwire.notifications.types.rota import RotaParams
from longwire.store.database import Tx
from longwire.store.identity import users as store_users
from longwire.store.notifications import contact_points as store
from longwire.store.notifications.contact_points import ContactPoint

CONTACT_KIND = OwnerKind(
    ChannelPurpose.CONTACT_POINT,
    "notification",
    "contact_point_id",
    CONTACT_POINT_PREFIX,
    "contact point",
    ContactPoint,
    store.CONTACT_POINTS,
    catalogue.CONTACT_POINT_TYPES,
    catalogue.get_contact_params_type,
    lambda channel: {},  # users configure none
)

log = structlog.get_logger()


class Recipient(msgspec.Struct, frozen=True):
    """Where one message of a notification goes."""

    channel_number: int  # of the notification, or of a contact point
    to: str
    keeps_message: bool  # whether its messages have the whole record
    group_id: str  # that of the channel
    type: str
    language: str  # of its messages

    @property
    def contact(self) -> str:
        """A recipient of a group, whichever of its notifications it gets messages from."""
        to = self.to.lower()
        return f"{self.group_id} {self.type} {to}" if to else str(self.channel_number)

    def encode_context(self, rule: Rule) -> str:
        """The context of its delivery, for a notification."""
        if self.channel_number == rule.number:
            context = NotificationContext(self.to)
        else:
            context = NotificationContext(self.to, rule.number, rule.group_id)
        return msgspec.json.encode(context).decode()


class RecipientCache:
    """The recipients of notifications, looked up once per transaction."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._recipients: dict[tuple[int, str | None], Sequence[Recipient]] = {}
        self._tokens: dict[str, Mapping[str, str | None]] = {}

    def get_recipients(self, rule: Rule) -> Sequence[Recipient]:
        key = rule.number, rule.only_contact
        if key not in self._recipients:
            self._recipients[key] = list(dict.fromkeys(self._list_recipients(rule)))
        return self._recipients[key]

    def list_of_contact_points(self, ids: Collection[str], group_id: str) -> Iterator[Recipient]:
        """Those of some contact points, as far as a group may use them."""
        if not ids:
            return
        path = access.get_group_path(self._tx, group_id)
        for contact in store.list_usable(self._tx, ids, path):
            yield from self.list_of_contact_point(contact)

    def list_of_contact_point(self, contact: ContactPoint) -> Iterator[Recipient]:
        try:
            params = CONTACT_KIND.open_params(self._tx, contact.channel)
        except Exception:
            # It was valid when it was saved, by the rules of that time.
            log.exception("contact point not usable", contact_point=contact.id)
            return
        if isinstance(params, RotaParams):
            on_call = params.list_on_call(self._tx.now)
            yield from self.list_of_contact_points(set(on_call) - {contact.id}, contact.group_id)
            return
        sender_type = catalogue.CONTACT_POINT_TYPES[contact.type]
        channel = _RecipientChannel(contact.number, contact.group_id, sender_type)
        yield from self._list_of_channel(channel, params, params.language)

    def _list_recipients(self, rule: Rule) -> Iterator[Recipient]:
        if rule.only_contact is not None:
            yield from self.list_of_contact_points([rule.only_contact], rule.group_id)
            return
        channel = _RecipientChannel(rule.number, rule.group_id, rule.type)
        yield from self._list_of_channel(channel, rule.params)
        yield from self.list_of_contact_points(rule.params.contact_points, rule.group_id)

    def _list_of_channel(
        self, channel: "_RecipientChannel", params: ParamsBase, language: str | None = None
    ) -> Iterator[Recipient]:
        """Those of a channel, each with its own language, else that of the channel."""
        group_id, sender_type = channel.group_id, channel.type
        list_tokens = partial(self._list_tokens, group_id)
        addresses = sender_type.list_recipients(params, list_tokens)
        own = self._list_languages(sender_type, group_id, addresses)
        for to in addresses:
            yield Recipient(
                channel.number,
                to,
                sender_type.keeps_message,
                group_id,
                sender_type.type,
                languages.choose(own.get(to.lower()), language),
            )

    def _list_languages(
        self, sender_type: type[NotificationSender], group_id: str, addresses: Sequence[str]
    ) -> Mapping[str, str | None]:
        """What people among the recipients have chosen."""
        if sender_type is EmailSender:
            return languages.list_of_addresses(self._tx, group_id, addresses)
        return self._get_tokens(group_id) if sender_type is PushSender else {}

    def _list_tokens(self, group_id: str) -> list[str]:
        """The push tokens of the members who have accepted and may read notifications."""
        return list(self._get_tokens(group_id))

    def _get_tokens(self, group_id: str) -> Mapping[str, str | None]:
        """The same with the languages of their users."""
        if group_id not in self._tokens:
            self._tokens[group_id] = {
                digest.hex(): language
                for user_id, digest, language in store_users.list_group_push_tokens(
                    self._tx, group_id
                )
                if can_read_notifications(self._tx, user_id, group_id)
            }
        return self._tokens[group_id]


class _RecipientChannel(msgspec.Struct, frozen=True):
    """A channel of a notification or contact point."""

    number: int
    group_id: str
    type: type[NotificationSender]


def is_contact_point_id(text: str) -> bool:
    return text.startswith(f"{CONTACT_POINT_PREFIX}_")


def can_read_notifications(tx: Tx, user_id: str, group_id: str) -> bool:
    return "notification.read" in access.get_permissions(tx, Actor("user", user_id), group_id)
