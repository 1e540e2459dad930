"""Dataclasses that take a third of the time to be made.

Up to Python 3.12 the standard library compiles up to eight functions for each of them, which with
360 classes was a quarter of a start. Here, too, the standard library finds the fields, so
`replace`, `fields` and `asdict` work. But only `__init__` is compiled; the other methods are
closures over the names of the fields, and do the same. A test compares.
"""

import dataclasses
import operator
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, FrozenInstanceError, field
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

_BY_FACTORY = object()  # the default of a parameter whose value is made for each instance


@dataclass_transform(field_specifiers=(field,))
def dataclass(
    *, frozen: bool = False, slots: bool = False, eq: bool = True, kw_only: bool = False
) -> Callable[[type[T]], type[T]]:
    """As in the standard library; parameters that only an `__init__` has are not supported."""

    def build(declared: type[T]) -> type[T]:
        # Else the standard library would describe the signature there, which takes as long again.
        declared.__doc__ = declared.__doc__ or declared.__name__
        cls = dataclasses.dataclass(
            declared, init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
        )
        fields = dataclasses.fields(cls)  # type: ignore[arg-type]
        methods = {"__init__": _build_init(cls, fields, frozen), "__repr__": _build_repr(fields)}
        if eq:
            compared = _build_getter([each.name for each in fields if each.compare])
            methods["__eq__"] = _build_eq(compared)
            methods["__hash__"] = _build_hash(compared) if frozen else None
        if frozen:
            methods |= _FROZEN
        own = declared.__dict__
        for name, method in methods.items():
            # Who defines `__eq__` alone has no `__hash__`, by a None that nobody wrote.
            is_written = name in own and not (name == "__hash__" and own[name] is None)
            if not is_written:
                setattr(cls, name, method)
        return cls

    return build


def _build_init(cls: type, fields: tuple[Field[Any], ...], is_frozen: bool) -> Any:
    scope: dict[str, Any] = {
        "__name__": cls.__module__,
        "_BY_FACTORY": _BY_FACTORY,
        "_set": object.__setattr__,
    }
    last = [each for each in fields if each.kw_only]
    ordered = [each for each in fields if not each.kw_only]
    parameters = [_declare(each, scope) for each in ordered if each.init]
    if any(each.init for each in last):
        parameters += ["*", *(_declare(each, scope) for each in last if each.init)]
    assign = "_set(self, {0!r}, {1})" if is_frozen else "self.{0} = {1}"
    lines = [assign.format(*each) for each in _list_values(fields, scope)]
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n    ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(['self', *parameters])}):\n    {body}", scope)
    scope["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return scope["__init__"]


def _declare(each: Field[Any], scope: dict[str, Any]) -> str:
    """A parameter, with its default."""
    if each.default_factory is not MISSING:
        return f"{each.name}=_BY_FACTORY"
    if each.default is MISSING:
        return each.name
    scope[f"_default_{each.name}"] = each.default
    return f"{each.name}=_default_{each.name}"


def _list_values(
    fields: tuple[Field[Any], ...], scope: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """By the name of a field: what it gets. One without a value is set by `__post_init__`."""
    for each in fields:
        name = each.name
        if each.default_factory is not MISSING:
            scope[f"_make_{name}"] = each.default_factory
            made = f"_make_{name}()"
            yield name, f"{made} if {name} is _BY_FACTORY else {name}" if each.init else made
        elif each.init:
            yield name, name
        elif each.default is not MISSING:
            scope[f"_default_{name}"] = each.default
            yield name, f"_default_{name}"


def _build_getter(names: list[str]) -> Callable[[Any], Any]:
    """What fields have, all at once."""
    return operator.attrgetter(*names) if names else _get_nothing


def _get_nothing(value: object) -> tuple[()]:
    return ()


def _build_eq(get: Callable[[Any], Any]) -> Any:
    def __eq__(self: Any, other: Any) -> Any:
        if other.__class__ is self.__class__:
            return get(self) == get(other)
        return NotImplemented

    return __eq__


def _build_hash(get: Callable[[Any], Any]) -> Any:
    def __hash__(self: Any) -> int:
        return hash(get(self))

    return __hash__


def _build_repr(fields: tuple[Field[Any], ...]) -> Any:
    names = [each.name for each in fields if each.repr]

    def __repr__(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    return __repr__


def _refuse_to_set(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


_FROZEN: dict[str, Any] = {
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _get_state,
    "__setstate__": _set_state,
}
