"""Distributing a PostgreSQL with the extension Citus; more of it is in `tests/cluster`."""

from collections.abc import Callable

import pytest

from longwire.store import citus, schema
from tests.world import CITUS_URL, World


def test_what_every_commit_of_records_writes_is_distributed() -> None:
    tables = citus.list_tables()
    assert {"arrival", "device_state", "counter", "activity", "delivery"} < set(tables)
    assert {f"record_{kind}" for kind in schema.record} < set(tables)
    assert not {"device", "device_group", "channel", "lease", "node"} & set(tables)


@pytest.mark.skipif(bool(CITUS_URL), reason="this server has the extension")
def test_a_server_without_the_extension_is_not_distributed(
    make_world: Callable[..., World],
) -> None:
    database = make_world().database
    with pytest.raises(citus.CitusMissing, match="create extension citus"):
        database.upgrade(citus.distribute)
    assert database.upgrade(citus.get_layout) is None
