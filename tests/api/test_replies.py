"""Replies that are filled by name: every member is given, by the value or by whoever shows it."""

import ast
import importlib
import pkgutil
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

import longwire.api
from longwire.api.replies import Page, Shown, find_converter
from longwire.model import ChannelPurpose
from longwire.model import Page as PageValue
from longwire.web.fields import DateText, EpochSeconds, Reply
from longwire.web.type_info import type_options

MODULES = [
    importlib.import_module(each.name)
    for each in pkgutil.walk_packages(longwire.api.__path__, "longwire.api.")
    if not each.ispkg
]


def list_shapes(base: type[Any] = Shown) -> Iterator[type[Shown[Any]]]:
    for each in base.__subclasses__():
        if each.__module__.startswith("longwire."):
            yield each
        yield from list_shapes(each)


def value_of(shape: type[Any]) -> type[Any]:
    """The type of the values that a reply shows."""
    for base in shape.__mro__:
        for each in getattr(base, "__orig_bases__", ()):
            if typing.get_origin(each) is Shown:
                return typing.cast("type[Any]", typing.get_args(each)[0])
    raise AssertionError(shape)


def types_of(value: type[Any]) -> dict[str, Any]:
    """The types of what a value has, by name."""
    hints = typing.get_type_hints(value)
    for base in value.__mro__:
        for name, each in vars(base).items():
            if isinstance(each, property) and each.fget is not None:
                hints.setdefault(name, typing.get_type_hints(each.fget)["return"])
    return hints


def list_calls(module: types.ModuleType) -> Iterator[tuple[type[Any], set[str | None]]]:
    """Each call of `show` in a module: of which reply, and what is given besides the value."""
    assert module.__file__ is not None
    with open(module.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    called = {id(each.func): each for each in ast.walk(tree) if isinstance(each, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "show":
            shape = vars(module).get(ast.unparse(node.value))
            if isinstance(shape, type) and issubclass(shape, Shown):
                call = called.get(id(node))
                yield shape, {each.arg for each in call.keywords} if call else set()


def find_missing(shape: type[Any], given: set[str | None]) -> set[str]:
    """The members that nothing gives."""
    members = {each.name for each in msgspec.structs.fields(shape)}
    return members - types_of(value_of(shape)).keys() - given


CALLS = [(*each, module.__name__) for module in MODULES for each in list_calls(module)]


def test_every_member_of_a_reply_is_given() -> None:
    assert len(CALLS) > 2
    for shape, given, module in CALLS:
        members = {each.name for each in msgspec.structs.fields(shape)}
        assert None not in given, f"{module}: {shape.__name__} is given members without a name"
        assert given <= members, f"{module}: {shape.__name__}"
        assert not find_missing(shape, given), f"{module}: {shape.__name__}"


def fits(wire: Any, value: Any) -> bool:
    """Whether a member of a reply may have what a value of this type becomes."""
    if find_converter(wire) is not None or Any in (wire, value):
        return True
    wire_kinds, value_kinds = kinds(wire), kinds(value)
    is_optional = type(None) in value_kinds
    return value_kinds <= wire_kinds if is_optional else value_kinds - {type(None)} <= wire_kinds


def kinds(annotated: Any) -> set[Any]:
    """The types on the wire: an enum is a text, a tuple a list."""
    found: set[Any] = set()
    for each in type_options(annotated):
        origin = typing.get_origin(each) or each
        if origin is typing.Literal:
            found |= {type(word) for word in typing.get_args(each)}
        elif origin is tuple:
            found.add(list)
        elif isinstance(origin, type) and issubclass(origin, str):
            found.add(str)
        else:
            found.add(origin)
    return found


@pytest.mark.parametrize("shape", list(list_shapes()), ids=lambda each: each.__name__)
def test_what_is_shown_has_the_type_of_its_member(shape: type[Shown[Any]]) -> None:
    held = types_of(value_of(shape))
    given = {name for called, names, _ in CALLS if called is shape for name in names}
    for member in msgspec.structs.fields(shape):
        if member.name in held and member.name not in given:
            assert fits(member.type, held[member.name]), member.name


def test_no_reply_has_what_is_sealed() -> None:
    for shape in list_shapes(Reply):
        for name in shape.__struct_fields__:
            assert not any(word in name for word in ("sealed", "digest", "secret_hash")), shape


# --- how it is filled ---


@dataclass(frozen=True)
class Key:
    id: str
    made_at: int
    sealed_secret: str = "secret"
    ends_at: int | None = None


@dataclass(frozen=True)
class Ring:
    name: str
    keys: tuple[Key, ...]
    main: Key | None = None


class KeyReply(Shown[Key]):
    id: str = msgspec.field(name="keyId")
    made_at: DateText
    ends_at: EpochSeconds | None = None


class RingReply(Shown[Ring]):
    keys: list[KeyReply]
    main: KeyReply | None = None
    total: int | None = None


def test_a_reply_has_the_members_that_it_names() -> None:
    keys = (Key("k", 1_000_000, ends_at=2_000_000), Key("l", 0))
    assert msgspec.to_builtins(RingReply.show(Ring("r", keys), total=2)) == {
        "keys": [
            {"keyId": "k", "madeAt": "1970-01-01T00:00:01.000Z", "endsAt": 2},
            {"keyId": "l", "madeAt": "1970-01-01T00:00:00.000Z"},
        ],
        "total": 2,
    }


def test_what_is_given_goes_before_what_the_value_has() -> None:
    assert KeyReply.show(Key("k", 0), id="other").id == "other"


def test_a_member_that_nothing_gives_is_an_error_even_if_it_may_be_absent() -> None:
    with pytest.raises(AttributeError, match="total"):
        RingReply.show(Ring("r", ()))
    assert find_missing(RingReply, set()) == {"total"}


class KeyPage(Page[KeyReply]):
    pass


def test_a_page_shows_its_items() -> None:
    class Tokens:
        def next_token(self, query: object, page: object) -> str:
            return "more"

    context: Any = types.SimpleNamespace(page_tokens=Tokens())
    query: Any = None
    page = KeyPage.show(context, query, PageValue([Key("k", 0)]), KeyReply.show)
    assert ([each.id for each in page.items], page.next_token) == (["k"], "more")


@pytest.mark.parametrize(
    "wire, value, is_fit",
    [
        (str, str, True),
        (str | None, str, True),
        (str, str | None, False),
        (list[str], tuple[str, ...], True),
        (str, int, False),
        (str, typing.Literal["a", "b"], True),
        (str, ChannelPurpose, True),
        (DateText | None, int | None, True),
        (dict[str, Any], str, False),
    ],
)
def test_types_that_fit(wire: Any, value: Any, is_fit: bool) -> None:
    assert fits(wire, value) is is_fit
