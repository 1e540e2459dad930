"""Summaries of parts add up to the summary of the whole, whatever the parts."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import DAY
from longwire.measurements.calendar_spans import QUARTER
from longwire.measurements.summaries import (
    DAYS_PER_PAGE,
    QUARTERS,
    Row,
    Summary,
    chain_rows,
    list_days,
    pack,
    pack_days,
    regroup,
    sum_up_day,
    summarize,
    unpack,
    unpack_days,
)

NUMBERS = st.integers(-(2**40), 2**40).map(float)  # whose sums are exact


DAYS = st.dictionaries(
    st.integers(0, QUARTERS - 1), st.lists(NUMBERS, min_size=1, max_size=4), min_size=1
)


@given(st.lists(DAYS, min_size=1, max_size=3))
def test_parts_add_up_to_the_whole_as_they_were_stored(days: list[dict[int, list[float]]]) -> None:
    rows: list[Row] = []
    numbers: list[list[float]] = []
    for index, day in enumerate(days):
        summaries = {quarter: summarize(part) for quarter, part in day.items()}
        rows.append(unpack(index * DAY, QUARTER, pack(summaries)))
        numbers += [part for _, part in sorted(day.items())]
    row = chain_rows(rows)
    assert [row.summarize(i, i + 1) for i in range(len(numbers))] == list(map(summarize, numbers))
    half = len(numbers) // 2
    halves = regroup(row, [0] * half + [1] * (len(numbers) - half))
    assert [halves.summarize(i, i + 1) for i in range(len(halves.begins))] == [
        summarize(list(chain.from_iterable(part)))
        for part in (numbers[:half], numbers[half:])
        if part
    ]
    assert row.summarize(0, len(numbers)) == summarize(list(chain.from_iterable(numbers)))
    assert list(row.begins) == [
        i * DAY + quarter * QUARTER for i, day in enumerate(days) for quarter in sorted(day)
    ]


@pytest.mark.parametrize(
    ("numbers", "increase"),
    [
        ([7], 0),  # the first reading ever
        ([7, 7, 9], 2),
        ([7, 9, 1, 4], 6),  # another meter, which began at zero
        ([7, 0, 0], 0),
        ([-2, -1], 1),
    ],
)
def test_a_counter_rises(numbers: list[float], increase: float) -> None:
    assert summarize(numbers).increase == increase


def test_a_summary_names_its_numbers() -> None:
    assert summarize([3.0, 1.0, 2.5]) == Summary(3, 1.0, 3.0, 6.5, 3.0, 2.5, 2.5)


def test_days_are_stored_with_where_their_numbers_lie() -> None:
    quarters = {3: summarize([1.0, 4.0]), 90: summarize([2.0])}
    days = {0: sum_up_day(quarters), 31: sum_up_day({0: summarize([5.0])})}
    assert days[0] == (summarize([1.0, 4.0, 2.0]), 3, 90)
    assert list_days(pack_days(days)) == days
    row, ends = unpack_days(2, pack_days(days))
    begin = 2 * DAYS_PER_PAGE * DAY
    assert row.begins == [begin + 3 * QUARTER, begin + 31 * DAY]
    assert ends == [begin + 91 * QUARTER, begin + 31 * DAY + QUARTER]


def test_a_day_with_one_number_a_quarter_is_small() -> None:
    day = {index: summarize([index * 0.1]) for index in range(QUARTERS)}
    assert len(pack(day)) == 2 + 9 * QUARTERS
