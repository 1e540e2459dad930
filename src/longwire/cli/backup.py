"""`backup` and `restore`: copies of the database in a folder or an S3-compatible store."""

from pathlib import Path

import click

from longwire.backup import operations
from longwire.backup.repository import Manifest, Repository
from longwire.blobs import open_store
from longwire.cli.base import database_flags
from longwire.settings import Settings
from longwire_cli.tables import print_table
from longwire_cli.terminal import json_flag, print_result

MIB = 1024 * 1024

_temporary_flag = click.option(
    "--temporary",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=None,
    help="where a copy of the embedded database is put meanwhile [default: the data folder]",
)


@click.command("backup")
@click.argument("place")
@click.option(
    "--keep", type=click.IntRange(min=1), default=None, help="delete all but so many backups"
)
@click.option("--include-key", is_flag=True, help="put the secret key into the backup as well")
@_temporary_flag
@database_flags
@json_flag
def backup_command(
    place: str,
    keep: int | None,
    include_key: bool,
    temporary: Path | None,
    chosen: Settings,
    as_json: bool,
) -> None:
    """Back up the database while the service runs.

    PLACE is a folder, or s3://bucket/prefix with credentials in AWS_… variables. Only what has
    changed since the backups that are there is stored. The secret key is not part of a backup
    unless --include-key is given.
    """
    store = open_store(place)
    repository = Repository(store)
    with store.lock():
        result = operations.make_backup(
            chosen, repository, includes_key=include_key, temporary=temporary
        )
        dropped = repository.keep(keep) if keep is not None else []
    manifest, transfer = result.manifest, result.transfer
    key = manifest.key_fingerprint
    click.echo(
        f"WARNING: the secret key {key} is in this backup: whoever reads it opens every secret."
        if include_key
        else f"NOTE: the secret key {key} is NOT in this backup. Keep secret.key elsewhere: without"
        " it no secret in the backup can be read, and no service starts with it.",
        err=as_json,
    )
    print_result(
        {
            "id": manifest.id,
            "createdAt": manifest.created_at,
            "bytes": transfer.bytes,
            "newBytes": transfer.new_bytes,
            "newChunks": len(transfer.new_chunks),
            "keyFingerprint": key,
            "hasKey": manifest.has_key,
            "deleted": dropped,
        },
        as_json,
        f"{manifest.id}: {transfer.bytes / MIB:.1f} MiB, {transfer.new_bytes / MIB:.1f} MiB new"
        + (f"; {len(dropped)} older deleted" if dropped else ""),
    )


@click.command("restore")
@click.argument("place")
@click.option("--backup", "backup_id", default=None, help="its id [default: the newest]")
@click.option("--list", "lists", is_flag=True, help="list the backups that are there")
@click.option("--check", "checks", is_flag=True, help="read and open it, but restore nothing")
@_temporary_flag
@database_flags
@json_flag
def restore_command(
    place: str,
    backup_id: str | None,
    lists: bool,
    checks: bool,
    temporary: Path | None,
    chosen: Settings,
    as_json: bool,
) -> None:
    """Restore a backup into an empty data folder or database.

    Nothing that is there is overwritten. Put secret.key into the data folder, unless it is part of
    the backup.
    """
    repository = Repository(open_store(place))
    if lists:
        rows = [_describe(each) for each in repository.list_manifests()]
        print_table(rows, ("id", "createdAt", "engine", "bytes", "keyFingerprint"), as_json)
        return
    manifest = repository.get_manifest(backup_id)
    if checks:
        operations.check(repository, manifest, temporary)
        print_result({**_describe(manifest), "sound": True}, as_json, f"{manifest.id} is sound")
        return
    operations.restore(chosen, repository, manifest)
    print_result(
        _describe(manifest),
        as_json,
        f"{manifest.id} is restored; it needs the secret key {manifest.key_fingerprint}",
    )


def _describe(manifest: Manifest) -> dict[str, object]:
    return {
        "id": manifest.id,
        "createdAt": manifest.created_at,
        "engine": manifest.engine,
        "bytes": manifest.size,
        "version": manifest.version,
        "keyFingerprint": manifest.key_fingerprint,
        "hasKey": manifest.has_key,
    }
