"""Our dataclasses are those of the standard library; only making them takes less time."""

import copy
import dataclasses
import inspect
import pickle
from dataclasses import KW_ONLY, FrozenInstanceError, field
from typing import Any

import pytest

from longwire import dataclass as ours

FLAGS: list[dict[str, Any]] = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True, "eq": False},
    {"slots": True, "eq": False},
]


class Plain:
    number: int
    name: str = "a"


class Full:
    """Whatever a field can be."""

    number: int
    note: str = field(default="n", compare=False)
    tags: list[str] = field(default_factory=list)
    secret: str = field(default="s", repr=False)
    _: KW_ONLY
    last: int = 7
    twice: int = field(init=False)
    made: list[int] = field(init=False, default_factory=list)
    fixed: int = field(init=False, default=3)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.number)


class Written:
    number: int

    def __eq__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "written"


class Hashed:
    number: int
    other: int = 0

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 5


class Empty:
    pass


def make(decorator: Any, shape: type, flags: dict[str, Any]) -> Any:
    """The class in a module of its own making, with its name."""
    body = {name: value for name, value in vars(shape).items() if name not in _OF_CLASSES}
    return decorator(**flags)(type(shape.__name__, (), body))


_OF_CLASSES = {"__dict__", "__weakref__"}


def describe(cls: Any, **values: Any) -> dict[str, Any]:
    """Whatever can be seen of it."""
    one, same, other = cls(number=1, **values), cls(number=1, **values), cls(number=2, **values)
    return {
        "parameters": list(map(describe_parameter, inspect.signature(cls).parameters.values())),
        "repr": repr(one),
        "dict": dataclasses.asdict(one),
        "fields": [each.name for each in dataclasses.fields(cls)],
        "replaced": repr(dataclasses.replace(one, number=4)),
        "equal": [one == same, one == other, one == 1, one != same],
        "copy": repr(copy.deepcopy(one)),
        "hash": attempt(lambda: hash(one) == hash(same)),
        "set": attempt(lambda: setattr(one, "number", 3)),
        "delete": attempt(lambda: delattr(one, "number")),
        "takes more": attempt(lambda: setattr(one, "unknown", 3)) is None,
        "missing": attempt(cls),
        "slots": getattr(cls, "__slots__", None),
        "match": cls.__match_args__,
        "qualified": cls.__init__.__qualname__,
        "doc": bool(cls.__doc__),
    }


def describe_parameter(each: inspect.Parameter) -> tuple[str, Any, bool]:
    return each.name, each.kind, each.default is each.empty


def attempt(work: Any) -> Any:
    try:
        return work()
    except (AttributeError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize("flags", FLAGS, ids=lambda flags: "-".join(flags) or "none")
@pytest.mark.parametrize("shape", [Plain, Full, Written, Hashed], ids=lambda shape: shape.__name__)
def test_ours_are_those_of_the_standard_library(shape: type, flags: dict[str, Any]) -> None:
    expected = make(dataclasses.dataclass, shape, flags)
    made = make(ours.dataclass, shape, flags)
    assert describe(made) == describe(expected)


def test_one_without_fields_is_like_another() -> None:
    made = make(ours.dataclass, Empty, {"frozen": True, "slots": True})
    assert made() == made()
    assert hash(made()) == hash(made())
    assert repr(made()) == "Empty()"


@ours.dataclass(frozen=True, slots=True)
class Base:
    number: int


@ours.dataclass(frozen=True, slots=True)
class Derived(Base):
    name: str = "a"


def test_a_frozen_one_is_inherited_and_pickled() -> None:
    one = Derived(1)
    assert pickle.loads(pickle.dumps(one)) == one == Derived(number=1, name="a")
    assert one != Base(1)
    with pytest.raises(FrozenInstanceError):
        one.number = 2  # type: ignore[misc]


def test_a_default_before_a_field_without_one_is_refused() -> None:
    class Wrong:
        name: str = "a"
        number: int

    with pytest.raises((TypeError, SyntaxError)):
        make(ours.dataclass, Wrong, {})
