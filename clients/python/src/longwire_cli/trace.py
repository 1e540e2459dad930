"""`record trace`: the way of a record, as a table with a line for each step."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

import click

from longwire_cli.connection import connected
from longwire_cli.output import print_csv, show_one
from longwire_cli.tables import draw_table
from longwire_client import Client
from longwire_client import models as m

COLUMNS = ("at", "what", "outcome")


class Step(NamedTuple):
    at: datetime | None
    what: str
    outcome: str


@click.command("trace")
@click.argument("record_or_message_id")
@click.option("--json", "as_json", is_flag=True, help="print JSON, with all that is known")
@click.option("--csv", "as_csv", is_flag=True, help="print CSV")
@connected
def record_trace(client: Client, record_or_message_id: str, as_json: bool, as_csv: bool) -> None:
    """Show where a record came from and what became of it, by its id or by that of a message."""
    is_message = record_or_message_id.startswith("msg_")
    name = "message_id" if is_message else "record_id"
    trace = client.records.trace(**{name: record_or_message_id})
    if as_json:
        show_one(trace.to_dict(), "json")
        return
    rows = [[_format(each.at), each.what, each.outcome] for each in list_steps(trace)]
    if as_csv:
        print_csv((dict(zip(COLUMNS, row, strict=True)) for row in rows), COLUMNS)
    else:
        draw_table(rows, COLUMNS)


def list_steps(trace: m.Trace) -> Iterator[Step]:
    arrival = trace.arrival
    if trace.reception is not None:
        received = trace.reception
        yield Step(received.received_at, "received", f"{received.size} bytes from {arrival.source}")
    if trace.decoding is not None:
        found = ", ".join(trace.decoding.names) or "nothing"
        yield Step(None, "decoded", trace.decoding.error or found)
    device = arrival.device_name or arrival.record.to_dict()["deviceId"]
    yield Step(arrival.arrived_at, "stored", f"{arrival.kind} of {device}, by {arrival.source}")
    for each in trace.connectors:
        yield from _list_connector_steps(each)
    for caused in trace.notifications:
        what = f"notification {caused.name or caused.notification_id}"
        for sent in caused.deliveries:
            yield from _list_attempts(what, sent.attempts)
            yield Step(sent.timestamp, what, sent.state)
    hidden = (trace.hidden_connectors or 0) + (trace.hidden_notifications or 0)
    if hidden:
        yield Step(None, "others", f"{hidden} that are not yours to see")
    if trace.has_more_connectors:
        yield Step(None, "others", "there are more connectors")


def _list_connector_steps(found: m.ConnectorTrace) -> Iterator[Step]:
    what = f"connector {found.name or found.connector_id}"
    if found.message is None:
        yield Step(None, what, f"not taken: {found.not_taken}")
        return
    message = found.message
    yield from _list_attempts(what, message.attempts)
    next_attempt = f", next attempt {_format(message.due_at)}" if message.due_at else ""
    yield Step(message.event.timestamp, what, f"{message.state}{next_attempt}, {message.event.id}")


def _list_attempts(what: str, attempts: Iterable[m.MessageAttempt]) -> Iterator[Step]:
    for each in attempts:
        status = "" if each.status is None else f" with status {each.status}"
        outcome = f"{each.outcome}{status} in {each.duration_ms} ms"
        yield Step(each.timestamp, f"{what}, attempt {each.number}", outcome)


def _format(at: datetime | None) -> str:
    return "" if at is None else at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
