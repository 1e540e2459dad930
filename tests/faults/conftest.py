"""Fixtures for fault injection."""

from collections.abc import Iterator
from typing import Any

import pytest

from longwire.settings import Settings
from tests.faults.ledger import Start
from tests.process import Service

# These take long, and their variants differ little: the ordinary suite runs one, `make soak` all.
ONE_VARIANT = {
    "test_every_acknowledged_record_arrives_though_the_service_is_killed_again_and_again": "sqlite",
    "test_a_service_that_is_stopped_while_a_receiver_hangs_stops_and_its_messages_go_out_later": (
        "sqlite"
    ),
    "test_a_service_that_is_stopped_under_load_gives_back_what_it_holds_and_sends_nothing_twice": (
        "postgresql"
    ),
    "test_a_death_before_anything_was_sent_costs_a_try_and_no_message": "sqlite",
    "test_a_death_after_it_was_settled_sends_nothing_again": "sqlite",
    "test_several_that_deliver_from_one_database_send_each_message_once": "2-postgresql",
    "test_a_death_after_the_message_was_sent_sends_it_again_under_the_same_id": "sqlite",
    "test_a_disk_that_fails_to_flush_ends_the_service_and_loses_nothing_acknowledged": "30",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name, _, variant = item.name.partition("[")
        if variant and ONE_VARIANT.get(name, variant.rstrip("]")) != variant.rstrip("]"):
            item.add_marker("soak")


@pytest.fixture
def serve(settings: Settings) -> Iterator[Start]:
    """Starts `longwire serve` on the prepared database; what still runs is killed afterwards."""
    services: list[Service] = []
    place = ["--database", settings.database] if settings.database else []

    def start(*flags: str, **how: Any) -> Service:
        services.append(Service(settings.data, *place, *flags, **how))
        return services[-1].started()

    yield start
    for service in services:
        service.clean_up()
