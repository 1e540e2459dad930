"""Statements that go to PostgreSQL by libpq, several in one round trip."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from longwire.store.database import Tx
from longwire.store.engines.binary_arrays import BigintArray, encode_array
from longwire.store.engines.postgres_pipeline import Prepared, StatementPipeline
from longwire.store.statement import Statement
from tests.conftest import PostgresServer
from tests.world import World

INSERT = "insert into letter select * from unnest($1::bigint[], $2::text[])"
COUNT = "select count(*), max(number) from letter where number >= $1 and number < $2"


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> str:
    return postgres.url(postgres.create())


@pytest.fixture
def connection(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url) as made:
        made.execute("drop table if exists letter")
        made.execute("create table letter (number bigint primary key, text text not null)")
        made.commit()
        yield made


@pytest.fixture(params=[True, False], ids=["prepared", "pooled"])
def prepared(request: pytest.FixtureRequest) -> Prepared | None:
    return Prepared() if request.param else None


def letters(first: int, count: int) -> list[Any]:
    numbers = range(first, first + count)
    return [encode_array("BIGINT", numbers), encode_array("TEXT", [f"№ {n}" for n in numbers])]


def numbers_of(connection: psycopg.Connection[Any]) -> list[int]:
    connection.rollback()
    rows = connection.execute("select number from letter order by number").fetchall()
    connection.rollback()
    return [number for (number,) in rows]


@pytest.mark.slow
def test_statements_run_in_order_and_their_rows_come_back(
    connection: psycopg.Connection[Any], prepared: Prepared | None
) -> None:
    pipeline = StatementPipeline(connection, prepared)
    found: list[Any] = []
    for first in (0, 10):
        pipeline.add(INSERT, letters(first, 5))
        pipeline.add(COUNT, [0, 100], found.extend)
    assert found == []
    pipeline.add(INSERT, letters(20, 7))
    assert pipeline.run() == 7
    assert found == [(5, 4), (10, 14)]
    # What the driver itself does next is in the same transaction.
    assert connection.execute("select count(*) from letter").fetchone() == (17,)
    pipeline.commit()
    assert len(numbers_of(connection)) == 17


def test_statements_that_the_server_has_dropped_are_prepared_again(
    connection: psycopg.Connection[Any],
) -> None:
    """The driver drops all of a connection when it rolls back, if it has prepared some itself."""
    prepared = Prepared()
    pipeline = StatementPipeline(connection, prepared)
    pipeline.add(INSERT, letters(0, 5))
    pipeline.commit()
    connection.execute("select count(*) from letter", prepare=True)
    connection.rollback()
    connection.execute("select 1")
    connection.rollback()
    pipeline.add(COUNT, [0, 100])  # one that is prepared only now
    pipeline.run()
    pipeline.add(INSERT, letters(10, 5))
    with pytest.raises(psycopg.errors.InvalidSqlStatementName):
        pipeline.run()
    connection.rollback()
    pipeline.add(COUNT, [0, 100])
    pipeline.add(INSERT, letters(20, 5))
    pipeline.commit()
    assert numbers_of(connection) == [*range(5), *range(20, 25)]


@pytest.mark.slow
def test_more_than_any_buffer_holds_is_sent_and_received(
    connection: psycopg.Connection[Any], prepared: Prepared | None
) -> None:
    pipeline = StatementPipeline(connection, prepared)
    texts = ["x" * 10_000] * 1_000
    numbers = encode_array("BIGINT", range(1_000))
    rows: list[Any] = []
    pipeline.add(INSERT, [numbers, encode_array("TEXT", texts)])
    for _ in range(3):
        pipeline.add("select text from letter where $1::text is not null", ["x"], rows.extend)
        pipeline.add("select $1::text[]", [encode_array("TEXT", texts)])
    pipeline.run()
    assert [text for (text,) in rows] == texts * 3


@pytest.mark.parametrize(
    "sql, error",
    [
        (INSERT, psycopg.errors.UniqueViolation),
        ("insert into nothing values ($1, $2)", psycopg.errors.UndefinedTable),
    ],
)
def test_after_an_error_nothing_is_stored_and_the_connection_serves_on(
    connection: psycopg.Connection[Any],
    prepared: Prepared | None,
    sql: str,
    error: type[psycopg.Error],
) -> None:
    pipeline = StatementPipeline(connection, prepared)
    seen: list[Any] = []
    pipeline.add(INSERT, letters(0, 5))
    pipeline.add(sql, letters(4, 1))
    pipeline.add(COUNT, [0, 9], seen.extend)
    with pytest.raises(error):
        pipeline.run()
    assert seen == []
    assert numbers_of(connection) == []
    pipeline.add(INSERT, letters(0, 5))
    pipeline.add(COUNT, [0, 9], seen.extend)
    pipeline.commit()
    assert seen == [(5, 4)]
    assert numbers_of(connection) == [0, 1, 2, 3, 4]


def test_a_connection_that_is_lost_is_an_error_of_the_driver(
    connection: psycopg.Connection[Any], prepared: Prepared | None
) -> None:
    pipeline = StatementPipeline(connection, prepared)
    pipeline.add(INSERT, letters(0, 5))
    pipeline.run()
    pipeline.add("select pg_terminate_backend(pg_backend_pid()), $1::text", ["x"])
    pipeline.add(INSERT, letters(5, 5))
    with pytest.raises(psycopg.OperationalError):
        pipeline.run()
    assert connection.closed


@pytest.mark.parametrize(
    "type_name, values",
    [
        ("BIGINT", [0, -1, 2**63 - 1, -(2**63)]),
        ("BIGINT", [1, None, -(2**40)]),
        ("BIGINT", []),
        ("BIGINT", list(range(-400, 400))),
        ("INTEGER", [0, -1, 2**31 - 1, -(2**31)]),
        ("INTEGER", [None, None]),
        ("SMALLINT", [0, -1, 2**15 - 1, -(2**15)]),
        ("DOUBLE PRECISION", [0.5, -1e300, 3]),
        ("DOUBLE PRECISION", [None, 52.25]),
        ("BOOLEAN", [True, False, None]),
        ("TEXT", ["", "a,b", '{"x": "ü"}', None, "NULL"]),
        ("BYTEA", [b"", b"\x00\xff", None]),
    ],
)
def test_the_server_reads_what_was_encoded(
    connection: psycopg.Connection[Any], type_name: str, values: list[Any]
) -> None:
    pipeline = StatementPipeline(connection, Prepared())
    rows: list[Any] = []
    sql = f"select value from unnest($1::{type_name}[]) with ordinality x (value, at) order by at"
    pipeline.add(sql, [encode_array(type_name, values)], rows.extend)
    pipeline.run()
    assert [value for (value,) in rows] == values


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_numbers_are_sent_as_one_encoded_parameter(world: World) -> None:
    """Whatever the size of the numbers, and beside texts, nulls and nothing at all."""

    def select(tx: Tx, values: list[object], type_name: str = "bigint") -> list[object]:
        sql = "select v from unnest(cast({array:listed} as {type_name}[])) v"
        return [row[0] for row in tx.fetch(Statement(sql, type_name=type_name), listed=values)]

    def check(tx: Tx) -> None:
        large = [0, -1, 2**15, 2**31, 2**63 - 1, -(2**63)]
        encoded = Statement("{array:listed}").encode({"listed": large}, is_postgres=True)
        assert isinstance(encoded["listed"], BigintArray)
        assert select(tx, large) == large
        assert select(tx, [1, 2], "integer") == [1, 2]
        assert select(tx, [2**63], "numeric") == [2**63]
        assert select(tx, [1, None]) == [1, None]
        assert select(tx, ["a", "b"], "text") == ["a", "b"]
        assert select(tx, []) == []
        found = tx.fetch(Statement("select 1, cast(0.5 as float8), 'a', null", is_binary=True))
        assert found == [(1, 0.5, "a", None)]

    world.read(check)


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_a_statement_that_is_planned_by_its_values_is_never_prepared(world: World) -> None:
    """The server plans a prepared one for average values, after some executions."""
    sql, values = "select count(*) from device_state where group_id = :home", {"home": 1}

    def count_prepared(tx: Tx, *, is_planned_by_values: bool) -> int:
        for _ in range(12):
            tx.fetch(Statement(sql, is_planned_by_values=is_planned_by_values), **values)
        found = "select count(*) from pg_prepared_statements where statement like :text"
        return int(tx.fetch(Statement(found), text="%count(*) from device_state%")[0][0])

    assert world.read(lambda tx: count_prepared(tx, is_planned_by_values=True)) == 0
    assert world.read(lambda tx: count_prepared(tx, is_planned_by_values=False)) == 1
