"""What the door knows of an operation before anyone calls it.

A route is written once, as a line in the table of its noun. What it takes and answers is read off
the handler's own signature, so that the checks, the OpenAPI document and the code cannot disagree.
"""

import inspect
import typing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from longwire.delivery.channels import Dispatch
from longwire.delivery.egress import Egress
from longwire.errors import BadInput
from longwire.ingest import Stored, Unit
from longwire.model import Actor
from longwire.notifications.types.base import Office
from longwire.store.database import Question, Tx
from longwire.web.errors import Places
from longwire.web.page_tokens import PageSeal
from longwire.web.validation import Body, InputLimits, Query, wire_names

ANY_TOKEN = "any valid token"
OWN = "oneself"
NO_TOKEN = "no token"


@dataclass(frozen=True, slots=True)
class Call:
    """A request that has been let in: who acts, on which open transaction."""

    tx: Tx
    actor: Actor
    pages: PageSeal
    keeps_days: Mapping[str, int]  # of the kinds of records, and of metrics; 0 for ever
    limits: InputLimits
    egress: Egress
    writer: int  # the number of this process
    dispatch: Dispatch
    office: Office
    question: Question


@dataclass(slots=True)
class Request:
    """What the door has read of a request."""

    method: str
    path: str
    query_string: bytes
    headers: Mapping[bytes, bytes]
    repeated_headers: set[bytes]
    address: str
    is_secure: bool
    request_id: str

    def called(self, request_id: str) -> "Request":
        """The same under another id."""
        return Request(
            self.method,
            self.path,
            self.query_string,
            self.headers,
            self.repeated_headers,
            self.address,
            self.is_secure,
            request_id,
        )


def bearer_of(request: Request) -> bytes:
    """The token in the header Authorization, with or without its scheme; empty if there is none."""
    if b"authorization" in request.repeated_headers:
        raise BadInput("The header Authorization is given more than once.")
    value = request.headers.get(b"authorization", b"").strip()
    scheme, _, token = value.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" and token else value


@dataclass(slots=True)
class Response:
    """An answer in bytes, for what is not an operation of the interface."""

    status: int
    body: bytes
    media_type: str = "application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One operation: where it is found, what it needs, what it does."""

    method: str
    path: str
    handler: Callable[..., Any]
    needs: str  # a permission, or ANY_TOKEN, or OWN
    rule: str  # which object the permission is asked for
    tag: str
    missing_is_bad: bool = False  # the interface knows no 404 here: 400
    conflicts: str = ""  # when a 409 can happen, and why
    is_bulk: bool = False
    per_minute_max: int = 0  # calls of one caller; 0 for no limit of its own
    is_addition: bool = False  # not in the interface's tables
    is_remembered: bool = False  # its handler lets the transaction remember what it answered
    about: str = ""  # summary and description, when they are not the handler's docstring
    # Read off the handler, unless the same handler serves several kinds.
    query: type[Query] | None = None
    body: type[Body] | None = None
    reply: Any = None
    # What is to be done before the transaction, with none open; its value goes to the handler too.
    prepares: Callable[..., Awaitable[Any]] | None = None
    # Makes the answer out of what was stored; only for routes whose handler makes a `Unit`.
    answers: Callable[[Stored], bytes] | None = None
    places: Places = field(init=False)

    def __post_init__(self) -> None:
        if self.reply is None:
            hints = typing.get_type_hints(self.handler, include_extras=True)
            kinds = [hints[name] for name in inspect.signature(self.handler).parameters]
            query = next((kind for kind in kinds if issubclass(kind, Query)), None)
            body = next((kind for kind in kinds if issubclass(kind, Body)), None)
            object.__setattr__(self, "query", query)
            object.__setattr__(self, "body", body)
            object.__setattr__(self, "reply", hints["return"])
        object.__setattr__(self, "places", _places(self.query, self.body))

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    @property
    def summary(self) -> str:
        return self._words.partition("\n")[0].rstrip(".")

    @property
    def description(self) -> str:
        return self._words.partition("\n")[2].strip()

    @property
    def _words(self) -> str:
        return inspect.cleandoc(self.about or self.handler.__doc__ or "")

    @property
    def operation_id(self) -> str:
        words = self.path.strip("/").replace("/", " ").split()
        return self.method.lower() + "".join(word[0].upper() + word[1:] for word in words)


# Begins to make a unit, which is handed over later, or None for the long way; False if it cannot.
Soon = Callable[[Callable[[Unit | None], None]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRoute:
    """Something served beside the operations: the token endpoint, health, metrics, documents."""

    method: str
    path: str
    handler: Callable[[Request, bytes], Awaitable[Response]]
    needs: str
    rule: str
    tag: str = "Service"
    document: Mapping[str, Any] | None = None  # its entry in the OpenAPI document
    # For the lane: a unit for ingest, from a token and a body, or nothing for the long way;
    # and what is answered once it is stored.
    quick: Callable[[Request, str, bytes], Unit | Soon | None] | None = None
    stored: bytes = b""

    @property
    def operation_id(self) -> str:
        words = self.path.strip("/").replace("/", " ").replace(".", " ").split()
        return self.method.lower() + "".join(word[0].upper() + word[1:] for word in words)


def _places(query: type[Query] | None, body: type[Body] | None) -> Places:
    """Where each parameter stands, under the operation's name for it and under the wire's."""
    places: dict[str, tuple[str, str]] = {}
    for where, struct in (("body", body), ("query", query)):
        if struct is not None:
            names = wire_names(struct)
            places.update({wire: (where, wire) for wire in names.values()})
            places.update({own: (where, wire) for own, wire in names.items()})
    return places


def by_path(routes: Sequence[Route | PlainRoute]) -> dict[str, dict[str, Route | PlainRoute]]:
    """Every path of the interface is fixed, so a dictionary finds it."""
    table: dict[str, dict[str, Route | PlainRoute]] = {}
    for route in routes:
        methods = table.setdefault(route.path, {})
        if route.method in methods:
            raise ValueError(f"{route.method} {route.path} is in the tables twice")
        methods[route.method] = route
    for methods in table.values():
        if "GET" in methods:
            # A HEAD is a GET whose body the server keeps to itself (RFC 9110 wants both).
            methods["HEAD"] = methods["GET"]
    return table
