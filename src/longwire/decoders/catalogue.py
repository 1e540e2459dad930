"""The kinds of decoders by name, and the decoders that were made lately."""

import threading
from collections.abc import Callable

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


def decoder_of(kind: str, source: str) -> Decoder:
    """The decoder of that kind and source, or `BadDecoder`. Safe in any thread.

    A new JavaScript source is tried in a sandbox, which takes a few milliseconds; `Unavailable`
    when no sandbox can be had.
    """
    known = known_decoder(kind, source)
    if known is not None:
        return known
    make = KINDS.get(kind)
    if make is None:
        raise BadDecoder(f"there is no kind {kind[:64]!r}; the kinds are {', '.join(KINDS)}")
    decoder = make(source)
    with _lock:
        _made[(kind, source)] = decoder
        if len(_made) > DECODERS_KEPT_MAX:
            del _made[next(iter(_made))]
    return decoder


def known_decoder(kind: str, source: str) -> Decoder | None:
    """The same if it was made before, which takes no time."""
    with _lock:
        decoder = _made.pop((kind, source), None)
        if decoder is not None:
            _made[(kind, source)] = decoder  # the last to go
        return decoder


_made: dict[tuple[str, str], Decoder] = {}
_lock = threading.Lock()
