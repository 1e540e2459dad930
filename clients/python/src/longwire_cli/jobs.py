"""`job`: work with many devices."""

from collections.abc import Iterable
from typing import Any, BinaryIO, TypeVar, get_args

import click
import msgspec

from longwire_cli.connection import connected
from longwire_cli.errors import CommandError
from longwire_cli.operations import command, list_command
from longwire_client import Client, Model
from longwire_client import models as m

T = TypeVar("T", m.JobFilter, m.JobParameters)

COLUMNS = ("jobId", "kind", "state", "total", "done", "changed", "failed", "createdAt", "reason")

group_option = click.option("--group", "group_id", required=True, help="the job's group")


@list_command("list", COLUMNS)
@click.argument("group_id")
def job_list(client: Client, group_id: str) -> Iterable[Model]:
    """List the jobs of a group, newest first."""
    return client.jobs.list(group_id)


@command("get", COLUMNS)
@click.argument("job_id")
@group_option
def job_get(client: Client, job_id: str, group_id: str) -> Model:
    """Get a job and its progress."""
    return client.jobs.get(job_id, group_id=group_id)


@command("create", COLUMNS)
@click.argument("kind", type=click.Choice(get_args(m.StartableJobKind)), metavar="KIND")
@group_option
@click.option("--device", "device_ids", multiple=True, help="a device; may be repeated")
@click.option("--filter", "filter_", default=None, help="devices by a filter: a JSON object")
@click.option("--parameters", default=None, help="what the kind needs: a JSON object")
@click.option("--reason", default=None, help="for whoever looks at the jobs")
@click.option("--dry-run", is_flag=True, help="only count the devices")
def job_create(
    client: Client,
    kind: m.StartableJobKind,
    group_id: str,
    device_ids: tuple[str, ...],
    filter_: str | None,
    parameters: str | None,
    reason: str | None,
    dry_run: bool,
) -> Model:
    """Start a job with devices of a group: those named, or those that a filter matches.

    \b
    KIND           --parameters
    tag            addTags, removeTags
    transfer       toGroupId
    type           type
    configuration  configuration
    delete
    redecode       beginDate, endDate, or none for all records
    resend         connectorId
    replay         connectorId, beginDate, endDate
    export         content, format, recordKind, beginDate, endDate

    --filter may have q, type, network, tag, seen, batteryBelow and subgroups; {} is every device.
    """
    started = client.jobs.start(
        kind,
        group_id=group_id,
        device_ids=device_ids or None,
        filter=_parse(filter_, "--filter", m.JobFilter),
        parameters=_parse(parameters, "--parameters", m.JobParameters),
        reason=reason,
        dry_run=dry_run or None,
    )
    return started if started.job is None else started.job


@command("cancel", COLUMNS)
@click.argument("job_id")
@group_option
def job_cancel(client: Client, job_id: str, group_id: str) -> Model:
    """Cancel a job between two steps."""
    return client.jobs.cancel(job_id, group_id=group_id)


@command("undo", COLUMNS)
@click.argument("job_id")
@group_option
@click.option("--reason", default=None, help="for whoever looks at the jobs")
def job_undo(client: Client, job_id: str, group_id: str, reason: str | None) -> Model:
    """Start a job that undoes another one."""
    return client.jobs.undo(job_id, group_id=group_id, reason=reason)


@click.command("result")
@click.argument("job_id")
@group_option
@click.option(
    "--output", type=click.File("wb"), default="-", help="a file; by default the standard output"
)
@connected
def job_result(client: Client, job_id: str, group_id: str, output: BinaryIO) -> None:
    """Get the file of an export, once the job has succeeded."""
    for part in client.jobs.result(job_id, group_id=group_id):
        output.write(part)


def _parse(text: str | None, option: str, kind: type[T]) -> T | None:
    """An object of the API; what it does not know is no typing mistake of ours to hide."""
    if text is None:
        return None
    names = {each.encode_name: each.name for each in msgspec.structs.fields(kind)}
    try:
        given = msgspec.json.decode(text, type=dict[str, Any])
        return kind(**{names[name]: value for name, value in given.items()})
    except KeyError as error:
        known = ", ".join(names)
        raise CommandError(f"{option}: there is no {error}; known are {known}") from error
    except msgspec.DecodeError as error:
        raise CommandError(f"{option}: {error}") from error
