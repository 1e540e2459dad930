"""Replies that show values of the model: filled by name, and paged."""

import functools
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, Protocol, Self, TypeVar, cast, get_args, get_origin

import msgspec
from msgspec import Meta

from longwire.model import Page as PageValue
from longwire.web.fields import CONVERTER, Reply
from longwire.web.page_tokens import PagedInput, PageTokens
from longwire.web.type_info import is_union

V = TypeVar("V")
T = TypeVar("T")


class Shown(Reply, Generic[V]):
    """A reply that shows a value: each member is the value's of the same name, or is given.

    Its type may say how the value is converted, as that of a date does. A member that is such a
    reply itself shows its part of the value. Only what is declared as a member is ever shown, so
    a secret of the value cannot slip out.
    """

    @classmethod
    def show(cls, value: V, /, **given: Any) -> Self:
        for name, convert in _members(cls):
            if name not in given:
                part = getattr(value, name)
                given[name] = part if convert is None or part is None else convert(part)
        return cls(**given)


class HasPageTokens(Protocol):
    """The context of a request, as far as a list needs it."""

    @property
    def page_tokens(self) -> PageTokens: ...


class Page(Reply, Generic[T]):
    """A page of a list."""

    items: list[T]
    next_token: str | None = None

    @classmethod
    def show(
        cls,
        context: HasPageTokens,
        query: PagedInput,
        page: PageValue[V],
        show: Callable[[V], T],
        **given: Any,
    ) -> Self:
        items = [show(each) for each in page.items]
        next_token = context.page_tokens.next_token(query, page)
        return cls(items=items, next_token=next_token, **given)


@functools.cache
def _members(shape: type[Shown[Any]]) -> Sequence[tuple[str, Callable[[Any], Any] | None]]:
    """The members of a reply, and how they are converted, if they are."""
    return [(each.name, find_converter(each.type)) for each in msgspec.structs.fields(shape)]


def find_converter(annotated: Any) -> Callable[[Any], Any] | None:
    """What makes a member of this type out of the value's, unless that is one."""
    if is_union(annotated):
        found = map(find_converter, get_args(annotated))
        return next((each for each in found if each is not None), None)
    if get_origin(annotated) is Annotated:
        base, *metas = get_args(annotated)
        for meta in metas:
            if isinstance(meta, Meta) and meta.extra and CONVERTER in meta.extra:
                return cast("Callable[[Any], Any]", meta.extra[CONVERTER])
        return find_converter(base)
    if get_origin(annotated) is list:
        convert = find_converter(get_args(annotated)[0])
        return None if convert is None else lambda parts: [convert(each) for each in parts]
    is_shown = isinstance(annotated, type) and issubclass(annotated, Shown)
    return annotated.show if is_shown else None
