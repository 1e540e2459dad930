"""Statements: one text for both engines, with pieces that are values."""

import importlib
import pkgutil
from typing import Any, NamedTuple

import pytest

from longwire import store
from longwire.store.engines.binary_arrays import BigintArray
from longwire.store.statement import ByEngine, Sql, Statement, in_unlocked, join
from tests.world import World


@pytest.mark.engine_free
@pytest.mark.parametrize(
    ("text", "sqlite", "postgres"),
    [
        ("id = :id", "id = :id", "id = :id"),
        ("id {in:ids}", "id in (select value from json_each(:ids))", "id = any(:ids)"),
        ("from x({array:ids})", "from x(:ids)", "from x(:ids)"),
        (
            "from {rows:ids t.id}",
            "from (select value as id from json_each(:ids)) t",
            "from unnest(cast(:ids as bigint[])) t (id)",
        ),
        ("{slot}", "", "and slot = :slot"),
        ("{slot:s}", "", "and s.slot = :slot"),
        ("{slot:r=s}", "", "and r.slot = s.slot"),
        ("delivery {index:ix_a}", "delivery indexed by ix_a", "delivery "),
        ("{lock}", "", "for update"),
        ("{lock:d}", "", "for update of d"),
        ("{skip_locked}", "", "for update skip locked"),
        ("{skip_locked:d}", "", "for update of d skip locked"),
        ("{sqlite:instr}{postgres:strpos}(a, :b)", "instr(a, :b)", "strpos(a, :b)"),
        ("{postgres:limit :most}", "", "limit :most"),
        ("select 1::bigint", "select 1::bigint", "select 1::bigint"),
    ],
)
def test_a_piece_is_what_each_engine_needs(text: str, sqlite: str, postgres: str) -> None:
    statement = Statement(text)
    assert (statement.sqlite, statement.postgres) == (sqlite, postgres)


@pytest.mark.engine_free
def test_pieces_are_given_by_name_and_have_pieces_of_their_own() -> None:
    some = in_unlocked(Sql("select seq from {table} {slot}", table="delivery"))
    both = join("\n    and ", ["a = :a", some])
    statement = Statement("where {both}{last}", both=both, last=ByEngine(postgres=" limit :most"))
    assert statement.sqlite == "where a = :a\n    and in (select seq from delivery )"
    assert statement.postgres == (
        "where a = :a\n    and = any(array(select seq from delivery and slot = :slot"
        " for update skip locked)) limit :most"
    )


@pytest.mark.engine_free
def test_a_driver_gets_parameters_in_its_own_spelling() -> None:
    statement = Statement("select :a % 2 where b = :b and c = :a and d {in:ids}")
    assert (
        statement.psycopg == "select %(a)s %% 2 where b = %(b)s and c = %(a)s and d = any(%(ids)s)"
    )
    assert statement.numbered == (
        "select $1 % 2 where b = $2 and c = $1 and d = any($3)",
        ("a", "b", "ids"),
    )


@pytest.mark.engine_free
def test_what_no_piece_is_called_is_an_error() -> None:
    with pytest.raises(KeyError):
        _ = Statement("select {column}").sqlite


@pytest.mark.engine_free
def test_arrays_are_encoded_for_the_engine() -> None:
    statement = Statement("select {in:ids} and b = :b")
    values = {"ids": {7}, "b": [1]}
    assert statement.encode(values, is_postgres=False) == {"ids": "[7]", "b": [1]}
    assert isinstance(statement.encode(values, is_postgres=True)["ids"], BigintArray)
    texts = statement.encode({"ids": ("a", "b"), "b": 1}, is_postgres=True)
    assert texts == {"ids": ["a", "b"], "b": 1}


class Numbered(NamedTuple):
    number: int
    text: str


def test_rows_become_structs_by_position(world: World) -> None:
    listed = "from {rows:numbers t.number} order by t.number"
    pairs = Statement(f"select t.number, 'n' || t.number {listed}", into=Numbered)
    tuples = Statement(f"select t.number, -t.number {listed}")
    numbers = Statement(f"select t.number {listed}", into=int)

    def work(tx: Any) -> list[Any]:
        return [
            tx.fetch(pairs, numbers=(2, 1)),
            tx.fetch(tuples, numbers=(2, 1)),
            tx.fetch(numbers, numbers=(2, 1)),
            tx.fetch(numbers, numbers=()),
            tx.first(pairs, numbers=[3]),
            tx.first(pairs, numbers=[]),
        ]

    assert world.read(work) == [
        [Numbered(1, "n1"), Numbered(2, "n2")],
        [(1, -1), (2, -2)],
        [1, 2],
        [],
        Numbered(3, "n3"),
        None,
    ]


def list_statements() -> dict[str, Statement[Any]]:
    """Those of all modules of the store, by name."""
    found = {}
    for module in pkgutil.walk_packages(store.__path__, "longwire.store."):
        if ".migrations." in module.name:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for each in value.values() if isinstance(value, dict) else [value]:
                if isinstance(each, Statement):
                    found[f"{module.name}.{name}"] = each
    return found


@pytest.mark.engine_free
def test_every_statement_has_its_pieces_and_no_slot_on_sqlite() -> None:
    statements = list_statements()
    assert len(statements) > 2
    for name, each in statements.items():
        assert "slot =" not in each.sqlite, name
        assert each.psycopg and each.numbered
