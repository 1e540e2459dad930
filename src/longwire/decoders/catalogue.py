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


class _Cache:
    """Thread-safe; what was least recently used goes first."""

    def __init__(self) -> None:
        self._decoders: OrderedDict[tuple[str, str], Decoder] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def get(self, kind: str, source: str) -> Decoder | None:
        with self._lock:
            decoder = self._decoders.get((kind, source))
            if decoder is not None:
                self._decoders.move_to_end((kind, source))
            return decoder

    def put(self, kind: str, source: str, decoder: Decoder) -> Decoder:
        with self._lock:
            if (kind, source) not in self._decoders:
                self._characters += len(source)
            self._decoders[(kind, source)] = decoder
            while len(self._decoders) > CACHED_MAX or self._characters > CACHED_CHARACTERS_MAX:
                _, evicted = self._decoders.popitem(last=False)[0]
                self._characters -= len(evicted)
        return decoder


_CACHE = _Cache()


def get_decoder(kind: str, source: str) -> Decoder:
    """The decoder of that kind and source, or `InvalidDecoder`. Thread-safe.

    A new JavaScript source is checked in a sandbox, which takes a few milliseconds; `Unavailable`
    when no sandbox is available.
    """
    make = KINDS.get(kind)
    if make is None:
        raise InvalidDecoder(f"there is no kind {kind[:64]!r}; the kinds are {', '.join(KINDS)}")
    return _CACHE.get(kind, source) or _CACHE.put(kind, source, make(source))


def get_encoder(source: str) -> JavaScriptEncoder:
    """The encoder of a JavaScript source, like `get_decoder`."""
    encoder = _CACHE.get(_ENCODER, source)
    encoder = encoder or _CACHE.put(_ENCODER, source, JavaScriptEncoder(source))
    assert isinstance(encoder, JavaScriptEncoder)
    return encoder


def cached_decoder(kind: str, source: str) -> Decoder | None:
    """The decoder if it is cached; never blocks."""
    return _CACHE.get(kind, source)
