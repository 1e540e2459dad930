"""`job`: work with many devices."""

from typing import Any, TypeVar

import click
import msgspec

from longwire.cli.remote.connection import connected
from longwire.cli.remote.output import Printer, limit_option, printing_ids, take
from longwire.errors import OperatorError
from longwire_client import Client
from longwire_client import models as m

T = TypeVar("T", m.JobFilter, m.JobParameters)

COLUMNS = ("jobId", "kind", "state", "total", "done", "changed", "failed", "createdAt", "reason")

group_option = click.option("--group", "group_id", required=True, help="the job's group")


@click.command("list")
@click.argument("group_id")
@limit_option
@connected
@printing_ids
def job_list(client: Client, show: Printer, group_id: str, limit: int) -> None:
    """List the jobs of a group, newest first."""
    show(take(client.jobs.list(group_id), limit), COLUMNS)


@click.command("get")
@click.argument("job_id")
@group_option
@connected
@printing_ids
def job_get(client: Client, show: Printer, job_id: str, group_id: str) -> None:
    """Get a job and its progress."""
    show(client.jobs.get(job_id, group_id=group_id), COLUMNS)


@click.command("create")
@click.argument("kind")
@group_option
@click.option("--device", "device_ids", multiple=True, help="a device; may be repeated")
@click.option("--filter", "filter_", default=None, help="devices by a filter: a JSON object")
@click.option("--parameters", default=None, help="what the kind needs: a JSON object")
@click.option("--reason", default=None, help="for whoever looks at the jobs")
@click.option("--dry-run", is_flag=True, help="only count the devices")
@connected
@printing_ids
def job_create(
    client: Client,
    show: Printer,
    kind: str,
    group_id: str,
    device_ids: tuple[str, ...],
    filter_: str | None,
    parameters: str | None,
    reason: str | None,
    dry_run: bool,
) -> None:
    """Start a job: tag, transfer, type, configuration, delete, export, redecode, replay, resend."""
    started = client.jobs.start(
        kind,  # type: ignore[arg-type]  # the service knows the kinds
        group_id=group_id,
        device_ids=device_ids or None,
        filter=_parse(filter_, "--filter", m.JobFilter),
        parameters=_parse(parameters, "--parameters", m.JobParameters),
        reason=reason,
        dry_run=dry_run or None,
    )
    show(started if started.job is None else started.job, COLUMNS)


@click.command("cancel")
@click.argument("job_id")
@group_option
@connected
@printing_ids
def job_cancel(client: Client, show: Printer, job_id: str, group_id: str) -> None:
    """Cancel a job between two steps."""
    show(client.jobs.cancel(job_id, group_id=group_id), COLUMNS)


@click.command("undo")
@click.argument("job_id")
@group_option
@click.option("--reason", default=None, help="for whoever looks at the jobs")
@connected
@printing_ids
def job_undo(client: Client, show: Printer, job_id: str, group_id: str, reason: str | None) -> None:
    """Start a job that undoes another one."""
    show(client.jobs.undo(job_id, group_id=group_id, reason=reason), COLUMNS)


def _parse(text: str | None, option: str, kind: type[T]) -> T | None:
    """An object of the API; what it does not know is no typing mistake of ours to hide."""
    if text is None:
        return None
    try:
        names = {each.encode_name: each.name for each in msgspec.structs.fields(kind)}
        given = msgspec.json.decode(text, type=dict[str, Any])
        return kind(**{names[name]: value for name, value in given.items()})
    except KeyError as error:
        raise OperatorError(f"{option}: there is no {error}") from error
    except msgspec.DecodeError as error:
        raise OperatorError(f"{option}: {error}") from error
