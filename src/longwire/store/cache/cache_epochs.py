"""The epochs by which every process learns that its caches are out of date.

Each epoch is a row of its own. It stays locked until the commit, so that changes of one sort happen
one after another, and a reader of an epoch sees all changes up to it.
"""

from collections.abc import Iterable
from typing import Any

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.cache.cache import CacheEpochs
from longwire.store.database import Tx
from longwire.store.statement import Statement

PLATFORM = "0"  # stands for a group where configuration belongs to no group, such as codecs

NAMES = AUTH, CONFIG, RECORDS = "auth", "config", "records"

BUMP_EPOCH = Statement("""
update cache_epoch
set epoch = epoch + 1
where name = :name
returning epoch
""")
UPSERT_CONFIG_CHANGE = Statement("""
insert into config_change (group_id, epoch)
values (:group_id, :epoch)
on conflict (group_id) do update
set epoch = excluded.epoch
""")
SELECT_EPOCHS = Statement("""
select name, epoch
from cache_epoch
""")
SELECT_CHANGED_GROUPS = Statement("""
select group_id
from config_change
where epoch > :epoch
""")
SELECT_CLOCK = Statement("""
select cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)
""")


def bump_auth_epoch(tx: Tx) -> None:
    """Call this before changing a token, role, membership, client or the tree of groups.

    It also serialises such changes: two people cannot move two groups below each other.
    """
    if not tx.cache.changes_auth:
        tx.cache.changes_auth = True
        _bump(tx, AUTH)


def bump_config_epoch(tx: Tx, group_id: str) -> None:
    """Call this before changing what matching reads of a group's connectors or notifications."""
    if group_id not in tx.cache.changed_config_groups:
        tx.cache.changed_config_groups.add(group_id)
        number = schema.group_number(group_id)
        if group_id == PLATFORM:
            number = int(PLATFORM)
        tx.run(UPSERT_CONFIG_CHANGE, group_id=number, epoch=_bump(tx, CONFIG))


def bump_records_epoch(tx: Tx) -> None:
    """For a process beside the service that changes stored records: drop cached responses."""
    _bump(tx, RECORDS)


def _bump(tx: Tx, name: str) -> int:
    return int(tx.fetch(BUMP_EPOCH, name=name)[0][0])


def refresh_epochs(tx: Tx) -> None:
    """See the changes of other processes now; on SQLite nobody else serves the file.

    Not with a change of this transaction in the epochs: it may yet be rolled back.
    """
    if may_refresh(tx):
        tx.caches.observe(read_epochs(tx))


def may_refresh(tx: Tx) -> bool:
    return tx.is_postgres and not (tx.cache.changes_auth or tx.cache.changed_config_groups)


def read_epochs(tx: Tx) -> CacheEpochs:
    """One statement, and another one when a configuration has changed."""
    since = tx.caches.observed_epochs
    return build_epochs(tx, since, tx.fetch(SELECT_EPOCHS))


def build_epochs(tx: Tx, since: tuple[int, int], rows: Iterable[tuple[Any, ...]]) -> CacheEpochs:
    """From all rows of the table, and what was observed before they were read."""
    epochs: dict[str, int] = dict(rows)
    auth_since, config_since = since
    changed: frozenset[str] | None = None
    if config_since == epochs[CONFIG]:
        changed = frozenset()
    elif config_since >= 0:
        rows = tx.fetch(SELECT_CHANGED_GROUPS, epoch=config_since)
        changed = frozenset(str(row[0]) for row in rows)
    return CacheEpochs(
        epochs[AUTH], epochs[CONFIG], epochs[RECORDS], auth_since, config_since, changed
    )


def read_epochs_and_time(tx: Tx) -> tuple[CacheEpochs, Moment]:
    """The epochs, and the time by the clock that all processes share."""
    now = int(tx.fetch(SELECT_CLOCK)[0][0]) if tx.is_postgres else tx.now
    return read_epochs(tx), now
