"""What the destinations at a broker have in common: each message is sent on a shared connection."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Generic

from longwire.delivery.destinations.base import (
    OutboundBatch,
    OutboundMessage,
    Outcome,
    RequestPreview,
)
from longwire.delivery.destinations.connections import (
    UNCONFIRMED,
    ConnectionT,
    SharedConnection,
    outcome_of_error,
)
from longwire.delivery.formats import FORMATS


class BrokerDestination(ABC, Generic[ConnectionT]):
    """One connector's connection to its broker, kept open between messages."""

    formats: ClassVar[tuple[str, ...]] = FORMATS
    batch_max: ClassVar[int] = 1
    method: ClassVar[str] = "PUBLISH"  # in previews
    _shared: SharedConnection[ConnectionT]

    async def send(self, batch: OutboundBatch) -> Outcome:
        try:
            return await self._send(batch.single)
        except Exception as error:
            return self._outcome_of_error(error, batch.single)

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
