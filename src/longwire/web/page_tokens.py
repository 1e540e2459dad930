"""The nextToken of paginated lists: an encrypted cursor.

It contains the key of the last row and is bound to the caller, the operation and all parameters but
`limit`, so it reveals nothing, cannot be forged and is useless for another list.
"""

from collections.abc import Iterable
from typing import Protocol

import msgspec

from longwire.dataclass import dataclass
from longwire.errors import invalid_field
from longwire.model import Actor, Page, PageRequest
from longwire.seal import Keyring, UnsealError

# A list is the same whatever is shown of its items.
_UNBOUND_FIELDS = {"limit", "next_token", "fields"}


class PagedInput(Protocol):
    """A query, or a body, with the fields of a paginated list."""

    @property
    def limit(self) -> int | None: ...

    @property
    def next_token(self) -> str | None: ...

    @property
    def __struct_fields__(self) -> tuple[str, ...]: ...


class HasLastKey(Protocol):
    """A page; `last_key` is set if there are more."""

    @property
    def last_key(self) -> tuple[int | str, ...] | None: ...


@dataclass(frozen=True, slots=True)
class PageTokens:
    """Decodes and encodes the page tokens of one operation for one caller."""

    keyring: Keyring
    actor: Actor
    operation: str
    items_default: int

    def page_request(self, query: PagedInput) -> PageRequest:
        limit = self.items_default if query.limit is None else query.limit
        if query.next_token is None:
            return PageRequest(limit)
        try:
            key = self.keyring.unseal(query.next_token, self._purpose(query))
        except UnsealError:
            raise invalid_field(
                "next_token", "does not belong to this list; start without it"
            ) from None
        return PageRequest(limit, tuple(msgspec.json.decode(key, type=list[int | str])))

    def next_token(self, query: PagedInput, page: HasLastKey) -> str | None:
        if page.last_key is None:
            return None
        key = msgspec.json.encode(page.last_key).decode()
        return self.keyring.seal(key, self._purpose(query))

    def _purpose(self, query: PagedInput) -> str:
        bound = {
            name: getattr(query, name)
            for name in query.__struct_fields__
            if name not in _UNBOUND_FIELDS
        }
        parameters = msgspec.json.encode(bound, order="deterministic").decode()
        return f"page|{self.operation}|{self.actor.kind}:{self.actor.id}|{parameters}"


def paginate_names(names: Iterable[str], request: PageRequest) -> Page[str]:
    """Paginate a fixed set of names, in alphabetical order."""
    after = "" if request.after is None else str(request.after[0])
    remaining = sorted(name for name in names if name > after)
    items = remaining[: request.limit]
    return Page(items, (items[-1],) if len(remaining) > len(items) else None)
