"""The course of a demo: start the receiver, seed an empty service, then send until cancelled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import aiohttp

from longwire_cli.demo.client import Api, ClientCredentials
from longwire_cli.demo.clock import Clock
from longwire_cli.demo.fleet import Fleet, load_fleet
from longwire_cli.demo.plan import plan_devices
from longwire_cli.demo.receiver import Receiver
from longwire_cli.demo.seeding import DemoAccess, Report, SeedOptions, seed
from longwire_cli.demo.traffic import Traffic, send_traffic

_CONNECTIONS_MAX = 80
_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class DemoState:
    """What a second start has to know about the first one."""

    devices: int
    seed: int
    receiver_port: int = 0  # connectors have it in their URLs
    group_id: str = ""  # set when everything has been seeded


@dataclass(frozen=True, slots=True)
class DemoService:
    """The running service, and who may use it."""

    url: str
    operator: ClientCredentials
    people: Mapping[str, ClientCredentials]


def open_http() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=_CONNECTIONS_MAX),
        timeout=aiohttp.ClientTimeout(total=_TIMEOUT_S),
    )


async def seed_service(service: DemoService, options: SeedOptions) -> Fleet:
    """Fill a service that runs already, and leave it."""
    async with open_http() as http:
        return await seed(
            DemoAccess(Api(http, service.url, service.operator), service.people), options
        )


async def run_demo(
    service: DemoService,
    state: DemoState,
    *,
    rate: float,
    clock: Clock,
    save: Callable[[DemoState], None],
    report: Report,
    on_ready: Callable[[Fleet], None],
) -> None:
    """Seed the service unless that was done before, and send traffic until cancelled.

    `clock` is that of the service, which is turned while it is seeded.
    """
    async with open_http() as http, Receiver(state.receiver_port, clock) as receiver:
        state = replace(state, receiver_port=receiver.port)
        save(state)
        api = Api(http, service.url, service.operator)
        if state.group_id:
            plans = plan_devices(state.devices, state.seed)
            fleet = await load_fleet(api, state.group_id, plans)
        else:
            options = SeedOptions(
                receiver.url, receiver.downlink_url, state.devices, state.seed, clock=clock
            )
            fleet = await seed(DemoAccess(api, service.people), options, report)
            save(replace(state, group_id=fleet.group_id))
        on_ready(fleet)
        traffic = Traffic(api, fleet, state.seed, receiver.downlink_url)
        await send_traffic(traffic, fleet, rate=rate, seed=state.seed)
