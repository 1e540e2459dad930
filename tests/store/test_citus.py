"""Distributing a PostgreSQL with the extension Citus; more of it is in `tests/cluster`."""

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator

import pytest

from longwire import store
from longwire.store import schema
from longwire.store.engines import citus
from longwire.store.statement import Statement
from tests.world import CITUS_URL, World


def test_what_every_commit_of_records_writes_is_distributed() -> None:
    tables = citus.list_tables()
    assert {"arrival", "device_state", "counter", "activity", "delivery"} < set(tables)
    assert {f"record_{kind}" for kind in schema.record} < set(tables)
    assert not {"device", "device_group", "channel", "lease", "node"} & set(tables)


def list_statements() -> Iterator[tuple[str, str]]:
    """What modules of the store have for PostgreSQL, by name."""
    for found in pkgutil.walk_packages(store.__path__, "longwire.store."):
        if ".migrations." in found.name:
            continue
        for name, value in vars(importlib.import_module(found.name)).items():
            for each in value.values() if isinstance(value, dict) else [value]:
                if isinstance(each, Statement | str):
                    yield f"{found.name}.{name}", getattr(each, "postgres", each)


def test_rows_of_distributed_tables_are_locked_in_one_slot_at_a_time() -> None:
    """The extension refuses to lock rows of several shards with one statement."""
    tables = "|".join(citus.list_tables())
    locking = {
        name: sql
        for name, sql in list_statements()
        if re.search(rf"\bfrom ({tables})\b.*\bfor update\b", sql, re.DOTALL)
    }
    assert {"longwire.store.fleet.reporting_devices.LOCK_COUNTERS"} < set(locking)
    for name, sql in locking.items():
        assert re.search(r"\bslot = :slot\b", sql), name


@pytest.mark.skipif(bool(CITUS_URL), reason="this server has the extension")
def test_a_server_without_the_extension_is_not_distributed(
    make_world: Callable[..., World],
) -> None:
    database = make_world().database
    with pytest.raises(citus.CitusMissing, match="create extension citus"):
        database.upgrade(citus.distribute)
    assert database.upgrade(citus.get_layout) is None
