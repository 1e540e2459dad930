"""The statements of ingest on PostgreSQL, sent by libpq itself, several in one round trip.

The driver's cursor takes some fifty microseconds of CPU time for a statement, and more in a
pipeline of the driver: in a small commit that is the largest part of all. So the few statements
that every commit of records consists of go to libpq directly, which the driver offers for this.
They are prepared once for each connection, unless a pooler gives every transaction another one.
"""

import itertools
import select
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import InvalidSqlStatementName, error_from_result

from longwire.store.engines.binary_arrays import BinaryArray

Rows = list[tuple[Any, ...]]
OnRows = Callable[[Rows], None]

_IS_BINARY = (pq.Format.TEXT, pq.Format.BINARY)


class _Statement(NamedTuple):
    sql: str
    params: Sequence[bytes | None]
    formats: Sequence[pq.Format]
    on_rows: OnRows | None


class Prepared:
    """The prepared statements of a connection: name by text.

    No name is used twice: the driver deallocates all of them, such as after a rollback, and then it
    is not known which were prepared since.
    """

    def __init__(self) -> None:
        self.names: dict[str, bytes] = {}
        self._numbers = itertools.count()

    def choose_name(self) -> bytes:
        return b"longwire_%d" % next(self._numbers)


_BEGIN = _Statement("BEGIN", (), (), None)
_COMMIT = _Statement("COMMIT", (), (), None)
_SUCCEEDED = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


class StatementPipeline:
    """Statements of a transaction that wait to be sent together."""

    # Called with the text of each.
    observe: Callable[[str], None] = staticmethod(lambda sql: None)

    def __init__(self, connection: psycopg.Connection[Any], prepared: Prepared | None) -> None:
        """`prepared` belongs to the connection; None if nothing may be left there."""
        self._connection = connection
        self._libpq = connection.pgconn
        self._prepared = prepared
        self._waiting: list[_Statement] = []
        self.is_held = False
        self.lift_deadline: Callable[[], None] = lambda: None

    def add(self, sql: str, values: Sequence[Any], on_rows: OnRows | None = None) -> None:
        """A statement with `$1`, `$2`; its values are numbers, texts and binary arrays."""
        type(self).observe(sql)
        params = [_encode(value) for value in values]
        formats = [_IS_BINARY[isinstance(value, BinaryArray)] for value in values]
        self._waiting.append(_Statement(sql, params, formats, on_rows))

    def run(self) -> int:
        """Send all; how many rows the last one has changed. Raises the first error."""
        statements, self._waiting = self._waiting, []
        if not statements:
            return 0
        if self._libpq.transaction_status == pq.TransactionStatus.IDLE:
            statements.insert(0, _BEGIN)
        self._libpq.enter_pipeline_mode()
        try:
            results = self._exchange(statements)
        finally:
            self._leave()
        for each, result in zip(statements, results, strict=True):
            if each.on_rows is not None:
                each.on_rows(self._load(result))
        return results[-1].command_tuples or 0

    def commit(self) -> None:
        """With what still waits."""
        if self._waiting or self._libpq.transaction_status != pq.TransactionStatus.IDLE:
            self._waiting.append(_COMMIT)
            self.run()

    def _exchange(self, statements: Sequence[_Statement]) -> list[pq.abc.PGresult]:
        """Send statements; the result of each. Raises the first error."""
        preparing: dict[str, bytes] = {}
        for each in statements:
            self._send(each, preparing)
        self._libpq.pipeline_sync()
        self._flush()
        results: list[pq.abc.PGresult] = []
        errors: list[pq.abc.PGresult] = []
        fresh: dict[str, bytes] = {}
        for each in statements:
            name = preparing.pop(each.sql, None)
            if name is not None:
                preparation = self._receive()
                if preparation.status in _SUCCEEDED:
                    fresh[each.sql] = name
                else:
                    errors.append(preparation)
            result = self._receive()
            results.append(result)
            if result.status not in _SUCCEEDED:
                errors.append(result)
        self._receive_one()  # the end of the pipeline
        error = error_from_result(errors[0]) if errors else None  # those behind it were not run
        if self._prepared is not None:
            if isinstance(error, InvalidSqlStatementName):
                self._prepared.names.clear()  # a retry of the transaction prepares them again
            self._prepared.names |= fresh
        if error is not None:
            raise error
        return results

    def _leave(self) -> None:
        """A connection on which something is still to be received is of no use any more."""
        if self._libpq.status == pq.ConnStatus.OK:
            try:
                self._libpq.exit_pipeline_mode()
            except psycopg.OperationalError:
                self._connection.close()

    def _send(self, statement: _Statement, preparing: dict[str, bytes]) -> None:
        """Send one; adds it to `preparing` if that is sent before it."""
        sql, params, formats, _ = statement
        if self._prepared is None or not params:
            self._libpq.send_query_params(
                sql.encode(), params, param_formats=formats, result_format=pq.Format.BINARY
            )
            return
        name = self._prepared.names.get(sql) or preparing.get(sql)
        if name is None:
            name = preparing[sql] = self._prepared.choose_name()
            self._libpq.send_prepare(name, sql.encode())
        self._libpq.send_query_prepared(name, params, formats, pq.Format.BINARY)

    def _flush(self) -> None:
        while self._libpq.flush():
            # The server may have to get rid of its responses before it reads on.
            if self._wait(select.POLLIN | select.POLLOUT) & select.POLLIN:
                self._libpq.consume_input()

    def _receive(self) -> pq.abc.PGresult:
        """The result of a statement; behind it there is an empty one."""
        result = self._receive_one()
        if result is None or result.status == pq.ExecStatus.PIPELINE_SYNC:
            raise psycopg.OperationalError("the server has sent no result")
        while self._receive_one() is not None:
            pass
        return result

    def _receive_one(self) -> pq.abc.PGresult | None:
        while self._libpq.is_busy():
            self._wait(select.POLLIN)
            self._libpq.consume_input()
        result = self._libpq.get_result()
        if self._libpq.status != pq.ConnStatus.OK:
            message = self._libpq.get_error_message()
            if result is not None and result.error_field(pq.DiagnosticField.SQLSTATE):
                raise error_from_result(result)
            raise psycopg.OperationalError(message)
        return result

    def _wait(self, events: int) -> int:
        # Not in libpq, which would wait with the interpreter's lock held.
        poll = select.poll()
        poll.register(self._libpq.socket, events)
        return poll.poll()[0][1]

    def _load(self, result: pq.abc.PGresult) -> Rows:
        loader = Transformer(self._connection)
        loader.set_pgresult(result)
        rows: Rows = loader.load_rows(0, result.ntuples, tuple)
        return rows


def _encode(value: Any) -> bytes | None:
    if value is None or isinstance(value, BinaryArray):
        return value
    assert isinstance(value, int | str)
    return str(value).encode()
