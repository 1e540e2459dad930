"""Reads the bodies of requests, within the limits of their routes and of the memory."""

from longwire.web.asgi import Receive
from longwire.web.body_budget import BodyBudget
from longwire.web.fields import InputLimits
from longwire.web.routing import Request, Route
from longwire.web.validation import check_size
from longwire.work.turns import current_caller


class ClientDisconnected(Exception):
    """The client closed the connection before its request was complete."""


class BodyReader:
    """Reads bodies, and counts those that do not arrive at once."""

    def __init__(self, limits: InputLimits, budget: BodyBudget) -> None:
        self._limits = limits
        self._budget = budget

    def size_max(self, route: Route) -> int:
        if route.is_bulk:
            return self._limits.bulk_body_bytes_max
        everybodys = self._limits.body_bytes_max
        return min(route.body_bytes_max or everybodys, everybodys)

    async def read(self, request: Request, route: Route, receive: Receive) -> bytes:
        """The whole body; `release` must be called when the request is done."""
        size_max = self.size_max(route)
        declared = request.headers.get(b"content-length")
        if declared is not None and declared.isdigit():
            check_size(int(declared), size_max)
        message = await receive()
        if not message.get("more_body") and message["type"] == "http.request":
            body: bytes = message.get("body", b"")
            check_size(len(body), size_max)
            return body
        if route.authenticate is not None:
            await route.authenticate(request)
        chunks: list[bytes] = []
        size = 0
        while True:
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            check_size(size, size_max)
            self._charge(request, len(chunks[-1]))
            if not message.get("more_body"):
                return b"".join(chunks)
            message = await receive()

    def release(self, request: Request) -> None:
        if request.charged_bytes:
            self._budget.release(request.charged_to, request.charged_bytes)

    def _charge(self, request: Request, count: int) -> None:
        """Count bytes of a body that does not arrive at once; only those take long or are large."""
        request.charged_to = request.charged_to or current_caller.get().owner
        self._budget.charge(request.charged_to, count)
        request.charged_bytes += count
