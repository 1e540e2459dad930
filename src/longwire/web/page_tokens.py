"""The nextToken: a sealed bookmark that only its caller can use, for the same question.

Inside is the key of the last row. It is encrypted and bound to the caller, the operation and all
parameters but `limit`, so it says nothing, cannot be made up and opens nobody else's list.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from longwire.errors import wrong
from longwire.model import Actor, Page, PageRequest
from longwire.seal import BrokenSeal, Keyring

_NOT_PART_OF_THE_QUESTION = {"limit", "next_token"}


class Asked(Protocol):
    """A question that is answered in pages: a query, or a body with the same two members."""

    limit: int | None
    next_token: str | None

    @property
    def __struct_fields__(self) -> tuple[str, ...]: ...


class LastKey(Protocol):
    """What was answered last, when there is more."""

    @property
    def last_key(self) -> tuple[int | str, ...] | None: ...


@dataclass(frozen=True, slots=True)
class PageSeal:
    keyring: Keyring
    actor: Actor
    operation: str
    items_default: int

    def open(self, query: Asked) -> PageRequest:
        limit = self.items_default if query.limit is None else query.limit
        if query.next_token is None:
            return PageRequest(limit)
        try:
            key = self.keyring.unseal(query.next_token, self._purpose(query))
        except BrokenSeal:
            raise wrong("next_token", "does not belong to this list; start without it") from None
        return PageRequest(limit, tuple(msgspec.json.decode(key, type=list[int | str])))

    def close(self, query: Asked, page: LastKey) -> str | None:
        if page.last_key is None:
            return None
        key = msgspec.json.encode(page.last_key).decode()
        return self.keyring.seal(key, self._purpose(query))

    def _purpose(self, query: Asked) -> str:
        question = {
            name: getattr(query, name)
            for name in query.__struct_fields__
            if name not in _NOT_PART_OF_THE_QUESTION
        }
        asked = msgspec.json.encode(question, order="deterministic").decode()
        return f"page|{self.operation}|{self.actor.kind}:{self.actor.id}|{asked}"


def page_of_names(names: Iterable[str], request: PageRequest) -> Page[str]:
    """A piece of a list that is kept in the code: the names in their order."""
    after = "" if request.after is None else str(request.after[0])
    left = sorted(name for name in names if name > after)
    items = left[: request.limit]
    return Page(items, (items[-1],) if len(left) > len(items) else None)
