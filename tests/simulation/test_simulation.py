"""The service under seeds: what must be true is true, and the simulation would notice if not.

Each run is a process of its own, because it replaces time and randomness in all of it.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.simulation import many
from tests.simulation.many import run_seeds

# The planted faults that a few seconds suffice for; the others are found in `make soak`.
FOUND_AT_ONCE = (
    "acknowledge before the commit",
    "commit without a flush",
)
PLANTED = (
    "count before the duplicate check",
    "lose what a dead process had claimed",
    "page with the last one again",
    "take no answer for a delivery",
    "use another message id on a retry",
    "insert deliveries in a transaction of their own",
    "store a record twice",
    "forget the size of what is deleted",
    "forget to end an alarm",
    "keep tokens in the cache",
    "undo without the version",
)
SEEDS = 50
SEEDS_TWICE = 3
FOUND_WITHIN = 40


def has_shared_sqlite() -> bool:
    from tests.simulation.disk import find_library  # noqa: PLC0415 (what it imports is not used)

    try:
        find_library()
    except (OSError, AttributeError):
        return False
    return True


pytestmark = [
    pytest.mark.skipif(not has_shared_sqlite(), reason="sqlite3 of this Python has its own SQLite"),
    pytest.mark.slow,
]


def test_what_must_be_true_is_true_under_seeds() -> None:
    half = SEEDS // 2
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda start: run_seeds(start, half, "brief"), (1, 1 + half)))
    for outcome in [*runs[0], *runs[1]]:
        assert outcome["violation"] is None, outcome


def test_two_runs_of_a_seed_are_equal() -> None:
    """Also with another hash of strings, whose order must not matter."""
    with ThreadPoolExecutor(2) as pool:
        runs = list(
            pool.map(
                lambda hash_seed: run_seeds(1, SEEDS_TWICE, "brief", hash_seed=hash_seed), (0, 1)
            )
        )
    assert [each["digest"] for each in runs[0]] == [each["digest"] for each in runs[1]]


@pytest.mark.parametrize("fault", FOUND_AT_ONCE)
def test_a_planted_fault_is_found(fault: str) -> None:
    find(fault)


@pytest.mark.soak
@pytest.mark.parametrize("fault", PLANTED)
def test_every_planted_fault_is_found(fault: str) -> None:
    find(fault)


def find(fault: str) -> None:
    found = run_seeds(1, FOUND_WITHIN, "dense", "--plant", fault, "--until-found")
    assert found[-1]["violation"], f"{fault} was not found in {len(found)} seeds"
    print(f"{fault}: seed {found[-1]['seed']}, {found[-1]['violation']}")


@pytest.mark.soak
@pytest.mark.parametrize("profile", many.PROFILES)
def test_every_fault_and_every_state_is_reached(profile: str) -> None:
    totals = many.run_until(1, profile, 0.2, os.cpu_count() or 1)
    assert not totals.violations, totals.violations[0]
    assert not many.list_missing(totals)
