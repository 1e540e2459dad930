"""The types of notifications and of contact points, by name."""

from collections.abc import Callable
from typing import NamedTuple, cast

from longwire.notifications.types.base import (
    ContactParams,
    NotificationSender,
    NotificationSenders,
    Params,
)
from longwire.notifications.types.chat import ChatContactParams, ChatSender
from longwire.notifications.types.contact_points import ContactPointsSender
from longwire.notifications.types.email import EmailContactParams, EmailSender
from longwire.notifications.types.push import PushContactParams, PushSender
from longwire.notifications.types.rota import RotaParams, RotaSender
from longwire.notifications.types.webhook import WebhookContactParams, WebhookSender


class NotificationType(NamedTuple):
    """A way to notify."""

    sender: object  # the class of its senders
    contact_params: type[ContactParams] | None = None  # if contact points can be of this type
    is_for_contact_points_only: bool = False


_ALL = {
    EmailSender.type: NotificationType(EmailSender, EmailContactParams),
    WebhookSender.type: NotificationType(WebhookSender, WebhookContactParams),
    PushSender.type: NotificationType(PushSender, PushContactParams),
    ChatSender.type: NotificationType(ChatSender, ChatContactParams),
    ContactPointsSender.type: NotificationType(ContactPointsSender),
    RotaSender.type: NotificationType(RotaSender, RotaParams, is_for_contact_points_only=True),
}


def _select(fits: Callable[[NotificationType], bool]) -> NotificationSenders:
    return {
        name: cast(type[NotificationSender], each.sender)
        for name, each in _ALL.items()
        if fits(each)
    }


TYPES = _select(lambda each: not each.is_for_contact_points_only)
CONTACT_POINT_TYPES = _select(lambda each: each.contact_params is not None)


def get_params_type(name: str) -> type[Params]:
    return TYPES[name].params_type


def get_contact_params_type(name: str) -> type[ContactParams]:
    found = _ALL[name].contact_params
    if found is None:
        raise KeyError(name)
    return found
