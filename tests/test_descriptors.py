import pytest

from longwire.process.descriptors import divide_descriptors


@pytest.mark.parametrize(
    ("limit", "clients", "attempts"),
    [
        (1_024, 412, 206),
        (4_096, 1_948, 974),
        (20_000, 10_000, 1_000),
        (1_048_576, 10_000, 1_000),
    ],
)
def test_the_limits_follow_from_the_descriptor_limit(limit, clients, attempts):
    budget = divide_descriptors(
        limit, connections_max=10_000, attempts_in_flight_max=1_000, database_connections=8
    )
    assert (budget.connections_max, budget.attempts_in_flight_max) == (clients, attempts)


@pytest.mark.parametrize("limit", [1, 64, 256, 1_024, 20_000])
@pytest.mark.parametrize("configured", [0, 1, 10_000])
def test_the_parts_fit_into_the_descriptor_limit(limit, configured):
    budget = divide_descriptors(
        limit, connections_max=configured, attempts_in_flight_max=1_000, database_connections=8
    )
    parts = budget.reserved + budget.connections_max + budget.outgoing_connections_max
    assert parts <= max(limit, 3)
    assert budget.connections_max >= 1
    assert budget.attempts_in_flight_max >= 1
