"""The kinds of decoders by name, and the decoders that were made lately."""

from collections.abc import Callable
from functools import lru_cache

from longwire.decoders.base import BadDecoder, Decoder
from longwire.decoders.bits import BitsDecoder
from longwire.decoders.javascript import JavaScriptDecoder
from longwire.decoders.lpp import LppDecoder

# A decoder is small, its source at most 128 KiB: 32 MiB if all of them are as large as can be.
DECODERS_KEPT_MAX = 256

KINDS: dict[str, Callable[[str], Decoder]] = {
    "bits": BitsDecoder,
    "cayenneLpp": LppDecoder,
    "javascript": JavaScriptDecoder,
}
_WAITING = {"javascript"}


def waits(kind: str) -> bool:
    """Whether decoders of this kind wait for something, so that the event loop must not ask."""
    return kind in _WAITING


@lru_cache(maxsize=DECODERS_KEPT_MAX)
def decoder_of(kind: str, source: str) -> Decoder:
    """The decoder of that kind and source, or `BadDecoder`. Safe in any thread.

    A new JavaScript source is tried in a sandbox, which takes a few milliseconds; `Unavailable`
    when no sandbox can be had.
    """
    make = KINDS.get(kind)
    if make is None:
        raise BadDecoder(f"there is no kind {kind[:64]!r}; the kinds are {', '.join(KINDS)}")
    return make(source)
