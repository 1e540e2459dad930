"""The console's forms of connectors are made of the schemas that the service has."""

import json
from pathlib import Path

from longwire.api.delivery.connectors import type_wire
from longwire.delivery.destinations import catalogue

SCHEMAS = Path(__file__).parents[2] / "console/src/pages/connectors/schemas.fixture.json"


def test_the_forms_are_tested_with_the_schemas_of_the_service() -> None:
    described = {name: json.loads(type_wire(name).expected_parameters) for name in catalogue.TYPES}
    assert json.loads(SCHEMAS.read_text()) == described, "the console's fixture is to be renewed"
