"""Files of jobs and reports: sealed, in parts of a megabyte at most, each in a row of its own."""

from collections.abc import Iterator

from longwire.store.database import Tx
from longwire.store.statement import Statement, build_limited_delete

PART_BYTES_MAX = 1024 * 1024


class FileParts:
    """The files of a table, by whose they are."""

    def __init__(self, table: str, key: str) -> None:
        self._table = table
        self._insert = Statement(f"""
insert into {table} ({key}, number, content)
values (:owner, :number, :content)
""")
        self._get_last = Statement(
            f"""
select coalesce(max(number), -1)
from {table}
where {key} = :owner
""",
            into=int,
        )
        self._get = Statement(
            f"""
select content
from {table}
where {key} = :owner
    and number = :number
""",
            into=bytes,
        )
        self._delete = build_limited_delete(
            table, "number", within=f"{key} = :owner", order="number"
        )

    def insert(self, tx: Tx, owner: str, number: int, content: bytes) -> None:
        sealed = tx.keyring.seal_bytes(content, self._purpose(owner, number))
        tx.run(self._insert, owner=owner, number=number, content=sealed)

    def append(self, tx: Tx, owner: str, content: bytes) -> None:
        first = tx.fetch(self._get_last, owner=owner)[0] + 1
        for number, part in split(content):
            self.insert(tx, owner, first + number, part)

    def read(self, tx: Tx, owner: str, number: int) -> bytes | None:
        """A part of a file; None if there is none, as behind its end."""
        sealed = tx.first(self._get, owner=owner, number=number)
        if sealed is None:
            return None
        return tx.keyring.unseal_bytes(sealed, self._purpose(owner, number))

    def delete_some(self, tx: Tx, owner: str, most: int) -> int:
        return tx.run(self._delete, owner=owner, most=most)

    def _purpose(self, owner: str, number: int) -> str:
        return f"{self._table}|{owner}|{number}"


def split(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The parts that a file is stored in, with their numbers."""
    for number, start in enumerate(range(0, len(content), PART_BYTES_MAX)):
        yield number, content[start : start + PART_BYTES_MAX]
