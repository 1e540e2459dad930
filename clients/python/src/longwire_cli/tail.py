"""`tail`: what arrives, while it arrives."""

import itertools
import json
from collections.abc import Iterable, Iterator

import click

from longwire_cli.connection import connected
from longwire_cli.terminal import printable
from longwire_client import Client, events
from longwire_client import models as m

KINDS = ("data", "event", "geoloc", "telemetry")


@click.command("tail")
@click.argument("group_ids", nargs=-1, required=True, metavar="GROUP_ID...")
@click.option("--subgroups", is_flag=True, help="also of the groups below")
@click.option("--device", "device_id", default=None, help="only records of this device")
@click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="may be repeated")
@click.option("--filter", "filter_", default=None, help="an expression, as of a connector")
@click.option("--after", default=None, help="begin after the record with this id")
@click.option("--limit", type=click.IntRange(min=1), default=None, help="end after so many")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object a line")
@connected
def tail_command(
    client: Client,
    group_ids: tuple[str, ...],
    subgroups: bool,
    device_id: str | None,
    kinds: tuple[str, ...],
    filter_: str | None,
    after: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Print the records that arrive in groups, until interrupted.

    It goes on after interruptions of the connection. Records that had to be left out are counted
    on the standard error.
    """
    stream = client.live(
        group_ids,
        subgroups=subgroups or None,
        device_id=device_id,
        kinds=kinds or None,
        filter=filter_,
        last_id=after,
    )
    for arrival in itertools.islice(_read_arrivals(stream), limit):
        click.echo(json.dumps(arrival.to_dict()) if as_json else format_arrival(arrival))


def _read_arrivals(stream: Iterable[events.LiveEvent]) -> Iterator[m.Arrival]:
    """The records of a stream; those that were left out are reported."""
    for event in stream:
        match event:
            case events.Lost(gap):
                count = "Some" if gap.count is None else gap.count
                where = f"between {gap.from_} and {gap.to}"
                click.echo(f"{count} records {where} are left out.", err=True)
            case events.Records(items):
                yield from items


def format_arrival(arrival: m.Arrival) -> str:
    """One line: when, which device, what."""
    record = arrival.record.to_dict()
    left_out = {"deviceId", "groupId", "timestamp", "deviceName", "configuration", "deviceType"}
    fields = {name: value for name, value in record.items() if name not in left_out}
    values = " ".join(f"{name}={_value(value)}" for name, value in fields.items() if value != "")
    name = arrival.device_name or record["deviceId"]
    at = arrival.arrived_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return printable(f"{at} {arrival.kind:9} {name}  {values}")


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
