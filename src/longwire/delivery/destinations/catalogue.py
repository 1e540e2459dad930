"""The kinds of destinations there are, and what they want to be told."""

import importlib
from collections.abc import Iterator, Mapping
from typing import cast

from longwire.delivery.destinations import parameters
from longwire.delivery.destinations.base import Destination, Params

# A type's name is that of its module as well.
_CLASSES = {"http": "Http", "mqtt": "Mqtt", "nats": "Nats", "amqp": "Amqp", "kafka": "Kafka"}


class _Types(Mapping[str, type[Destination]]):
    """Each is loaded when it is first asked for: clients take long to load, and few are needed."""

    def __getitem__(self, name: str) -> type[Destination]:
        class_name = _CLASSES[name]
        module = importlib.import_module(f"longwire.delivery.destinations.{name}")
        return cast(type[Destination], getattr(module, class_name))

    def __contains__(self, name: object) -> bool:
        return name in _CLASSES

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


TYPES: Mapping[str, type[Destination]] = _Types()


def expected_parameters(name: str) -> str:
    """The JSON Schema of a type's parameters, as text."""
    return parameters.schema_text(TYPES[name].params_type)


def params_of(name: str, text: str) -> Params:
    """Parameters that were checked before, as a value."""
    return parameters.read(TYPES[name].params_type, text)


def masked(name: str, text: str) -> str:
    """The parameters without their secrets."""
    return parameters.masked(TYPES[name].params_type, text)
