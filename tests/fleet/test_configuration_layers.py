"""Layers of configurations: any of them merge as RFC 7396 says, and every value has its source."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.fleet.configuration_layers import (
    NOT_REPORTED,
    Layer,
    Source,
    find_differences,
    is_deep,
    is_same,
    list_leaves,
    merge_layers,
    parse_object,
    split_inherited,
    to_plain,
)

names = st.sampled_from(["a", "b", "c"])
scalars = st.one_of(st.booleans(), st.integers(-2, 2), st.sampled_from(["", "x", 1.5, 1.0]))


def objects(*, nulls: bool) -> st.SearchStrategy[dict[str, Any]]:
    leaves = st.one_of(scalars, st.none()) if nulls else scalars
    values = st.recursive(
        st.one_of(leaves, st.lists(scalars, max_size=2)),
        lambda inner: st.dictionaries(names, inner, max_size=3),
        max_leaves=6,
    )
    return st.dictionaries(names, values, max_size=3)


def rfc_7396(target: Any, patch: Any) -> Any:
    """The pseudocode of the RFC, word for word."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = rfc_7396(result.get(name), value)
    return result


def layers_of(patches: list[dict[str, Any]]) -> list[Layer]:
    return [Layer(Source("group", str(number)), patch) for number, patch in enumerate(patches)]


def at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value[name]
    return value


@pytest.mark.slow
@given(st.lists(objects(nulls=True), max_size=4))
def test_layers_merge_as_the_rfc_says_and_every_value_is_from_its_last_layer(
    patches: list[dict[str, Any]],
) -> None:
    merged = merge_layers(layers_of(patches))
    expected: Any = {}
    for patch in patches:
        expected = rfc_7396(expected, patch)
    assert to_plain(merged) == expected
    assert not is_deep(expected)
    for leaf in list_leaves(merged):
        assert is_same(at(expected, leaf.path), leaf.value)
        number = int(leaf.source.id)
        if not isinstance(leaf.value, dict):
            assert is_same(at(patches[number], leaf.path), leaf.value)
        # Without that layer and those above it the value would not be there, or be another one's.
        below = list_leaves(merge_layers(layers_of(patches[:number])))
        assert (leaf.path, leaf.source) not in [(each.path, each.source) for each in below]
        above = merge_layers(layers_of(patches)[number:])
        assert leaf in list(list_leaves(above))


@pytest.mark.slow
@given(objects(nulls=False), objects(nulls=False))
def test_a_configuration_is_its_inherited_part_and_the_rest(
    own: dict[str, Any], default: dict[str, Any]
) -> None:
    inherited, rest = split_inherited(own, default)
    assert is_same(rfc_7396(inherited, rest), own)
    for leaf in list_leaves(merge_layers(layers_of([inherited]))):
        assert is_same(at(default, leaf.path), leaf.value)
    assert split_inherited(own, own) == (own, {})
    assert split_inherited(own, {}) == ({}, own)


@pytest.mark.slow
@given(objects(nulls=False), objects(nulls=False))
def test_what_is_reported_as_it_should_be_has_no_differences(
    wanted: dict[str, Any], beyond: dict[str, Any]
) -> None:
    merged = merge_layers(layers_of([wanted]))
    assert list(find_differences(merged, rfc_7396(beyond, wanted))) == []
    for difference in find_differences(merged, beyond):
        assert is_same(at(wanted, difference.path), difference.expected)
        if difference.reported is not NOT_REPORTED:
            assert not is_same(difference.reported, difference.expected)


def test_defaults_that_are_not_reported_are_no_difference() -> None:
    default, group = Source("default", "tracker"), Source("group", "1")
    merged = merge_layers([Layer(default, {"a": 1, "b": 2}), Layer(group, {"c": {"d": True}})])
    assert [each.path for each in find_differences(merged, {"a": 1.0})] == [("c", "d")]
    found = list(find_differences(merged, {"a": True, "c": {"d": 1}}))
    assert found == [(("a",), 1, True), (("c", "d"), True, 1)]


@pytest.mark.parametrize(
    "text", ["", "any text", "[1]", "{", '{"a": ' * 17 + "1" + "}" * 17, "{" + " " * 16_384 + "}"]
)
def test_what_is_no_object_of_a_fair_size_is_not_parsed(text: str) -> None:
    assert parse_object(text) is None
    assert parse_object("{}") == {}
    assert parse_object('{"a": ' * 16 + "1" + "}" * 16) is not None
