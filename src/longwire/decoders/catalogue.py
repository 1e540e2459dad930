"""The kinds of decoders by name; those of a process, with the sandboxes in which they run."""

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial

from longwire.decoders.base import Decoder, InvalidDecoder
from longwire.decoders.bits import BitsDecoder
from longwire.decoders.javascript import JavaScriptDecoder, JavaScriptEncoder
from longwire.decoders.lpp import LppDecoder
from longwire.decoders.sandbox_pool import SandboxPool

CACHED_MAX = 256
# All sources together.
CACHED_CHARACTERS_MAX = 16 * 1024 * 1024

JAVASCRIPT = "javascript"
KINDS = ("bits", "cayenneLpp", JAVASCRIPT)
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


class Decoders:
    """The decoders and encoders of a process, of which those used last are cached. Thread-safe.

    A new JavaScript source is checked in a sandbox, which takes a few milliseconds; `Unavailable`
    when no sandbox is available.
    """

    def __init__(self) -> None:
        self._pool = SandboxPool()
        self._cache = _Cache()
        self._kinds: Mapping[str, Callable[[str], Decoder]] = {
            "bits": BitsDecoder,
            "cayenneLpp": LppDecoder,
            JAVASCRIPT: partial(JavaScriptDecoder, pool=self._pool),
        }
        weakref.finalize(self, self._pool.stop)  # also when the process ends

    def build(self, kind: str, source: str) -> Decoder:
        """A decoder that is used once, or `InvalidDecoder`."""
        make = self._kinds.get(kind)
        if make is None:
            known = ", ".join(self._kinds)
            raise InvalidDecoder(f"there is no kind {kind[:64]!r}; the kinds are {known}")
        return make(source)

    def get(self, kind: str, source: str) -> Decoder:
        """The decoder of that kind and source, or `InvalidDecoder`."""
        found = self._cache.get(kind, source)
        return found or self._cache.put(kind, source, self.build(kind, source))

    def get_encoder(self, source: str) -> JavaScriptEncoder:
        """The encoder of a JavaScript source, like `get`."""
        encoder = self._cache.get(_ENCODER, source)
        if encoder is None:
            encoder = JavaScriptEncoder(source, self._pool)
            self._cache.put(_ENCODER, source, encoder)
        assert isinstance(encoder, JavaScriptEncoder)
        return encoder

    def find_cached(self, kind: str, source: str) -> Decoder | None:
        """The decoder if it is cached; never blocks."""
        return self._cache.get(kind, source)
