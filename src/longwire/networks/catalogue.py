"""The networks, a row for each: what the service knows of one besides its messages.

Its parser is a module of this package. Its callback is in `inbound/callbacks.py`, and what takes
its downlinks in `fleet/downlink_apis.py`.
"""

from msgspec import Struct

from longwire.networks.base import CHIRPSTACK, LORIOT, MQTT, THINGPARK, TTN, VENDOR

# LoRaWAN frame counters have 32 bits; networks report all of them, though only 16 go over the air.
_LORAWAN_COUNTER = 1 << 32


class Network(Struct, frozen=True, kw_only=True):
    """How a network knows its devices, and how it counts their messages."""

    name: str
    other_names: tuple[str, ...] = ()  # in lower case, without separators
    has_callback: bool = True
    has_lorawan_ids: bool = False
    counter_modulus: int = 0  # 0 if it does not number messages, so lost ones are not noticed


NETWORKS = {
    each.name: each
    for each in (
        Network(name=VENDOR, counter_modulus=1 << 12),
        Network(name=CHIRPSTACK, has_lorawan_ids=True, counter_modulus=_LORAWAN_COUNTER),
        Network(
            name=TTN,
            other_names=("thethingsnetwork", "thethingsstack"),
            has_lorawan_ids=True,
            counter_modulus=_LORAWAN_COUNTER,
        ),
        Network(name=LORIOT, has_lorawan_ids=True, counter_modulus=_LORAWAN_COUNTER),
        Network(name=THINGPARK, has_lorawan_ids=True, counter_modulus=_LORAWAN_COUNTER),
        Network(name=MQTT, has_callback=False),  # devices that publish to the MQTT broker
    )
}
CALLBACK_NETWORKS = tuple(each.name for each in NETWORKS.values() if each.has_callback)
_UNKNOWN = Network(name="", has_callback=False)


def get_network(name: str) -> Network:
    """What is known of a network; nothing of one that the service does not support."""
    return NETWORKS.get(name, _UNKNOWN)
