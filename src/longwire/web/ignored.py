"""Names the members and parameters of a request that nothing reads.

They are ignored, because a caller may be written for a newer or older service; but a misspelled
member must not be ignored in silence. Only names are looked at, at the cost of parsing the request
once more without its values. What an operation declares as misplaced is an error: a role, say, that
nothing reads would leave its sender with another one.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec

from longwire.dataclass import dataclass
from longwire.errors import BadInput, FieldError
from longwire.web import validation
from longwire.web.fields import Body, InputLimits
from longwire.web.routing import Request, Response, Route
from longwire.web.type_info import item_type, struct_type

HEADER = b"longwire-ignored"
# Enough to see what is wrong; more than that is no mistake.
NAMES_MAX = 20
NAME_CHARACTERS_MAX = 48
_UNSAFE = re.compile(r"[^A-Za-z0-9_.$@\[\]-]")

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])


@dataclass(frozen=True, slots=True)
class _Names:
    """The members that are read of an object, and those that are objects or lists of them."""

    known: frozenset[str]
    objects: Mapping[str, "_Names"]
    lists: Mapping[str, "_Names"]


@functools.cache
def _names_of(struct: type[msgspec.Struct]) -> _Names:
    objects, lists = {}, {}
    for field in msgspec.structs.fields(struct):
        item: Any = item_type(field.type)
        one, many = struct_type(field.type), item and struct_type(item)
        if one is not None:
            objects[field.encode_name] = _names_of(one)
        elif many is not None:
            lists[field.encode_name] = _names_of(many)
    known = frozenset(each.encode_name for each in msgspec.structs.fields(struct))
    return _Names(known, objects, lists)


def find_ignored_members(raw: bytes, struct: type[msgspec.Struct]) -> tuple[str, ...]:
    """The unknown members of a body, such as `name` or `item.name`; none if it is no object."""
    try:
        found = _find(_MEMBERS.decode(raw), _names_of(struct), "")
        return tuple(dict.fromkeys(islice(found, NAMES_MAX)))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return ()


def _find(members: Mapping[str, msgspec.Raw], names: _Names, prefix: str) -> Iterator[str]:
    if not members.keys() <= names.known:
        yield from (prefix + each for each in members if each not in names.known)
    for name, inner in names.objects.items():
        if name in members and bytes(memoryview(members[name])[:1]) == b"{":
            yield from _find(_MEMBERS.decode(members[name]), inner, f"{prefix}{name}.")
    for name, inner in names.lists.items():
        if name in members and bytes(memoryview(members[name])[:1]) == b"[":
            yield from _find_in_items(_ITEMS.decode(members[name]), inner, f"{prefix}{name}.")


def _find_in_items(
    items: Iterable[Mapping[str, msgspec.Raw]], names: _Names, prefix: str
) -> Iterator[str]:
    if names.objects or names.lists:
        for each in items:
            yield from _find(each, names, prefix)
    else:
        # Of all at once: a batch may have thousands.
        unknown = set().union(*items) - names.known
        yield from (prefix + each for each in sorted(unknown))


def find_ignored_parameters(raw: bytes, struct: type[msgspec.Struct] | None) -> tuple[str, ...]:
    """The unknown parameters of a query."""
    if not raw:
        return ()
    known = _names_of(struct).known if struct is not None else frozenset()
    names = (
        unquote_to_bytes(pair.partition(b"=")[0].replace(b"+", b" ")).decode(errors="replace")
        for pair in raw.split(b"&")
        if pair
    )
    unknown = (name for name in names if name not in known)
    return tuple(dict.fromkeys(islice(unknown, NAMES_MAX)))


def encode_header(names: Iterable[str]) -> bytes:
    """The value of the header: at most a kilobyte of letters that are safe in it."""
    shown = (_UNSAFE.sub("?", name[:NAME_CHARACTERS_MAX]) or "?" for name in names)
    return ", ".join(dict.fromkeys(islice(shown, NAMES_MAX))).encode()


def decode_body(request: Request, route: Route, raw: bytes, limits: InputLimits) -> Body:
    """Decode the body of an operation; the request notes which of its members are ignored."""
    assert route.body is not None
    body = validation.decode_without_ignored(raw, route.body, limits)
    if body is not None:
        return body
    request.ignored += find_ignored_members(raw, route.body)
    misplaced = list(_find_misplaced(raw, route.misplaced))
    try:
        body = validation.decode_body(raw, route.body, limits)
    except BadInput as error:
        if not error.field_errors:
            raise
        raise BadInput(field_errors=[*error.field_errors, *misplaced]) from None
    if misplaced:
        raise BadInput(field_errors=misplaced)
    return body


def _find_misplaced(raw: bytes, places: Mapping[str, str]) -> Iterator[FieldError]:
    """Of the members that belong elsewhere, those that say anything."""
    if not places:
        return
    try:
        members = _MEMBERS.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return  # no object, which is an error of its own
    for name, place in places.items():
        if name in members and bytes(memoryview(members[name])) != b"null":
            yield FieldError(name, f"is not read here: {place}")


def with_header(request: Request, response: Response) -> Response:
    """With the names of what was sent and is not read, if there is any."""
    if not request.ignored:
        return response
    header = (HEADER, encode_header(request.ignored))
    return replace(response, headers=(*response.headers, header))
