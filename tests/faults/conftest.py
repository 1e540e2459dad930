"""Fixtures for fault injection."""

from collections.abc import Iterator
from typing import Any

import pytest

from longwire.settings import Settings
from tests.faults.ledger import Start
from tests.process import Service


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
