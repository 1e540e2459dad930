"""What all kinds of decoders have in common: bytes in, values out, or an error."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Protocol

from longwire.clock import Moment
from longwire.dataclass import dataclass

# Sixteen times what a LoRaWAN frame carries; other networks have longer messages.
PAYLOAD_BYTES_MAX = 4_096


@dataclass(frozen=True, slots=True)
class Decoded:
    """The values of a payload. They are JSON, without large integers or deep nesting."""

    values: dict[str, Any]
    warnings: tuple[str, ...] = ()
    cpu_s: float = field(default=0.0, compare=False)  # of a codec; nothing to speak of otherwise


@dataclass(frozen=True, slots=True)
class Encoded:
    """A downlink payload, and its port if the codec or its caller gave one."""

    payload: bytes
    port: int | None = None
    cpu_s: float = field(default=0.0, compare=False)


class CodecFailure(Exception):
    """There is no result: why, the CPU time it took, and whether that was too much."""

    def __init__(self, reason: str, cpu_s: float = 0.0, is_timeout: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason  # shown to users
        self.cpu_s = cpu_s
        self.is_timeout = is_timeout


class DecodeError(CodecFailure):
    """The payload cannot be decoded."""


class EncodeError(CodecFailure):
    """The values cannot be encoded."""


class InvalidDecoder(Exception):
    """The source of a decoder is invalid: why, and where."""

    def __init__(self, reason: str, line: int = 1, column: int = 1, cpu_s: float = 0.0) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.reason = reason
        self.line = line
        self.column = column
        self.cpu_s = cpu_s  # that it took to find out


class Decoder(Protocol):
    """Stateless and thread-safe."""

    def decode(self, payload: bytes, port: int | None, at: Moment) -> Decoded:
        """The values of a payload, or `DecodeError`; never another error."""
        ...

    def encode(self, values: Mapping[str, Any], port: int | None) -> Encoded:
        """The payload for these values, or `EncodeError`; never another error."""
        ...


def check_payload_size(payload: bytes) -> bytes:
    """The payload, if it is not too long to decode."""
    if len(payload) > PAYLOAD_BYTES_MAX:
        raise DecodeError(f"the payload has more than {PAYLOAD_BYTES_MAX} bytes")
    return payload
