"""What the service and a sandbox process send to each other.

A request is a source and a call. Both sides number the sources of a process from 0, so a source is
sent with the first call of it and referred to by its number afterwards; number 0 with a source
starts the numbering again. A response is one JSON object and the CPU time it took:

    {"value": …}                            what the codec returned
    {"thrown": text, "stack": text}         what it threw, when it was loaded or when it was called
    {"stopped": "load" | "time" | "size"}   why it was not allowed to finish
"""

import struct
from dataclasses import fields
from typing import Final, Self

from longwire.dataclass import dataclass

# Of a request: the number of its source, the bytes of the source, the bytes of the call. Of a
# response: its bytes, the CPU time in microseconds.
REQUEST_HEAD: Final = struct.Struct("!III")
RESPONSE_HEAD: Final = struct.Struct("!II")
# Instead of the bytes of a source that was sent before.
SENT_BEFORE: Final = 2**32 - 1
# One byte is sent when the process is ready: this one, plus the number of its `Confinement`.
READY: Final = 0x40

SOURCES_MAX: Final = 256
CHUNK_BYTES_MAX: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """The limits of one call of a codec, and of loading it."""

    processor_s_max: float = 0.05
    load_processor_s_max: float = 0.25
    memory_bytes_max: int = 16 * 1024 * 1024
    result_bytes_max: int = 256 * 1024

    def to_arguments(self) -> list[str]:
        return [str(getattr(self, each.name)) for each in fields(self)]

    @classmethod
    def from_arguments(cls, arguments: list[str]) -> Self:
        call, load, memory, result = arguments
        return cls(float(call), float(load), int(memory), int(result))
