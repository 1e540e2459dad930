"""What the destinations at a broker have in common: each message is sent on a shared connection."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic

from longwire import extras
from longwire.delivery.connectors.formats import FORMATS
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    OutboundBatch,
    OutboundMessage,
    Outcome,
    Refused,
    RequestPreview,
    Unreachable,
)
from longwire.delivery.destinations.connections import (
    UNCONFIRMED,
    ConnectionT,
    SharedConnection,
    outcome_of_error,
)
from longwire.delivery.destinations.inbound_limit import InboundLimit

FLOODING = Unreachable(
    "the broker sends, or announces, more than a broker has to",
    code=FailureCode.LIMIT_EXCEEDED,
)


class BrokerDestination(ABC, Generic[ConnectionT]):
    """One connector's connection to its broker, kept open between messages."""

    formats: ClassVar[tuple[str, ...]] = FORMATS
    batch_max: ClassVar[int] = 1
    method: ClassVar[str] = "PUBLISH"  # in previews
    extra: ClassVar[str] = ""  # what has to be installed to send
    _shared: SharedConnection[ConnectionT]

    def __init__(self) -> None:
        self._inbound = InboundLimit()

    def _load(self, module: str) -> Any:
        """The module that needs the extra. None without it: the connector can still be shown."""
        return extras.load(self.extra, module) if extras.is_installed(self.extra) else None

    async def send(self, batch: OutboundBatch) -> Outcome:
        if self.extra and not extras.is_installed(self.extra):
            # Not final: after the operator has installed it, what was kept can be sent.
            reason = f"the connector {extras.explain_missing(self.extra)}"
            return Refused(reason, code=FailureCode.NOT_CONFIGURED)
        message, exceeded_count = batch.single, self._inbound.exceeded_count
        outcome: Outcome
        try:
            with self._inbound.sending(len(message.body)):
                outcome = await self._send(message)
        except Exception as error:
            outcome = self._outcome_of_error(error, message)
        if exceeded_count != self._inbound.exceeded_count and not isinstance(outcome, Delivered):
            return FLOODING
        return outcome

    def describe(self, batch: OutboundBatch) -> RequestPreview:
        message = batch.single
        return RequestPreview(
            method=self.method,
            url=self._target(message),
            headers=self._headers(message),
            body=message.body.decode(errors="replace"),
        )

    async def close(self) -> None:
        await self._shared.close()

    @abstractmethod
    async def _send(self, message: OutboundMessage) -> Outcome:
        """Send, and wait for the confirmation."""

    @abstractmethod
    def _target(self, message: OutboundMessage) -> str:
        """The broker's address, and where the message goes there."""

    @abstractmethod
    def _headers(self, message: OutboundMessage) -> Mapping[str, str]: ...

    def _outcome_of_error(self, error: Exception, message: OutboundMessage) -> Outcome:
        if isinstance(error, ConnectionAbortedError):
            return UNCONFIRMED  # closed while sending
        return outcome_of_error(error)
