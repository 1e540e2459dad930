"""Notifications that are sent to contact points only."""

import builtins
from collections.abc import Sequence
from typing import ClassVar

from longwire.delivery.destinations.base import (
    FailureCode,
    OutboundBatch,
    Outcome,
    ParamsBase,
    Refused,
)
from longwire.delivery.http.egress import Egress
from longwire.notifications.types.base import ListTokens, Params, PublicService, SenderContext

NO_RECIPIENT = Refused("it has no recipients of its own", is_final=True, code=FailureCode.WITHDRAWN)


class ContactPointsParams(Params, kw_only=True):
    """No more parameters, but `contactPoints` is required."""

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        missing = [] if self.contact_points else [("contactPoints", "is required")]
        return [*super().validate(egress), *missing]


class NoSender(PublicService):
    """Sends nothing itself: what is sent leaves through the channels of contact points."""

    keeps_message: ClassVar[bool] = True
    batch_max: ClassVar[int] = 1

    @classmethod
    def list_recipients(cls, params: ParamsBase, list_tokens: ListTokens) -> Sequence[str]:
        return []

    def __init__(self, params: ParamsBase, context: SenderContext) -> None:
        """Nothing is opened."""

    async def send(self, batch: OutboundBatch) -> Outcome:
        return NO_RECIPIENT

    async def close(self) -> None:
        """Nothing is open."""


class ContactPointsSender(NoSender):
    """Notifications without recipients of their own."""

    type: ClassVar[str] = "contactPoints"
    title: ClassVar[str] = "Contact points"
    params_type: ClassVar[builtins.type[Params]] = ContactPointsParams
