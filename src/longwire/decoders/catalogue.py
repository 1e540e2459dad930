"""The kinds of decoders by name, and a cache of the decoders and encoders used last."""

import threading
from collections import OrderedDict
from collections.abc import Callable

from longwire.decoders.base import Decoder, InvalidDecoder
from longwire.decoders.bits import BitsDecoder
from longwire.decoders.javascript import JavaScriptDecoder, JavaScriptEncoder
from longwire.decoders.lpp import LppDecoder

CACHED_MAX = 256
# All sources together.
CACHED_CHARACTERS_MAX = 16 * 1024 * 1024

KINDS: dict[str, Callable[[str], Decoder]] = {
    "bits": BitsDecoder,
    "cayenneLpp": LppDecoder,
    "javascript": JavaScriptDecoder,
}
JAVASCRIPT = "javascript"
_BLOCKING_KINDS = {JAVASCRIPT}
_ENCODER = "encoder"


def is_blocking(kind: str) -> bool:
    """Whether decoders of this kind wait for a sandbox, so the event loop must not."""
    return kind in _BLOCKING_KINDS


_cache: OrderedDict[tuple[str, str], Decoder] = OrderedDict()  # least recently used first
_cached_characters = 0
_lock = threading.Lock()


def get_decoder(kind: str, source: str) -> Decoder:
    """The decoder of that kind and source, or `InvalidDecoder`. Thread-safe.

    A new JavaScript source is checked in a sandbox, which takes a few milliseconds; `Unavailable`
    when no sandbox is available.
    """
    make = KINDS.get(kind)
    if make is None:
        raise InvalidDecoder(f"there is no kind {kind[:64]!r}; the kinds are {', '.join(KINDS)}")
    return cached_decoder(kind, source) or _put(kind, source, make(source))


def get_encoder(source: str) -> JavaScriptEncoder:
    """The encoder of a JavaScript source, like `get_decoder`."""
    encoder = cached_decoder(_ENCODER, source) or _put(_ENCODER, source, JavaScriptEncoder(source))
    assert isinstance(encoder, JavaScriptEncoder)
    return encoder


def cached_decoder(kind: str, source: str) -> Decoder | None:
    """The decoder if it is cached; never blocks."""
    with _lock:
        decoder = _cache.get((kind, source))
        if decoder is not None:
            _cache.move_to_end((kind, source))
        return decoder


def _put(kind: str, source: str, decoder: Decoder) -> Decoder:
    global _cached_characters
    with _lock:
        if (kind, source) not in _cache:
            _cached_characters += len(source)
        _cache[(kind, source)] = decoder
        while len(_cache) > CACHED_MAX or _cached_characters > CACHED_CHARACTERS_MAX:
            _, evicted = _cache.popitem(last=False)[0]
            _cached_characters -= len(evicted)
    return decoder
