"""Statements: SQL as values, written once and rendered once for each engine.

A statement is text, a clause a line, with parameters (`:name`) and with pieces in braces where the
engines differ or where a condition is put in. Nobody looks into the text of a piece or changes it;
what depends on it is decided by whoever chooses the piece. A `Tx` runs statements:

    LIST_NAMES = Statement(
        '''
    select id, name
    from device
    where number {in:numbers}
        {slot}
    ''',
        into=DeviceName,
    )
    names = tx.fetch(LIST_NAMES, numbers=[7, 8], slot=0)

| Piece | On SQLite | On PostgreSQL |
|---|---|---|
| `{in:ids}`: one of the values of a parameter | `in (select value from json_each(:ids))` | `= any(:ids)` |
| `{array:ids}`: such a parameter itself | `:ids`, in JSON | `:ids`, an array |
| `{rows:ids t.id}`: integers as a table | `(select value as id from json_each(:ids)) t` | `unnest(cast(:ids as bigint[])) t (id)` |
| `{slot}`, `{slot:s}`, `{slot:r=s}`: a condition | | `and slot = :slot`, `and s.slot = :slot`, `and r.slot = s.slot` |
| `{index:name}`, behind a table: read by this index | `indexed by name` | |
| `{lock}`, `{lock:d}` | | `for update`, `for update of d` |
| `{skip_locked}`, `{skip_locked:d}` | | the same with `skip locked` |
| `{sqlite:…}`, `{postgres:…}` | the text | the text |
| `{name}`: another piece, given by name | | |
"""  # noqa: E501 (a table)

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar, overload

from longwire.store.engines.binary_arrays import encode_bigints

T = TypeVar("T")

# What a text is made of: pieces, parameters, and what is between them. A cast is no parameter.
_TOKENS = re.compile(r"\{(\w+)(?::([^{}]*))?\}|(?<![:\w]):([a-z_]\w*)")


class Parameter(NamedTuple):
    """A value that a statement is run with."""

    name: str
    is_array: bool = False


_Token = str | Parameter


class Sql:
    """A piece of a statement."""

    def __init__(self, text: str, /, **pieces: "Sql | str") -> None:
        """Pieces are named in braces; one that is a text may have pieces of the table above."""
        self._text = text
        self._pieces = pieces

    def render(self, is_postgres: bool) -> Iterator[_Token]:
        """Its texts and parameters on an engine."""
        end = 0
        for found in _TOKENS.finditer(self._text):
            yield self._text[end : found.start()]
            end = found.end()
            name, argument, parameter = found.groups()
            if parameter is not None:
                yield Parameter(parameter)
            elif name in self._pieces:
                piece = self._pieces[name]
                yield from (Sql(piece) if isinstance(piece, str) else piece).render(is_postgres)
            else:
                yield from _PIECES[name](argument or "", is_postgres)
        yield self._text[end:]


class ByEngine(Sql):
    """A piece whose engines have nothing in common, or too much between the differences."""

    def __init__(self, *, sqlite: Sql | str = "", postgres: Sql | str = "") -> None:
        super().__init__("{sqlite_piece}", sqlite_piece=sqlite)
        self._on_postgres = Sql("{postgres_piece}", postgres_piece=postgres)

    def render(self, is_postgres: bool) -> Iterator[_Token]:
        return self._on_postgres.render(True) if is_postgres else super().render(False)


def join(separator: str, pieces: Sequence[Sql | str]) -> Sql:
    """Pieces one after the other."""
    named = {f"piece_{number}": piece for number, piece in enumerate(pieces)}
    return Sql(separator.join(f"{{{name}}}" for name in named), **named)


def in_unlocked(select: Sql | str) -> Sql:
    """A condition: one of the rows that a limited query finds and nobody else has locked.

    As an array, because PostgreSQL may run a subquery behind `in` once for every row, and finds
    others each time when those it had are locked.
    """
    return ByEngine(
        sqlite=Sql("in ({select})", select=select),
        postgres=Sql("= any(array({select} for update skip locked))", select=select),
    )


