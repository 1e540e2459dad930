"""Ids of new objects: format and uniqueness."""

import re
import threading
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from longwire import ids
from longwire.clock import DAY, SECOND
from longwire.ids import GroupIds
from longwire.store.schema import NO_GROUP, group_number

NOON = 1_800_000_000 * SECOND
END_OF_2088 = 3_755_289_599 * SECOND


def test_an_id_reveals_its_kind_and_nothing_else() -> None:
    made = [ids.new_id("usr") for _ in range(1_000)]
    assert len(set(made)) == 1_000
    assert all(re.fullmatch(r"usr_[a-z2-7]{24}", each) for each in made)
    # Random from the first character on: consecutive ids are in no order.
    assert made != sorted(made)
    assert len({each[4] for each in made}) > 16


def test_a_secret_has_256_bits_and_is_safe_in_headers_and_urls() -> None:
    made = [ids.new_secret("lws") for _ in range(1_000)]
    assert len(set(made)) == 1_000
    assert all(re.fullmatch(r"lws_[A-Za-z0-9_-]{43}", each) for each in made)


def test_a_group_id_is_a_number_that_every_json_parser_can_represent() -> None:
    made = [GroupIds().next(now) for now in (*range(NOON, END_OF_2088, 1_000 * DAY), END_OF_2088)]
    for each in made:
        assert re.fullmatch(r"[1-9][0-9]{0,15}", each)
        assert int(each) < 2**53
        assert group_number(each) == int(each) != NO_GROUP


def test_group_ids_have_a_random_part_and_stay_ordered() -> None:
    moments = [END_OF_2088 + DAY + step * SECOND for step in range(100)]
    group_ids = GroupIds()
    made = [int(group_ids.next(moment)) for moment in moments]
    assert made == sorted(made)
    assert len({after - before for before, after in pairwise(made)}) > 50


@given(st.lists(st.integers(min_value=-DAY, max_value=DAY), min_size=2, max_size=50))
def test_group_ids_increase_even_when_the_clock_is_set_back(steps: list[int]) -> None:
    group_ids = GroupIds()
    made = [int(group_ids.next(NOON + step)) for step in steps]
    assert made == sorted(set(made))


def test_concurrent_threads_get_different_group_ids() -> None:
    made: list[str] = []
    group_ids = GroupIds()
    gate = threading.Barrier(8)

    def make() -> None:
        gate.wait()
        made.extend([group_ids.next(NOON) for _ in range(500)])

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == len(made) == 4_000
