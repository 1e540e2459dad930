"""The network is cut between nodes and servers, and heals."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.cluster.network import Machine, Network
from tests.cluster.pair import Pair
from tests.cluster.steady import SteadyLedger, assert_balanced, wait_for_acknowledgements
from tests.cluster.test_nodes import LEASED
from tests.delivery.receiver import Receiver, StubResponse
from tests.faults.ledger import operator_of
from tests.faults.test_delivery_crashes import connect
from tests.process import Service
from tests.waiting import eventually
from tests.world import copy_data_folder

pytestmark = pytest.mark.soak

IN_FLIGHT_MAX = 8
WITHIN_S = 180.0
UNREACHABLE = {"the database does not respond", "the node lease is lost"}


@pytest.fixture
def network() -> Iterator[Network]:
    network = Network()
    yield network
    network.end()


@pytest.fixture
def servers(network: Network) -> list[Machine]:
    return [network.add_machine(), network.add_machine()]


@pytest.fixture
def pair(
    servers: list[Machine], cluster_template: tuple[Path, Path], fast_folder: Path
) -> Iterator[Pair]:
    fast_folder.chmod(0o755)
    places = [(machine.data_host, machine.under_server_user) for machine in servers]
    pair = Pair(cluster_template[0], fast_folder, places)
    yield pair
    pair.end()


@pytest.fixture
def serve(
    pair: Pair, cluster_template: tuple[Path, Path], fast_folder: Path
) -> Iterator[Callable[..., Service]]:
    data = copy_data_folder(cluster_template[1], fast_folder / "data")
    services: list[Service] = []

    def start(machine: Machine | None = None) -> Service:
        flags = ["--database", pair.url, "--egress-allow", "10.0.0.0/8"]
        flags += ["--delivery-in-flight-max", str(IN_FLIGHT_MAX)]
        if machine is not None:
            flags += ["--host", machine.front_host]
        under = machine.under if machine is not None else ()
        services.append(Service(data, *flags, under=under))
        return services[-1].started()

    yield start
    for service in services:
        service.clean_up()


def set_up(serve: Callable[..., Service], receiver: Receiver) -> SteadyLedger:
    """A group with a connector, by a node here: another machine gets no token without TLS."""
    service = serve()
    ledger = SteadyLedger.of(service)
    assert isinstance(ledger, SteadyLedger)
    with operator_of(service) as operator:
        policy = {"retryDelay": 1, "maxRetry": 60}
        connect(operator, ledger.group, receiver.url, retryPolicy=policy)
    assert service.stop() == 0
    return ledger


def receive(network: Network) -> Receiver:
    host = network.clients_host
    return Receiver(StubResponse(delay_s=0.03), name=host, host=host)


def reason(node: Service) -> str | None:
    try:
        found: str | None = node.http.get("/health/ready").json().get("reason")
    except httpx.HTTPError as error:
        return str(error)
    return found


def count_claimed(pair: Pair) -> int:
    """How many messages nodes have claimed.

    One that is cut off from its database and not from the receiver sends these until its lease is
    over, and cannot settle them: they are what may be sent twice, beside those in flight.
    """
    return int(pair.primary.run(LEASED)[0][0])


def test_nothing_is_lost_when_a_node_is_cut_off_from_its_database(
    network: Network, pair: Pair, serve: Callable[..., Service]
) -> None:
    with receive(network) as receiver:
        ledger = set_up(serve, receiver)
        machines = [network.add_machine(), network.add_machine()]
        nodes = [serve(machine) for machine in machines]
        with ledger.sending(lambda: nodes) as times:
            wait_for_acknowledgements(times, 20, WITHIN_S)
            network.cut(machines[0])
            claimed = count_claimed(pair)
            eventually(lambda: reason(nodes[0]) in UNREACHABLE, WITHIN_S)
            assert reason(nodes[1]) is None
            living = "select count(*) from node where until_at > extract(epoch from now()) * 1e6"
            eventually(lambda: pair.primary.run(living) == [(1,)], WITHIN_S)
            wait_for_acknowledgements(times, 20, WITHIN_S)  # by the other node
            network.heal(machines[0])
            eventually(lambda: reason(nodes[0]) is None, WITHIN_S)
            wait_for_acknowledgements(times, 20, WITHIN_S)
        assert_balanced(ledger, nodes, pair.primary, receiver, IN_FLIGHT_MAX + claimed)


def test_nothing_is_lost_when_the_primary_is_cut_off_from_everybody_and_replaced(
    network: Network, servers: list[Machine], pair: Pair, serve: Callable[..., Service]
) -> None:
    with receive(network) as receiver:
        ledger = set_up(serve, receiver)
        nodes = [serve(network.add_machine()), serve(network.add_machine())]
        with ledger.sending(lambda: nodes) as times:
            wait_for_acknowledgements(times, 20, WITHIN_S)
            network.cut(servers[0])
            for node in nodes:
                eventually(lambda: reason(node) is not None, WITHIN_S)  # noqa: B023 (called here)
            pair.promote()
            claimed = count_claimed(pair)
            wait_for_acknowledgements(times, 20, WITHIN_S)
            # Cut off, it could not acknowledge anything; healed, it would be a second primary. Who
            # promotes another one has to make sure that it is not.
            pair.standby.kill()
            network.heal(servers[0])
            pair.rejoin()
            wait_for_acknowledgements(times, 20, WITHIN_S)
            for node in nodes:
                eventually(lambda: reason(node) is None, WITHIN_S)  # noqa: B023 (called here)
        assert_balanced(ledger, nodes, pair.primary, receiver, IN_FLIGHT_MAX + claimed)
