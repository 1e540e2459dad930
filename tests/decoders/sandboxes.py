"""The sandboxes that the tests of a process share; to start one takes a while."""

import atexit
from functools import cache

from longwire.decoders.javascript import JavaScriptDecoder, JavaScriptEncoder
from longwire.decoders.sandbox_pool import SandboxPool


class SharedSandboxPool(SandboxPool):
    """Goes on when one of those who use it has ended."""

    def stop(self) -> None:
        pass


@cache
def share_sandboxes() -> SandboxPool:
    pool = SharedSandboxPool()
    atexit.register(SandboxPool.stop, pool)
    return pool


def build_decoder(source: str, pool: SandboxPool | None = None) -> JavaScriptDecoder:
    return JavaScriptDecoder(source, pool or share_sandboxes())


def build_encoder(source: str) -> JavaScriptEncoder:
    return JavaScriptEncoder(source, share_sandboxes())
