"""What every kind of decoder has in common: bytes in, values out, or a reason why not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from longwire.clock import Moment

# Sixteen times what a radio network carries; other networks may say more at a time.
PAYLOAD_BYTES_MAX = 4_096


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a payload says. The values are JSON, without large numbers or deep nesting."""

    values: dict[str, Any]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Encoded:
    """What is sent to a device, and on which port, if the codec or its caller named one."""

    payload: bytes
    port: int | None = None


class CannotDecode(Exception):
    """This payload has no meaning to this decoder; the reason says why, in a few words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CannotEncode(Exception):
    """These values cannot be sent; the reason says why, in a few words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BadDecoder(Exception):
    """A decoder that cannot be used: why, and where in its source."""

    def __init__(self, reason: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.reason = reason
        self.line = line
        self.column = column


class Decoder(Protocol):
    """Can be asked as often as needed, from any thread."""

    def decode(self, payload: bytes, port: int | None, at: Moment) -> Decoded:
        """What the payload says, or `CannotDecode`; never another error."""
        ...

    def encode(self, values: Mapping[str, Any], port: int | None) -> Encoded:
        """The payload that says this, or `CannotEncode`; never another error."""
        ...


def bounded(payload: bytes) -> bytes:
    """The payload, if it is of a size that decoders look at."""
    if len(payload) > PAYLOAD_BYTES_MAX:
        raise CannotDecode(f"the payload has more than {PAYLOAD_BYTES_MAX} bytes")
    return payload
