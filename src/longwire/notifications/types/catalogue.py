"""The types of notifications, by name."""

from typing import cast

from longwire.delivery.destinations import parameters
from longwire.notifications.types.base import NotificationSender, NotificationSenders, Params
from longwire.notifications.types.chat import ChatSender
from longwire.notifications.types.email import EmailSender
from longwire.notifications.types.push import PushSender
from longwire.notifications.types.webhook import WebhookSender

TYPES: NotificationSenders = {
    each.type: cast(type[NotificationSender], each)
    for each in (EmailSender, WebhookSender, PushSender, ChatSender)
}


def expected_parameters(name: str) -> str:
    """The JSON Schema of a type's parameters, as text."""
    return parameters.schema_text(TYPES[name].params_type)


def parse_params(name: str, text: str) -> Params:
    """Stored parameters, which were validated before."""
    return parameters.parse_params(TYPES[name].params_type, text)


def mask_secrets(name: str, text: str) -> str:
    return parameters.mask_secrets(TYPES[name].params_type, text)
