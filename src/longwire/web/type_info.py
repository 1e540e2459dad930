"""What type annotations say about the wire: names, nested structs, and limits from the settings."""

import functools
import sys
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from longwire.dataclass import dataclass
from longwire.web.fields import DATE_MARK, InputLimits

S = TypeVar("S", bound=msgspec.Struct)


@functools.cache
def wire_names(struct: type[msgspec.Struct]) -> Mapping[str, str]:
    """The wire name of each field, by its attribute name."""
    return {field.name: field.encode_name for field in msgspec.structs.fields(struct)}


@dataclass(frozen=True, slots=True)
class FieldBound:
    """A limit from the settings on one field, or on each item of it."""

    field: str
    wire_name: str
    limit: str
    unit: str
    per_item: bool


def nested_structs(struct: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """The struct itself, and every struct nested in it."""
    yield struct
    for field in msgspec.structs.fields(struct):
        inner = struct_type(field.type) or struct_type(item_type(field.type))
        if inner is not None:
            yield from nested_structs(inner)


@functools.cache
def bounded_struct_fields(struct: type[msgspec.Struct]) -> Sequence[str]:
    """The fields that hold structs, or lists of them, with a limit from the settings inside."""
    return [
        field.name
        for field in msgspec.structs.fields(struct)
        if (inner := struct_type(field.type) or struct_type(item_type(field.type)))
        and any(field_bounds(each) for each in nested_structs(inner))
    ]


@functools.cache
def field_bounds(struct: type[msgspec.Struct]) -> Sequence[FieldBound]:
    found: list[FieldBound] = []
    for field in msgspec.structs.fields(struct):
        for per_item, annotated in ((False, field.type), (True, item_type(field.type))):
            found += [
                FieldBound(field.name, field.encode_name, extra["limit"], extra["unit"], per_item)
                for extra in type_limits(annotated)
            ]
    return found


@functools.cache
def has_bounds(struct: type[msgspec.Struct]) -> bool:
    """Whether the settings bound anything in the struct, or in one nested in it."""
    return bool(field_bounds(struct) or bounded_struct_fields(struct))


def type_limits(annotated: Any) -> Iterator[Mapping[str, str]]:
    """The limits that `limited_by` put on a type."""
    if typing.get_origin(annotated) is Annotated:
        base, *metas = typing.get_args(annotated)
        for meta in metas:
            if isinstance(meta, Meta) and meta.extra and "limit" in meta.extra:
                yield meta.extra
        yield from type_limits(base)
    elif is_union(annotated):
        for option in typing.get_args(annotated):
            yield from type_limits(option)


def is_date(annotated: Any) -> bool:
    if typing.get_origin(annotated) is Annotated:
        base, *metas = typing.get_args(annotated)
        marked = any(isinstance(meta, Meta) and meta.extra == DATE_MARK for meta in metas)
        return marked or is_date(base)
    return is_union(annotated) and any(map(is_date, typing.get_args(annotated)))


def is_union(annotated: Any) -> bool:
    return typing.get_origin(annotated) in (typing.Union, types.UnionType)


def type_options(annotated: Any) -> list[Any]:
    """The members of a union, without annotations."""
    if typing.get_origin(annotated) is Annotated:
        return type_options(typing.get_args(annotated)[0])
    if is_union(annotated):
        return [option for each in typing.get_args(annotated) for option in type_options(each)]
    return [annotated]


def struct_type(annotated: Any) -> type[msgspec.Struct] | None:
    for option in type_options(annotated):
        if isinstance(option, type) and issubclass(option, msgspec.Struct):
            return option
    return None


def item_type(annotated: Any) -> Any | None:
    for option in type_options(annotated):
        if typing.get_origin(option) is list:
            return typing.get_args(option)[0]
    return None


def items_max(annotated: Any, limits: InputLimits) -> int:
    """The maximum length of a list, by its type or by a setting."""
    if typing.get_origin(annotated) is Annotated:
        base, *metas = typing.get_args(annotated)
        if typing.get_origin(base) is list:
            return min(_length_max(meta, limits) for meta in metas)
        return items_max(base, limits)
    options = typing.get_args(annotated) if is_union(annotated) else ()
    return min((items_max(each, limits) for each in options), default=sys.maxsize)


def _length_max(meta: Meta, limits: InputLimits) -> int:
    if meta.extra and "limit" in meta.extra:
        return int(getattr(limits, meta.extra["limit"]))
    return sys.maxsize if meta.max_length is None else meta.max_length


@functools.cache
def strict_struct(struct: type[S]) -> type[S]:
    """The same type, but unknown members are errors; also in the objects that it contains."""
    changed: list[Any] = []
    for each in msgspec.structs.fields(struct):
        strict = _strict_type(each.type)
        if strict is not each.type:
            default = msgspec.field(  # type: ignore[call-overload]
                name=each.encode_name, default=each.default, default_factory=each.default_factory
            )
            changed.append((each.name, strict, default))
    return msgspec.defstruct(  # type: ignore[return-value]
        struct.__name__, changed, bases=(struct,), forbid_unknown_fields=True, kw_only=True
    )


def _strict_type(annotated: Any) -> Any:
    if isinstance(annotated, type) and issubclass(annotated, msgspec.Struct):
        return strict_struct(annotated)
    inner = typing.get_args(annotated)
    if typing.get_origin(annotated) is Annotated:
        base = _strict_type(inner[0])
        return annotated if base is inner[0] else Annotated[(base, *inner[1:])]
    if typing.get_origin(annotated) is list:
        item = _strict_type(inner[0])
        return annotated if item is inner[0] else list[item]  # type: ignore[valid-type]
    if is_union(annotated):
        options = tuple(_strict_type(each) for each in inner)
        is_same = all(a is b for a, b in zip(options, inner, strict=True))
        return annotated if is_same else typing.Union[options]  # noqa: UP007
    return annotated
