"""A full disk: a limit on the pages of SQLite, which refuses those above it as a disk would."""

from collections.abc import Callable
from typing import Any

from longwire.errors import Unavailable
from longwire.store.database import Tx
from tests.waiting import eventually
from tests.world import World

UNLIMITED_PAGES = 1_073_741_823


def pragma(name: str) -> Callable[[Tx], Any]:
    return lambda tx: tx.connection.exec_driver_sql(f"pragma {name}").scalar()


def fill_disk(world: World, *, free_pages: int) -> None:
    pages = world.write(pragma("page_count"))
    world.write(pragma(f"max_page_count = {pages + free_pages}"))


def free_disk(world: World) -> None:
    """Tried again: what the service itself writes meanwhile fails in the same transaction."""

    def has_room() -> bool:
        try:
            world.write(pragma(f"max_page_count = {UNLIMITED_PAGES}"))
        except Unavailable:
            return False
        return True

    eventually(has_room)
