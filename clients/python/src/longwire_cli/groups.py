"""`group`: groups of a service."""

from collections.abc import Iterable, Mapping
from typing import Any

import click
import msgspec

from longwire_cli.operations import command, list_command
from longwire_cli.output import confirm, yes_option
from longwire_client import Client, Model
from longwire_client import models as m

COLUMNS = ("id", "name", "parent", "numberOfDevices", "numberOfConnectors", "tags")
LIMIT_COLUMNS = ("groupId", "limits", "retentionDays", "stored")
KEPT = ("data", "event", "geoloc", "telemetry", "summary")
NONE = "none"

tag_option = click.option("--tag", "tags", multiple=True, help="a tag; may be repeated")


@list_command("list", COLUMNS)
@click.option("--parent", default=None, help="only groups directly below this one")
@click.option("--q", default=None, help="groups at any depth with this in their name")
def group_list(client: Client, parent: str | None, q: str | None) -> Iterable[Model]:
    """List your groups."""
    if parent is None and q is None:
        return client.groups.list()
    return client.groups.tree(parent_id=parent, q=q)


@command("get", COLUMNS)
@click.argument("group_id")
def group_get(client: Client, group_id: str) -> Model:
    """Get a group."""
    return client.groups.get(group_id)


@command("create", COLUMNS)
@click.argument("name")
@click.option("--parent", default=None, help="the group that it is to be below")
@click.option("--description", default=None, help="any text")
@tag_option
def group_create(
    client: Client,
    name: str,
    parent: str | None,
    description: str | None,
    tags: tuple[str, ...],
) -> Model:
    """Create a group."""
    return client.groups.create(name, parent_id=parent, description=description, tags=tags or None)


@command("update", COLUMNS)
@click.argument("group_id")
@click.option("--name", default=None, help="its new name")
@click.option("--description", default=None, help="any text")
@click.option("--parent", default=None, help='the group to move it below; "" for none')
@tag_option
def group_update(
    client: Client,
    group_id: str,
    name: str | None,
    description: str | None,
    parent: str | None,
    tags: tuple[str, ...],
) -> Model:
    """Update what is given; tags are replaced as a whole."""
    return client.groups.update(
        group_id, name=name, description=description, parent=parent, tags=tags or None
    )


@command("delete", COLUMNS)
@click.argument("group_id")
@click.option("--recursive", is_flag=True, help="with everything in it, after a grace period")
@yes_option
def group_delete(client: Client, group_id: str, recursive: bool, yes: bool) -> Model:
    """Delete a group."""
    confirm(f"Delete group {group_id}{' with everything in it' if recursive else ''}?", yes)
    return client.groups.delete(group_id, recursive=recursive or None)


@command("limits", LIMIT_COLUMNS)
@click.argument("group_id")
def group_limits(client: Client, group_id: str) -> Model:
    """Show what limits a group, how long it keeps records, and what it has stored."""
    return client.groups.limits(group_id)


@command("set-limits", LIMIT_COLUMNS)
@click.argument("group_id")
@click.option("--records", default=None, help="records that may be stored")
@click.option("--bytes", "size", default=None, help="their size as JSON")
@click.option("--requests-per-second", default=None, help="of app clients and networks")
@click.option("--days", multiple=True, help="the longest that a kind is kept: data=90; repeatable")
def group_set_limits(
    client: Client,
    group_id: str,
    records: str | None,
    size: str | None,
    requests_per_second: str | None,
    days: tuple[str, ...],
) -> Model:
    """Set what is given of the limits of a group with all below it, as an operator.

    0 is no limit; none makes it as for all groups again.
    """
    present = client.groups.limits(group_id)
    given = {
        "stored_records_max": _parse_number(records, int, "records"),
        "stored_bytes_max": _parse_number(size, int, "bytes"),
        "requests_per_second": _parse_number(requests_per_second, float, "requests-per-second"),
    }
    before = present.limits
    longest = _merge(before.retention_days_max or m.RetentionDays(), _parse_days(days))
    limits = msgspec.structs.replace(_merge(before, given), retention_days_max=longest)
    return client.groups.set_limits(group_id, limits=limits, if_updated_at=present.updated_at)


@command("set-retention", LIMIT_COLUMNS)
@click.argument("group_id")
@click.argument("days", nargs=-1, required=True, metavar="KIND=DAYS...")
def group_set_retention(client: Client, group_id: str, days: tuple[str, ...]) -> Model:
    """Set how many days a group keeps each kind given, of data, event, geoloc, telemetry, summary.

    0 is for ever; none makes it as in the group above again.
    """
    present = client.groups.limits(group_id)
    retention = _merge(present.retention_days, _parse_days(days))
    return client.groups.set_retention(
        group_id, retention_days=retention, if_updated_at=present.updated_at
    )


def _parse_days(texts: Iterable[str]) -> dict[str, Any]:
    days: dict[str, Any] = {}
    for text in texts:
        kind, _, number = text.partition("=")
        if kind not in KEPT:
            raise click.UsageError(f"{text}: must be KIND=DAYS, with a kind of {', '.join(KEPT)}")
        days[kind] = _parse_number(number, int, kind)
    return days


def _parse_number(text: str | None, kind: type[int] | type[float], name: str) -> Any:
    """A number, NONE, or None if nothing is given."""
    if text is None or text == NONE:
        return text
    try:
        return kind(text)
    except ValueError:
        raise click.UsageError(f"{name} must be a number or {NONE}, not {text}") from None


def _merge(present: Any, given: Mapping[str, Any]) -> Any:
    changes = {
        name: None if value == NONE else value for name, value in given.items() if value is not None
    }
    return msgspec.structs.replace(present, **changes)
