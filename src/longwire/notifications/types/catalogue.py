"""The types of notifications and of contact points, by name."""

from collections.abc import Mapping
from typing import cast

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


def _by_name(*senders: object) -> NotificationSenders:
    given = [cast(type[NotificationSender], each) for each in senders]
    return {each.type: each for each in given}


TYPES = _by_name(EmailSender, WebhookSender, PushSender, ChatSender, ContactPointsSender)
CONTACT_POINT_TYPES = _by_name(EmailSender, WebhookSender, PushSender, ChatSender, RotaSender)
_CONTACT_PARAMS: Mapping[str, type[ContactParams]] = {
    EmailSender.type: EmailContactParams,
    WebhookSender.type: WebhookContactParams,
    PushSender.type: PushContactParams,
    ChatSender.type: ChatContactParams,
    RotaSender.type: RotaParams,
}


def get_params_type(name: str) -> type[Params]:
    return TYPES[name].params_type


def get_contact_params_type(name: str) -> type[ContactParams]:
    return _CONTACT_PARAMS[name]
