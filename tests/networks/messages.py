"""Arbitrary messages: any JSON under the names that an adapter reads."""

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import strategies as st

from longwire.networks.bodies import parse_body

EDGE_VALUES = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        0.5,
        91,
        2**63,
        -(2**63),
        1e300,
        1_653_666_733,
        1_653_666_733_123,
    ),
    *("", "null", "N/A", "0", "16", "-113.00", "true", "00", "0g", "vu8=", "Limit", "x" * 300),
    *(
        "2022-05-27T15:52:13.123456789+00:00",
        "1FD48BE",
        "[]",
        '{"lat":1,"lng":2}',
        "\x00",
        "[[",
        "{",
    ),
    *([], {}, [None], [{}], [[]]),
]


def anything(names: Sequence[str]) -> st.SearchStrategy[Any]:
    leaves = st.sampled_from(EDGE_VALUES) | st.integers() | st.floats() | st.text(max_size=8)
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | _objects(names, inner))


def _objects(names: Sequence[str], inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from(names) | st.text(max_size=4), inner, max_size=6)


def messages(names: Sequence[str], valid: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Arbitrary messages; some contain the `valid` members, so that the rest is parsed too."""
    arbitrary = _objects(names, anything(names))
    mixed = st.tuples(arbitrary, st.booleans()).map(
        lambda pair: pair[0] | (valid if pair[1] else {})
    )
    return mixed.map(lambda body: parse_body("application/json", msgspec.json.encode(body), b""))
