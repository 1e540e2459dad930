"""Tests of connectors: one message, sent now through a connector or a draft of one.

It is no delivery: nothing is queued, counted or retried. The record is read first; the message is
built and sent with no transaction open.
"""

import asyncio
import time
from dataclasses import dataclass

import msgspec
import structlog

from longwire.clock import Moment
from longwire.dates import format_date
from longwire.delivery.connectors import connectors, messages
from longwire.delivery.connectors.connectors import ConnectorDraft, ParseParams
from longwire.delivery.destinations.base import (
    Destination,
    OutboundBatch,
    OutboundMessage,
    Outcome,
    Refused,
)
from longwire.delivery.engine.sending import SEND_FAILED, TIMED_OUT
from longwire.delivery.engine.worker import SEND_TIMEOUT_S
from longwire.delivery.exchanges import Exchange, build_request
from longwire.delivery.http.egress import Egress
from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.delivery.matching.matching import encode_device_context
from longwire.errors import BadInput, FieldError, TooManyRequests
from longwire.identity import access
from longwire.ids import new_id, parse_record_id
from longwire.model import Actor, Connector
from longwire.records import (
    DataRecord,
    EncodedRecord,
    EventRecord,
    GeolocRecord,
    Record,
    RecordKind,
    TelemetryRecord,
    encode_record,
)
from longwire.store.database import Tx
from longwire.store.records import arrived_records

SAMPLE_DEVICE_ID = "dev_test"
SAMPLE_TYPE = "test"
SAMPLE_DATA = '{"celsius":21.5,"door":"closed"}'
log = structlog.get_logger()

_SAMPLE_CONTEXT = '{"deviceName":"Test device","deviceType":"test","tags":[]}'


@dataclass(frozen=True, slots=True)
class Sample:
    """A record that nobody has stored, for a message."""

    kind: RecordKind = RecordKind.DATA
    data: str | None = None

    def build(self, group_id: str, at: Moment) -> EncodedRecord:
        device, timestamp = SAMPLE_DEVICE_ID, format_date(at)
        record: Record
        match self.kind:
            case RecordKind.EVENT:
                record = EventRecord(
                    device_id=device,
                    timestamp=timestamp,
                    type=SAMPLE_TYPE,
                    device_type=SAMPLE_TYPE,
                    message="This is a test.",
                    data=self.data,
                )
            case RecordKind.GEOLOC:
                record = GeolocRecord(
                    device_id=device,
                    timestamp=timestamp,
                    lat=51.9244,
                    lng=4.4777,
                    radius=25,
                    data=self.data,
                )
            case RecordKind.TELEMETRY:
                record = TelemetryRecord(
                    device_id=device,
                    timestamp=timestamp,
                    device_type=SAMPLE_TYPE,
                    data=self.data,
                    score=3,
                )
            case _:
                record = DataRecord(
                    device_id=device,
                    timestamp=timestamp,
                    data=SAMPLE_DATA if self.data is None else self.data,
                    configuration="{}",
                    raw="2a",
                    device_type=SAMPLE_TYPE,
                )
        return encode_record(msgspec.structs.replace(record, group_id=group_id))


@dataclass(frozen=True, slots=True)
class TestInputs:
    """A connector, and the record that it sends."""

    connector: Connector
    builder: messages.MessageBuilder
    destination: Destination
    encoded: EncodedRecord
    context: str  # of its device
    at: Moment


@dataclass(frozen=True, slots=True)
class TestResult:
    """What became of the message."""

    outcome: Outcome
    exchange: Exchange | None  # None if no message could be built
    duration_ms: int


def load_test(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str | None,
    draft: ConnectorDraft,
    record: str | Sample,
    parse: ParseParams,
    egress: Egress,
) -> TestInputs:
    """A connector with the changes of a draft, which are not saved, or a new one; and a record."""
    _, connector = connectors.try_draft(tx, actor, group_id, connector_id, draft, parse, egress)
    params = connectors.KIND.open_params(tx, connector.channel)
    if isinstance(record, Sample):
        encoded, context = record.build(group_id, tx.now), _SAMPLE_CONTEXT
    else:
        encoded, context = _find_record(tx, actor, connector, record)
    return TestInputs(
        connector,
        messages.MessageBuilder.for_connector(connector, params),
        messages.build_destination(connector, params, egress),
        encoded,
        context,
        tx.now,
    )


def _find_record(
    tx: Tx, actor: Actor, connector: Connector, record_id: str
) -> tuple[EncodedRecord, str]:
    """Of the groups whose records the connector may forward."""
    access.authorize(tx, actor, "record.read", connector.group_id)  # the reply shows its content
    seq = parse_record_id(record_id)
    sources = sorted(connectors.list_source_groups(tx, connector))
    group = None if seq is None else arrived_records.find_group(tx, sources, seq)
    found = None
    if seq is not None and group is not None:
        found = arrived_records.find_in_group(tx, group, seq)
    if found is None:
        raise BadInput(field_errors=[FieldError("record_id", "is not a record of this group")])
    return found.row.encoded, encode_device_context(found.device)


def log_test(tx: Tx, actor: Actor, connector: Connector) -> None:
    connectors.KIND.log(tx, actor, "test", connector, connector.channel.type)


def build_test_message(inputs: TestInputs, budgets: ComputeBudgets) -> OutboundMessage | Refused:
    """The message, marked as a test; or why it cannot be built."""
    if budgets.is_used_up(inputs.connector.group_id):
        raise TooManyRequests(
            "The templates of this group take too long; wait before the next test.",
            retry_after_s=10,
        )
    with budgets.charging(inputs.connector.group_id):
        return inputs.builder.build_test(new_id("test"), inputs.encoded, inputs.context)


async def send_test(inputs: TestInputs, message: OutboundMessage | Refused) -> TestResult:
    """Send it once, and wait for what comes back."""
    if isinstance(message, Refused):
        return TestResult(message, None, 0)
    destination = inputs.destination
    batch = OutboundBatch(message.id, [message], inputs.at)
    began = time.monotonic()
    outcome: Outcome
    try:
        async with asyncio.timeout(SEND_TIMEOUT_S):
            outcome = await destination.send(batch)
    except TimeoutError:
        outcome = TIMED_OUT
    except Exception:
        log.exception("destination failed", channel=inputs.connector.id)
        outcome = SEND_FAILED
    finally:
        await destination.close()
    duration_ms = int((time.monotonic() - began) * 1_000)
    return TestResult(outcome, outcome.exchange or _describe(inputs, batch), duration_ms)


def _describe(inputs: TestInputs, batch: OutboundBatch) -> Exchange | None:
    """What was sent, of a protocol whose responses are not kept."""
    shown = inputs.destination.describe(batch)
    body = shown.body.encode(errors="replace")
    request = build_request(shown.method, shown.url, shown.headers, body)
    return Exchange("", inputs.at, 0, None, 1, request)
