"""Networks and the original ids of their devices: as people write them, and as they are compared.

People copy an id from a label, with separators, or from a tool, with `0x`. What a network that the
service supports can never send is invalid, so that no device waits for messages that cannot come.
"""

import re

from longwire.networks.base import CHIRPSTACK, MQTT, TTN, VENDOR
from longwire.networks.catalogue import NETWORKS, get_network
from longwire.networks.vendor import DEVICE_ID_DIGITS_MAX, is_device_id

EUI_DIGITS = 16

# By all their names, without separators and case.
_NETWORKS = {
    name: each.name for each in NETWORKS.values() for name in (each.name, *each.other_names)
}
_NAME_SEPARATORS = re.compile(r"[\s_.-]+")
# Between the digits of an id, and before them.
_ID_SEPARATORS = re.compile(r"\b0[xX]|[\s:-]+")
_HEX = re.compile(r"[0-9a-f]+")
# The Things Stack names a device after its EUI, if its owner does not name it.
_TTN_EUI_PREFIX = "eui-"
# Devices without an EUI are known by such an id; of hex digits alone it would be an EUI.
_TTN_DEVICE_ID = re.compile(r"(?=.*[g-z])[a-z0-9](?:-?[a-z0-9]){1,35}")
_TOPIC_CHARACTERS = "/+#"
_SHOWN_CHARACTERS_MAX = 40


class InvalidOriginalId(ValueError):
    """The network can never send this id; the message says why."""


def normalize_network(name: str) -> str:
    """A supported network by its own name, however it is written; any other one as it is."""
    return _NETWORKS.get(_NAME_SEPARATORS.sub("", name).casefold(), name)


def normalize_original_id(network: str, original_id: str) -> str:
    """An id as the network writes it; on a network that is not supported it is any text."""
    if get_network(network).has_lorawan_ids:
        return _normalize_eui(network, original_id)
    if network == VENDOR:
        digits = _strip(original_id)
        _require_hex(original_id, digits, "an id of the vendor's network")
        if not is_device_id(digits):
            raise InvalidOriginalId(
                f"{_show(original_id)} has {len(digits)} hex digits; an id of the vendor's "
                f"network has at most {DEVICE_ID_DIGITS_MAX}"
            )
        return digits.upper()
    if network == MQTT:
        level = original_id.strip()
        if not level or any(each in level for each in _TOPIC_CHARACTERS):
            raise InvalidOriginalId(
                f"{_show(original_id)} is no level of an MQTT topic, which is not blank and has "
                "none of / + #"
            )
        return level
    return original_id


def normalize_identity(network: str, original_id: str) -> tuple[str, str]:
    """Both as the network writes them, or `InvalidOriginalId`."""
    network = normalize_network(network)
    return network, normalize_original_id(network, original_id)


def can_be_original_id(network: str, text: str) -> bool:
    """Whether a device of the network can have this id, or one that is spelled otherwise."""
    try:
        return bool(normalize_original_id(network, text))
    except InvalidOriginalId:
        return False


def original_key(network: str, original_id: str) -> str:
    """An id as it is compared: without case, and at the vendor's without leading zeros.

    Invalid ones, which were stored before they were checked, equal themselves.
    """
    try:
        key = normalize_original_id(network, original_id).casefold()
    except InvalidOriginalId:
        key = original_id.casefold()
    return (key.lstrip("0") or "0") if network == VENDOR else key


def find_eui(text: str) -> str | None:
    """The EUI that a text is, in lower case; None if it is none."""
    digits = _strip(text)
    is_eui = len(digits) == EUI_DIGITS and _HEX.fullmatch(digits) is not None
    return digits if is_eui else None


def _normalize_eui(network: str, original_id: str) -> str:
    name = original_id.strip().casefold()
    is_ttn = network == TTN
    eui = find_eui(name.removeprefix(_TTN_EUI_PREFIX) if is_ttn else name)
    if eui is not None:
        return eui if network == CHIRPSTACK else eui.upper()
    if is_ttn and _TTN_DEVICE_ID.fullmatch(name):
        return name
    digits = _strip(name)
    _require_hex(original_id, digits, "a DevEUI")
    raise InvalidOriginalId(
        f"{_show(original_id)} has {len(digits)} hex digits; a DevEUI has {EUI_DIGITS}"
    )


def _strip(original_id: str) -> str:
    return _ID_SEPARATORS.sub("", original_id).casefold()


def _require_hex(original_id: str, digits: str, what: str) -> None:
    if not _HEX.fullmatch(digits):
        raise InvalidOriginalId(
            f"{_show(original_id)} is not {what}, which has hex digits only (0-9, A-F)"
        )


def _show(original_id: str) -> str:
    shown = original_id[:_SHOWN_CHARACTERS_MAX]
    return f"{shown}…" if shown != original_id else shown