class Statement(Generic[T]):
    """A whole statement, and what its rows become: tuples, or what `into` makes of their columns.

    With `is_binary`, PostgreSQL does not write numbers as text: for very many rows. With
    `is_planned_by_values`, it plans the statement each time: after some executions it would use a
    plan for an average group, which is a bad one for a group that has most of the rows.
    """

    @overload
    def __init__(
        self: "Statement[tuple[Any, ...]]",
        text: Sql | str,
        /,
        *,
        into: None = None,
        is_binary: bool = False,
        is_planned_by_values: bool = False,
        **pieces: Sql | str,
    ) -> None: ...

    @overload
    def __init__(
        self,
        text: Sql | str,
        /,
        *,
        into: Callable[..., T],
        is_binary: bool = False,
        is_planned_by_values: bool = False,
        **pieces: Sql | str,
    ) -> None: ...

    def __init__(
        self,
        text: Sql | str,
        /,
        *,
        into: Callable[..., Any] | None = None,
        is_binary: bool = False,
        is_planned_by_values: bool = False,
        **pieces: Any,
    ) -> None:
        self.into = into
        self._sql = Sql(text, **pieces) if isinstance(text, str) else text
        self.postgres_options: Mapping[str, Any] = {
            **({"binary": True} if is_binary else {}),
            **({"prepare": False} if is_planned_by_values else {}),
        }

    def __repr__(self) -> str:
        return self.postgres

    @cached_property
    def sqlite(self) -> str:
        return "".join(
            f":{each.name}" if isinstance(each, Parameter) else each
            for each in self._sql.render(is_postgres=False)
        )

    @cached_property
    def postgres(self) -> str:
        """With `:name`, as it is read."""
        return "".join(
            f":{each.name}" if isinstance(each, Parameter) else each
            for each in self._sql.render(is_postgres=True)
        )

    @cached_property
    def psycopg(self) -> str:
        """For PostgreSQL's driver."""
        return "".join(
            f"%({each.name})s" if isinstance(each, Parameter) else "%%".join(each.split("%"))
            for each in self._sql.render(is_postgres=True)
        )

    @cached_property
    def numbered(self) -> tuple[str, tuple[str, ...]]:
        """For PostgreSQL itself: with `$1`, and the names of the parameters in their order."""
        names: dict[str, int] = {}
        text = "".join(
            f"${names.setdefault(each.name, len(names) + 1)}"
            if isinstance(each, Parameter)
            else each
            for each in self._sql.render(is_postgres=True)
        )
        return text, tuple(names)

    @cached_property
    def sqlite_arrays(self) -> frozenset[str]:
        """Which parameters are arrays."""
        return self._list_arrays(is_postgres=False)

    @cached_property
    def postgres_arrays(self) -> frozenset[str]:
        return self._list_arrays(is_postgres=True)

    def _list_arrays(self, *, is_postgres: bool) -> frozenset[str]:
        return frozenset(
            each.name
            for each in self._sql.render(is_postgres)
            if isinstance(each, Parameter) and each.is_array
        )

    def encode(self, values: Mapping[str, Any], *, is_postgres: bool) -> Mapping[str, Any]:
        """The values, with arrays as the engine takes them."""
        arrays = self.postgres_arrays if is_postgres else self.sqlite_arrays
        encode = _encode_for_postgres if is_postgres else _encode_for_sqlite
        return {**values, **{name: encode(values[name]) for name in arrays}}


def _encode_for_sqlite(values: Collection[Any]) -> str:
    return json.dumps(list(values))


def _encode_for_postgres(values: Collection[Any]) -> Any:
    listed = list(values)
    if listed and all(type(each) is int for each in listed):
        return encode_bigints(listed) or listed
    return listed


def build_limited_delete(
    table: str, key: str, *, within: str = "true", where: str = "true", order: str | None = None
) -> Statement[tuple[Any, ...]]:
    """Delete at most `:most` rows. The key is one within a condition, or a key of the table."""
    return Statement(
        f"""
delete from {table}
where {within}
    and ({key}) in (
        select {key}
        from {table}
        where {within}
            and {where}
        {f"order by {order}" if order else ""}
        limit :most
    )
"""
    )


# --- the pieces that every statement may have ---


def _render_in(name: str, is_postgres: bool) -> Iterator[_Token]:
    yield "= any(" if is_postgres else "in (select value from json_each("
    yield Parameter(name, is_array=True)
    yield ")" if is_postgres else "))"


def _render_array(name: str, is_postgres: bool) -> Iterator[_Token]:
    yield Parameter(name, is_array=True)


def _render_rows(argument: str, is_postgres: bool) -> Iterator[_Token]:
    name, _, column = argument.partition(" ")
    table, _, column = column.partition(".")
    yield "unnest(cast(" if is_postgres else f"(select value as {column} from json_each("
    yield Parameter(name, is_array=True)
    yield f" as bigint[])) {table} ({column})" if is_postgres else f")) {table}"


def _render_slot(argument: str, is_postgres: bool) -> Iterator[_Token]:
    table, _, other = argument.partition("=")
    if is_postgres:
        yield f"and {table}.slot = " if table else "and slot = "
        yield f"{other}.slot" if other else Parameter("slot")


def _render_index(name: str, is_postgres: bool) -> Iterator[_Token]:
    """SQLite prefers the key, which has the whole history, to a partial index with the few rows
    that matter, because it knows neither how many there are.
    """
    if not is_postgres:
        yield f"indexed by {name}"


def _render_lock(table: str, is_postgres: bool) -> Iterator[_Token]:
    """SQLite, with its one writer, needs none."""
    if is_postgres:
        yield f"for update of {table}" if table else "for update"


def _render_skip_locked(table: str, is_postgres: bool) -> Iterator[_Token]:
    if is_postgres:
        yield from _render_lock(table, is_postgres)
        yield " skip locked"


def _render_sqlite(text: str, is_postgres: bool) -> Iterator[_Token]:
    if not is_postgres:
        yield from Sql(text).render(is_postgres)


def _render_postgres(text: str, is_postgres: bool) -> Iterator[_Token]:
    if is_postgres:
        yield from Sql(text).render(is_postgres)


_PIECES: Mapping[str, Callable[[str, bool], Iterator[_Token]]] = {
    "in": _render_in,
    "array": _render_array,
    "rows": _render_rows,
    "slot": _render_slot,
    "index": _render_index,
    "lock": _render_lock,
    "skip_locked": _render_skip_locked,
    "sqlite": _render_sqlite,
    "postgres": _render_postgres,
}
