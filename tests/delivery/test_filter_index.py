"""The index over filters finds every filter that is true, and few others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from longwire.delivery.cel.expressions import EvaluationError, Expression
from longwire.delivery.cel.guards import Guard
from longwire.delivery.matching.filter_index import FilterIndex

PATHS = ("message.kind", "message.data.x", "message.data['y']", "message.tags[0]")
LITERALS = ("'a'", "'b'", "1", "-2", "1.5", "true", "false", "9007199254740993", "null", "2u")
comparisons = st.builds(
    "{} {} {}".format,
    st.sampled_from(PATHS),
    st.sampled_from(("==", "!=", "<", "<=", ">", ">=")),
    st.sampled_from(LITERALS),
)
memberships = st.builds(
    "{} in [{}]".format,
    st.sampled_from(PATHS),
    st.lists(st.sampled_from(LITERALS), min_size=1, max_size=3).map(", ".join),
)
expressions = st.recursive(
    comparisons | memberships,
    lambda inner: (
        st.builds("{} {} {}".format, inner, st.sampled_from(("&&", "||")), inner)
        | inner.map("({})".format)
        | inner.map("!({})".format)
    ),
    max_leaves=4,
)
values = st.sampled_from(("a", "b", 1, -2, 1.5, 2, True, False, None, 2**53 + 1, [], {}))
messages = st.fixed_dictionaries(
    {"kind": values},
    optional={
        "data": st.fixed_dictionaries({}, optional={"x": values, "y": values}) | values,
        "tags": st.lists(values, max_size=1),
    },
)


def is_true(source: str, message: dict[str, Any]) -> bool:
    try:
        return Expression(source, is_filter=True).matches(message)
    except EvaluationError:
        return False


@pytest.mark.slow
@hypothesis_settings(deadline=None)  # the first expression loads a library
@given(st.lists(expressions, min_size=1, max_size=6), messages)
def test_no_filter_that_is_true_is_left_out(sources: list[str], message: dict[str, Any]) -> None:
    index = FilterIndex([(source, Expression(source, is_filter=True)) for source in sources])
    found = [source for source, _ in index.select(message)]
    assert sorted(found) == sorted(set(found)) or len(set(sources)) < len(sources)
    assert {source for source in sources if is_true(source, message)} <= set(found)


def test_of_many_filters_only_the_few_that_may_be_true_are_found() -> None:
    sources = [
        *(f"message.data.site == 'site {number}'" for number in range(100)),
        *(f"message.kind == 'data' && message.data.celsius > {number}" for number in range(7, 99)),
        *(f"message.data.celsius <= {number}.5 && message.data.site != 'x'" for number in range(9)),
        "message.data.site in ['site 3', 'site 8']",
        "message.data.site.startsWith('site')",
    ]
    index = FilterIndex([(source, Expression(source)) for source in sources])
    message = {"kind": "event", "data": {"site": "site 8", "celsius": 7}}
    assert {source for source, _ in index.select(message)} == {
        "message.data.site == 'site 8'",
        "message.data.celsius <= 7.5 && message.data.site != 'x'",
        "message.data.celsius <= 8.5 && message.data.site != 'x'",
        "message.data.site in ['site 3', 'site 8']",
        "message.data.site.startsWith('site')",
    }


def test_a_filter_of_a_field_that_is_missing_is_not_even_evaluated() -> None:
    sources = ["message.data.x > 5", "message.data.x == 'a'", "message.data.x == null"]
    index = FilterIndex([(source, Expression(source, is_filter=True)) for source in sources])
    for message in ({"kind": "event"}, {"data": "text"}, {"data": {"y": 1}}):
        assert [source for source, _ in index.select(message)] == ["message.data.x == null"]


@pytest.mark.parametrize(
    "source, guards",
    [
        ("message.a == 1 && message.b < 2.5", [(("a",), "==", (1,)), (("b",), "<", (2.5,))]),
        ("(message.a[0] == 'x' && (message.b in [1, 2]))", None),
        ("message.a == 1 || message.b == 2", []),
        ("message.a == 1 ? true : message.b == 2", []),
        ("!(message.a == 1)", []),
        ("message.a + 1 == 2", []),
        ("message.a < 'x'", []),
        ("message.a == null", []),
        ("message.a == 5u", []),
        ("message.a in [1, 'x']", []),
    ],
)
def test_guards_are_comparisons_that_have_to_hold(
    source: str, guards: list[tuple[Any, ...]] | None
) -> None:
    if guards is None:
        guards = [(("a", 0), "==", ("x",)), (("b",), "==", (1, 2))]
    assert list(Expression(source).guards) == [Guard(*each) for each in guards]
