"""Fills a world with the company of `longwire demo`, for tests that need a lively service."""

import asyncio
import json

from longwire.cli.device_types import parse_types
from longwire.fleet import device_types
from longwire.identity import tokens
from longwire.model import SYSTEM
from longwire.store.database import Tx
from longwire_cli.demo import plan
from longwire_cli.demo.client import ClientCredentials
from longwire_cli.demo.fleet import Fleet
from longwire_cli.demo.seeding import SeedOptions
from longwire_cli.demo.session import DemoService, seed_service
from tests.world import World


def fill_world(world: World, options: SeedOptions) -> Fleet:
    """The world's operator, and people with credentials, create everything over HTTP."""
    people = world.write(_act_as_operator)
    operator = ClientCredentials(world.operator.client_id, world.operator.client_secret)
    service = DemoService(world.url, operator, people)
    return asyncio.run(seed_service(service, options))


def _act_as_operator(tx: Tx) -> dict[str, ClientCredentials]:
    """Device types and credentials, which have no operation of the API."""
    for each in parse_types(json.dumps(plan.DEVICE_TYPES)):
        device_types.put_device_type(tx, SYSTEM, each)
    issued = {
        person.email: tokens.issue_credential(
            tx, SYSTEM, person.email, first_name=person.first_name, last_name=person.last_name
        )
        for person in plan.PEOPLE
    }
    return {
        email: ClientCredentials(each.credential.client_id, each.secret)
        for email, each in issued.items()
    }
