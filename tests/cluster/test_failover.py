"""The primary dies, and its standby is promoted."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from longwire.settings import Settings
from tests.cluster.pair import Pair
from tests.faults.ledger import Ledger, wait_for_more
from tests.process import Service
from tests.world import copy_data_folder


@pytest.fixture
def settings(pair: Pair, cluster_template: tuple[Path, Path], fast_folder: Path) -> Settings:
    data = copy_data_folder(cluster_template[1], fast_folder / "data")
    return Settings(data=data, database=pair.url)


@pytest.fixture
def node(settings: Settings) -> Iterator[Service]:
    service = Service(settings.data, "--database", settings.database).started()
    yield service
    service.clean_up()


def fail_over(pair: Pair, node: Service) -> float:
    """Kill the primary under load, and promote the standby; seconds to the next acknowledgement."""
    ledger = Ledger.of(node)
    with ledger.senders(node):
        wait_for_more(ledger, 50)
        pair.primary.kill()
        pair.standby.promote()
        promoted = time.monotonic()
        wait_for_more(ledger, 1)
        pause_s = time.monotonic() - promoted
        wait_for_more(ledger, 50)
    print(f"acknowledged {pause_s:.2f} s after the promotion")
    ledger.assert_stored_by(node)
    ledger.resend_unacknowledged(node)
    ledger.assert_stored_by(node)
    return pause_s


def test_nothing_acknowledged_is_lost_when_a_standby_is_promoted(pair: Pair, node: Service) -> None:
    fail_over(pair, node)
    assert node.stop() == 0


@pytest.mark.soak
def test_the_next_acknowledgement_comes_within_two_seconds_of_a_promotion(
    pair: Pair, node: Service
) -> None:
    assert fail_over(pair, node) < 2
