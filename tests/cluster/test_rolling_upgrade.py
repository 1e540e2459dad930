"""Nodes are upgraded one after the other: for a while two releases serve one database.

The code of the previous release is that of the newest tag. Before the first release there is none:
then this release stands for it, and the next one is this one with another step.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import psycopg
import pytest

import longwire
from longwire.store.engines import upgrade
from tests.conftest import PostgresServer
from tests.delivery.receiver import Receiver
from tests.faults.ledger import Ledger, operator_of, wait_for_more
from tests.faults.test_delivery_crashes import LOOPBACK, connect
from tests.process import Service
from tests.store import releases
from tests.waiting import eventually

SOURCE = Path(longwire.__file__).parent
STEP = """
    import sqlalchemy as sa
    from alembic import op

    revision = "{revision}"
    down_revision = "{previous}"


    def upgrade() -> None:
        op.create_table("pigeon", sa.Column("id", sa.Text(), primary_key=True))
        for table in ("device", "delivery", "record_data", "arrival"):
            wings = sa.Column("wings", sa.Integer(), nullable=False, server_default="2")
            op.add_column(table, wings)
        op.create_index("ix_device_wings", "device", ["wings"])
"""


class Releases(NamedTuple):
    """The folders that two releases are imported from; None for the code that is tested."""

    previous: Path | None
    next: Path | None
    next_step: str


def add_step(folder: Path) -> str:
    """Make the next release, which is this one with another step; its newest step."""
    shutil.copytree(SOURCE, folder / "longwire", copy_function=os.symlink)
    previous = upgrade._known_steps()[-1]
    revision = f"{int(previous) + 1:04}"
    step = folder / f"longwire/store/migrations/versions/v{revision}_pigeons.py"
    step.write_text(dedent(STEP).format(revision=revision, previous=previous))
    return revision


@pytest.fixture
def both(tmp_path: Path) -> Releases:
    tag = releases.find_previous_tag()
    if tag is None:
        return Releases(None, tmp_path / "next", add_step(tmp_path / "next"))
    newest = upgrade._known_steps()[-1]
    return Releases(releases.unpack(tag, tmp_path / "previous"), None, newest)


@pytest.fixture
def url(postgres: PostgresServer) -> Iterator[str]:
    """An empty database."""
    name = postgres.create()
    yield postgres.url(name)
    postgres.drop(name)


@pytest.fixture
def serve(url: str, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts a release; the first start fills the database."""
    services: list[Service] = []

    def start(source: Path | None) -> Service:
        place = ("--database", url, *LOOPBACK)
        services.append(Service(tmp_path / "data", *place, source=source))
        return services[-1].started()

    yield start
    for service in services:
        service.clean_up()


def read_step(url: str) -> str:
    with psycopg.connect(url) as connection:
        return str(connection.execute("select version_num from alembic_version").fetchall()[0][0])


def test_nothing_is_lost_while_nodes_are_upgraded_one_after_the_other(
    both: Releases, serve: Callable[..., Service], url: str
) -> None:
    with Receiver() as receiver:
        old = serve(both.previous)
        ledger = Ledger.of(old)
        with operator_of(old) as operator:
            connect(operator, ledger.group, receiver.url)
        with ledger.senders(old, 1):
            wait_for_more(ledger, 20)
            new = serve(both.next)
            assert read_step(url) == both.next_step
            with ledger.senders(new, 1):
                wait_for_more(ledger, 100)
        assert [each for each in old.log if each["level"] == "error"] == []
        old.kill()
        old = serve(both.previous)  # a node that crashes meanwhile can be started again
        with ledger.senders(old, 1):
            wait_for_more(ledger, 20)
        for node in (old, new):
            ledger.assert_stored_by(node)
        assert old.stop() == 0
        ledger.resend_unacknowledged(new)
        ledger.assert_stored_by(new)
        eventually(lambda: ledger.lines.keys() <= {each.json["data"] for each in receiver.requests})
        assert new.stop() == 0
