"""The destination types, and the schemas of their parameters."""

import importlib
from collections.abc import Iterator, Mapping
from typing import cast

from longwire.delivery.destinations.base import Destination, DestinationParams

# A type's name is also its module's.
_CLASSES = {"http": "Http", "mqtt": "Mqtt", "nats": "Nats", "amqp": "Amqp", "kafka": "Kafka"}


class _Types(Mapping[str, type[Destination]]):
    """Imports each type when it is first used: client libraries load slowly, and few are needed."""

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


def get_extra(name: str) -> str:
    """What has to be installed for this type; empty if nothing."""
    return getattr(TYPES[name], "extra", "")


def get_params_type(name: str) -> type[DestinationParams]:
    return TYPES[name].params_type
