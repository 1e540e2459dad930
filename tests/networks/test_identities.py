"""Original ids as people write them, and as they are compared."""

import pytest

from longwire.networks.identities import (
    InvalidOriginalId,
    find_eui,
    normalize_identity,
    normalize_network,
    original_key,
)

EUI = "70B3D57ED005ABCD"


@pytest.mark.parametrize(
    "written, network",
    [
        *(
            (each, "chirpstack")
            for each in ("chirpstack", "ChirpStack", "Chirp Stack", "CHIRP-stack")
        ),
        *((each, "ttn") for each in ("TTN", "The Things Network", "the-things-stack")),
        *((each, each.lower()) for each in ("Vendor", "LORIOT", "ThingPark", "MQTT")),
        *((each, each) for each in ("Vendored", "My network", "lora", "")),
    ],
)
def test_a_supported_network_is_known_however_it_is_written(written: str, network: str) -> None:
    assert normalize_network(written) == network


@pytest.mark.parametrize(
    "written",
    [
        *("70b3d57ed005abcd", "70-B3-D5-7E-D0-05-AB-CD", "70:b3:d5:7e:d0:05:ab:cd"),
        *(
            "0x70B3D57ED005ABCD",
            " 70 B3 D5 7E D0 05 AB CD ",
            "0x70 0xB3 0xD5 0x7E 0xD0 0x05 0xAB 0xCD",
        ),
    ],
)
def test_an_eui_is_one_id_however_it_is_written(written: str) -> None:
    for network in ("ttn", "loriot", "thingpark"):
        assert normalize_identity(network, written) == (network, EUI)
    assert normalize_identity("ChirpStack", written) == ("chirpstack", EUI.lower())
    assert find_eui(written) == original_key("chirpstack", written) == EUI.lower()


@pytest.mark.parametrize(
    "network, written, said",
    [
        ("chirpstack", f"{EUI}12", "has 18 hex digits; a DevEUI has 16"),
        ("chirpstack", EUI[:-1], "has 15 hex digits"),
        ("loriot", "sensor-7", "sensor-7 is not a DevEUI"),
        ("thingpark", "../x", "is not a DevEUI"),
        ("ttn", f"{EUI}12", "has 18 hex digits"),
        ("ttn", "A1", "has 2 hex digits"),
        ("ttn", "meter/7", "is not a DevEUI"),
        ("chirpstack", "--", "is not a DevEUI"),
        ("chirpstack", "\u0660" * 16, "is not a DevEUI"),  # digits, but not in hex
        ("vendor", "crane", "crane is not an id of the vendor's network"),
        ("vendor", "1" * 17, "has 17 hex digits"),
        ("mqtt", "pump/7", "is no level of an MQTT topic"),
        ("mqtt", "pump+", "is no level"),
        ("mqtt", " ", "is no level"),
        ("chirpstack", "x" * 128, f"{'x' * 40}… is not"),
    ],
)
def test_an_id_that_a_network_cannot_send_is_invalid(network: str, written: str, said: str) -> None:
    with pytest.raises(InvalidOriginalId) as raised:
        normalize_identity(network, written)
    assert said in str(raised.value)
    # Stored by an earlier release, it is still the same as itself.
    assert original_key(network, written.upper()) == original_key(network, written.lower())


@pytest.mark.parametrize(
    "network, written, normalized",
    [
        ("ttn", "Meter-7", "meter-7"),  # a device without an EUI
        ("ttn", "eui-70b3d57ed005abcd", EUI),  # as The Things Stack names devices by itself
        ("vendor", "1f:d4-8be", "1FD48BE"),
        ("vendor", "0x00ff", "00FF"),
        ("mqtt", " Pump 7-a:b ", "Pump 7-a:b"),
        ("My network", "70-B3 ", "70-B3 "),
    ],
)
def test_ids_of_other_networks_are_as_these_write_them(
    network: str, written: str, normalized: str
) -> None:
    assert normalize_identity(network, written) == (network, normalized)
