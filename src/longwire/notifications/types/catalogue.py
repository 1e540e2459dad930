"""The types of notifications, by name."""

from typing import cast

from longwire.notifications.types.base import NotificationSender, NotificationSenders, Params
from longwire.notifications.types.chat import ChatSender
from longwire.notifications.types.email import EmailSender
from longwire.notifications.types.push import PushSender
from longwire.notifications.types.webhook import WebhookSender

TYPES: NotificationSenders = {
    each.type: cast(type[NotificationSender], each)
    for each in (EmailSender, WebhookSender, PushSender, ChatSender)
}


def get_params_type(name: str) -> type[Params]:
    return TYPES[name].params_type
