"""The ways to tell somebody, and what they want to be told themselves."""

from typing import cast

from longwire.delivery.destinations import parameters
from longwire.notifications.types.base import (
    NotificationType,
    NotificationTypes,
    Params,
)
from longwire.notifications.types.chat import Chat
from longwire.notifications.types.email import Email
from longwire.notifications.types.push import Push
from longwire.notifications.types.webhook import Webhook

TYPES: NotificationTypes = {
    each.type: cast(type[NotificationType], each) for each in (Email, Webhook, Push, Chat)
}


def expected_parameters(name: str) -> str:
    """The JSON Schema of a type's parameters, as text."""
    return parameters.schema_text(TYPES[name].params_type)


def params_of(name: str, text: str) -> Params:
    """Parameters that were checked before, as a value."""
    return parameters.read(TYPES[name].params_type, text)


def masked(name: str, text: str) -> str:
    """The parameters without their secrets."""
    return parameters.masked(TYPES[name].params_type, text)
