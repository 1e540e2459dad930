"""Leases as they are stored: in columns of the rows that they are about, or by a name."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from longwire.clock import Moment
from longwire.store.database import Database, Tx
from longwire.store.statement import Statement
from longwire.work.leases import LeaseStore, UnsharedLeases

CLAIM = """
update {table}
set {token}
    {until} = :until
where {row}
    and {until} <= :now
    {only}
"""

RENEW = """
update {table}
set {until} = :until
where {row}
    and {held}
    {only}
"""

LIST_TOKENS = """
select {key}, {token}
from {table}
where {key} {in:keys}
    {only}
"""

RELEASE_ALL = """
update {table}
set {until} = 0
where {until} > 0
    {only}
"""

INSERT_NAME = Statement("""
insert into lease (name, holder, until_at)
values (:name, '', 0)
on conflict (name) do nothing
""")


class LeasedRows:
    """The leases of a table's rows: the fencing token of the last claim, and when it expires.

    Without a column for the token, the key itself changes with each step that is done under the
    lease, so nobody does it again.
    """

    def __init__(
        self,
        table: str,
        *key: str,
        token: str | None = None,
        is_text: bool = False,
        until: str = "lease_until",
        only: str = "",
    ) -> None:
        """`only` is a further condition, from its `and` on. A token may be stored as a text."""
        value = "cast(:token as text)" if is_text else ":token"
        pieces: dict[str, Any] = {
            "table": table,
            "row": "\n    and ".join(f"{each} = :{each}" for each in key),
            "until": until,
            "only": only,
        }
        self._key = key
        self._claim = Statement(CLAIM, token=f"{token} = {value}," if token else "", **pieces)
        self._renew = Statement(RENEW, held=f"{token} = {value}" if token else "true", **pieces)
        self._list_tokens = Statement(LIST_TOKENS, key=key[0], token=token or "null", **pieces)
        self._release_all = Statement(RELEASE_ALL, **pieces)

    def claim(self, tx: Tx, *key: Any, token: int = 0, until: Moment) -> bool:
        """False while another lease on the row has not expired."""
        return tx.run(self._claim, **self._name(key), token=token, until=until, now=tx.now) == 1

    def renew(self, tx: Tx, *key: Any, token: int, until: Moment) -> bool:
        """Set when a lease ends; False if somebody else has claimed it since."""
        return tx.run(self._renew, **self._name(key), token=token, until=until) == 1

    def list_lost(self, tx: Tx, tokens: Mapping[Any, int]) -> list[Any]:
        """Those that somebody else has claimed since, or that nobody may hold any more."""
        held = {key: str(token) for key, token in tx.fetch(self._list_tokens, keys=tokens)}
        return [key for key, token in tokens.items() if held.get(key) != str(token)]

    def release_all(self, tx: Tx) -> None:
        """On an embedded database, where no process but this one can hold a lease."""
        tx.run(self._release_all)

    def _name(self, key: Collection[Any]) -> dict[str, Any]:
        return dict(zip(self._key, key, strict=True))


class _NamedLeases(LeasedRows):
    """Leases that are about no row: of what one process does for all of them."""

    def claim(self, tx: Tx, *key: Any, token: int = 0, until: Moment) -> bool:
        tx.run(INSERT_NAME, **self._name(key))
        return super().claim(tx, *key, token=token, until=until)


NAMED_LEASES = _NamedLeases("lease", "name", token="holder", is_text=True, until="until_at")


class StoredLeases(LeaseStore[str]):
    """The leases of rows with a key of one column, each method in a transaction of its own."""

    def __init__(self, database: Database, rows: LeasedRows) -> None:
        self._database = database
        self._rows = rows

    async def claim(self, key: str, token: int, until: Moment) -> bool:
        return await self._database.write(
            lambda tx: self._rows.claim(tx, key, token=token, until=until)
        )

    async def renew(self, tokens: Mapping[str, int], until: Moment) -> Collection[str]:
        return await self._database.write(partial(self._renew, tokens=tokens, until=until))

    async def list_lost(self, tokens: Mapping[str, int]) -> Collection[str]:
        return await self._database.read(lambda tx: self._rows.list_lost(tx, tokens))

    async def release(self, tokens: Mapping[str, int]) -> None:
        await self._database.write(partial(self._renew, tokens=tokens, until=0))

    def _renew(self, tx: Tx, tokens: Mapping[str, int], until: Moment) -> Collection[str]:
        return [
            key
            for key, token in tokens.items()
            if not self._rows.renew(tx, key, token=token, until=until)
        ]


def open_named_leases(database: Database) -> LeaseStore[str]:
    """For what every process of a service tries to do; an embedded database has only one."""
    if database.engine_name == "sqlite":
        return UnsharedLeases()
    return StoredLeases(database, NAMED_LEASES)
