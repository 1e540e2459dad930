"""The kinds of destinations there are, and what they want to be told."""

from collections.abc import Mapping
from typing import cast

from longwire.delivery.destinations import parameters
from longwire.delivery.destinations.amqp import Amqp
from longwire.delivery.destinations.base import Destination, Params
from longwire.delivery.destinations.http import Http
from longwire.delivery.destinations.kafka import Kafka
from longwire.delivery.destinations.mqtt import Mqtt
from longwire.delivery.destinations.nats import Nats

TYPES: Mapping[str, type[Destination]] = {
    each.type: cast(type[Destination], each) for each in (Http, Mqtt, Nats, Amqp, Kafka)
}


def expected_parameters(name: str) -> str:
    """The JSON Schema of a type's parameters, as text."""
    return parameters.schema_text(TYPES[name].params_type)


def params_of(name: str, text: str) -> Params:
    """Parameters that were checked before, as a value."""
    return parameters.read(TYPES[name].params_type, text)


def masked(name: str, text: str) -> str:
    """The parameters without their secrets."""
    return parameters.masked(TYPES[name].params_type, text)


def unmasked(name: str, text: str, kept: str) -> str:
    """New parameters in which a mask stands for the secret that was kept in its place."""
    return parameters.unmasked(TYPES[name].params_type, text, kept)


def secrets_in(name: str, text: str) -> list[tuple[str, str]]:
    """(place, secret) of every secret among the parameters."""
    return parameters.secrets_in(TYPES[name].params_type, text)
