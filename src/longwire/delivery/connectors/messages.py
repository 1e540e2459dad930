"""Messages of connectors: a record or a change in the format of one, for its destination."""

from dataclasses import dataclass

import msgspec

from longwire.changes import get_subject_id
from longwire.delivery.cel.stored import StoredExpression
from longwire.delivery.connectors.formats import (
    MARKABLE_FORMATS,
    Encoded,
    FormatError,
    UnusableTemplate,
    format_record,
    mark_as_test,
)
from longwire.delivery.destinations import catalogue
from longwire.delivery.destinations.base import (
    Destination,
    DestinationParams,
    FailureCode,
    OutboundMessage,
    Refused,
)
from longwire.delivery.http.egress import Egress
from longwire.ids import format_delivery_id
from longwire.model import Connector


def build_destination(
    connector: Connector, params: DestinationParams, egress: Egress
) -> Destination:
    return catalogue.TYPES[connector.channel.type](params, egress)


@dataclass(frozen=True, slots=True)
class MessageBuilder:
    """Builds the messages of one connector."""

    connector: Connector
    template: StoredExpression | None

    @classmethod
    def for_connector(cls, connector: Connector, params: DestinationParams) -> "MessageBuilder":
        return cls(connector, StoredExpression(params.template) if params.template else None)

    def build(self, seq: int, encoded: Encoded, context: str) -> OutboundMessage | Refused:
        """The message for a stored record or change, or why it cannot be built."""
        return self._build(format_delivery_id(self.connector.number, seq), encoded, context)

    def build_test(
        self, message_id: str, encoded: Encoded, context: str
    ) -> OutboundMessage | Refused:
        """The same for a message by hand, with an id that no delivery has, and marked as a test."""
        built = self._build(message_id, encoded, context)
        if isinstance(built, Refused):
            return built
        body, element = built.body, built.element
        if self.connector.format in MARKABLE_FORMATS:
            body, element = mark_as_test(body), mark_as_test(element)
        return msgspec.structs.replace(built, body=body, element=element, is_test=True)

    def _build(self, message_id: str, encoded: Encoded, context: str) -> OutboundMessage | Refused:
        record = encoded.record
        device = msgspec.json.decode(context)
        try:
            formatted = format_record(
                self.connector.format, self.template, message_id, encoded, device
            )
        except FormatError as error:
            return Refused(
                f"the message could not be formatted: {error}",
                is_final=not isinstance(error, UnusableTemplate),
                code=FailureCode.INVALID_MESSAGE,
            )
        return OutboundMessage(
            message_id,
            record.kind.label,
            record.group_id or self.connector.group_id,
            get_subject_id(record),
            device.get("deviceType", ""),
            formatted.body,
            formatted.content_type,
            formatted.element,
        )
