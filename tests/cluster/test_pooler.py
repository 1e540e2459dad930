"""PgBouncer in transaction mode: every transaction may run in another session of the server."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from longwire.settings import Settings
from tests.cluster.pooler import PGBOUNCER, WHY_NOT, Pooler
from tests.conftest import PostgresServer
from tests.reports import KINDS
from tests.world import CITUS_URL, World, ok, record_of

pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason=WHY_NOT)


@pytest.fixture
def pooled_url(settings: Settings, postgres: PostgresServer, fast_folder: Path) -> Iterator[str]:
    """The database of the test, through a pooler."""
    if CITUS_URL:
        pytest.skip("the server listens on no socket of the file system")
    name = settings.database.partition("@/")[2].partition("?")[0]
    fast_folder.chmod(0o755)
    pooler = Pooler(fast_folder / "pooler", name, sessions=2)
    pooler.start(f"host={postgres.folder} user=postgres")
    yield pooler.url
    pooler.kill()


def test_nodes_behind_a_pooler_in_transaction_mode_store_and_deliver_everything(
    pooled_url: str, make_world: Callable[..., World]
) -> None:
    nodes = [
        make_world(database=pooled_url, database_pooled=True, database_connections=8)
        for _ in range(2)
    ]
    ada = nodes[0].person()
    group = ada.group()
    device = ada.device(group)

    def send(number: int) -> list[int]:
        statuses = []
        for kind in KINDS:
            body = record_of(device, kind, timestamp=f"2026-03-01T12:00:{number:02}Z")
            for node in nodes:  # the second one gets it again
                response = node.http.post(
                    f"/device/{kind}", json=body, headers={"Authorization": f"Bearer {ada.token}"}
                )
                statuses.append(response.status_code)
        return statuses

    with ThreadPoolExecutor(10) as pool:
        statuses = [status for sent in pool.map(send, range(20)) for status in sent]
    assert set(statuses) == {200}
    for kind in KINDS:
        assert len(ada.records(device, kind)) == 20
    for number in range(10):
        ada.group(f"group {number}")
    assert len(ok(ada.get("/user/groups"))["items"]) == 11
    assert all(node.http.get("/health/ready").status_code == 200 for node in nodes)
