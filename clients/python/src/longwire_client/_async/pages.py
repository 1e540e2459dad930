"""Lists that come in pages."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Generic, TypeVar

from longwire_client._async.transport import AsyncTransport
from longwire_client.calls import Call

Item = TypeVar("Item")
Page = TypeVar("Page")


class AsyncPages(Generic[Item, Page]):
    """The items of a list; each page is requested when it is needed.

    Iterate over it for the items, over `pages()` for the pages with what else they say, such as a
    total. Every iteration starts with the first page.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        call: Call[Page],
        items: Callable[[Any], Sequence[Item]],
    ) -> None:
        self._transport = transport
        self._call = call
        self._items = items

    async def pages(self) -> AsyncIterator[Page]:
        call = self._call
        while True:
            page = await self._transport.request(call)
            yield page
            next_token: str | None = getattr(page, "next_token", None)
            if not next_token:
                return
            call = call.with_query(nextToken=next_token)

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for page in self.pages():
            for item in self._items(page):
                yield item

    async def first_page(self) -> Page:
        """Only the first page: one request."""
        return await self._transport.request(self._call)

    async def all(self) -> list[Item]:
        """Every item of every page."""
        return [item async for item in self]
