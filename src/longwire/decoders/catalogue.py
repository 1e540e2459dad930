"""The kinds of decoders by name, and a cache of the decoders used last."""

import threading
from collections.abc import Callable

from longwire.decoders.base import Decoder, InvalidDecoder
from longwire.decoders.bits import BitsDecoder
from longwire.decoders.javascript import JavaScriptDecoder
from longwire.decoders.lpp import LppDecoder

# A decoder is small, its source at most 128 KiB: 32 MiB if all of them have the maximal size.
DECODERS_CACHED_MAX = 256

KINDS: dict[str, Callable[[str], Decoder]] = {
    "bits": BitsDecoder,
    "cayenneLpp": LppDecoder,
    "javascript": JavaScriptDecoder,
}
_BLOCKING_KINDS = {"javascript"}


def is_blocking(kind: str) -> bool:
    """Whether decoders of this kind wait for a sandbox, so the event loop must not."""
    return kind in _BLOCKING_KINDS


_cache: dict[tuple[str, str], Decoder] = {}
_lock = threading.Lock()


def get_decoder(kind: str, source: str) -> Decoder:
    """The decoder of that kind and source, or `InvalidDecoder`. Thread-safe.

    A new JavaScript source is checked in a sandbox, which takes a few milliseconds; `Unavailable`
    when no sandbox is available.
    """
    cached = cached_decoder(kind, source)
    if cached is not None:
        return cached
    make = KINDS.get(kind)
    if make is None:
        raise InvalidDecoder(f"there is no kind {kind[:64]!r}; the kinds are {', '.join(KINDS)}")
    decoder = make(source)
    with _lock:
        _cache[(kind, source)] = decoder
        if len(_cache) > DECODERS_CACHED_MAX:
            del _cache[next(iter(_cache))]
    return decoder


def cached_decoder(kind: str, source: str) -> Decoder | None:
    """The decoder if it is cached; never blocks."""
    with _lock:
        decoder = _cache.pop((kind, source), None)
        if decoder is not None:
            _cache[(kind, source)] = decoder  # least recently used first
        return decoder
