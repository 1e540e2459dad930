# Made from _async/pages.py by scripts/generate.py; do not edit.
"""Lists that come in pages."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from longwire_client._sync.transport import Transport
from longwire_client.calls import Call

Item = TypeVar("Item")
Page = TypeVar("Page")


class Pages(Generic[Item, Page]):
    """The items of a list; each page is requested when it is needed.

    Iterate over it for the items, over `pages()` for the pages with what else they say, such as a
    total. Every iteration starts with the first page.
    """

    def __init__(
        self,
        transport: Transport,
        call: Call[Page],
        items: Callable[[Any], Sequence[Item]],
    ) -> None:
        self._transport = transport
        self._call = call
        self._items = items

    def pages(self) -> Iterator[Page]:
        call = self._call
        while True:
            page = self._transport.request(call)
            yield page
            next_token: str | None = getattr(page, "next_token", None)
            if not next_token:
                return
            call = call.with_query(nextToken=next_token)

    def __iter__(self) -> Iterator[Item]:
        for page in self.pages():
            for item in self._items(page):
                yield item

    def first_page(self) -> Page:
        """Only the first page: one request."""
        return self._transport.request(self._call)

    def all(self) -> list[Item]:
        """Every item of every page."""
        return [item for item in self]
