"""Compresses responses with gzip for clients that accept it.

Only where it is safe and cheap. Safe: an observer who can cause requests and measure the length of
their encrypted responses finds out secrets that stand beside text of theirs (BREACH). So responses
with secrets are sent as they are, and the others get a header of random length. Cheap: a page of a
hundred records takes a tenth of a millisecond. Larger responses are compressed in a thread; if all
of those are busy, the response leaves as it is, so nobody waits.
"""

import asyncio
import secrets
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from isal import isal_zlib

from longwire.web.routing import Request, Response, Route

# Less than this fits into one packet anyway.
BYTES_MIN = 1_400
# Takes about 0.2 ms.
BYTES_ON_LOOP_MAX = 64 * 1024
THREADS = 2
PADDING_BYTES_MAX = 64

_LEVEL = 1  # of 0 to 3; 2 takes twice as long for 3 % less
_RAW_DEFLATE = -15
_HEADER = b"\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xff"  # with a file name, of which there is none
# No cache may keep what is compressed here, so `Vary` is only for those that do nevertheless.
_HEADERS = ((b"content-encoding", b"gzip"), (b"vary", b"accept-encoding"))


def accepts_gzip(request: Request) -> bool:
    accepted = request.headers.get(b"accept-encoding")
    if accepted is None:
        return False
    for coding in accepted.lower().split(b","):
        name, _, weight = coding.replace(b" ", b"").partition(b";q=")
        if name in (b"gzip", b"*"):
            return weight.strip(b"0.") != b"" or not weight
    return False


def compress(body: bytes) -> bytes:
    """A gzip file, with a file name of random length."""
    compressor = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, _RAW_DEFLATE)
    name = b"a" * secrets.randbelow(PADDING_BYTES_MAX)
    return b"".join(
        (
            _HEADER,
            name,
            b"\0",
            compressor.compress(body),
            compressor.flush(),
            struct.pack("<LL", isal_zlib.crc32(body), len(body) & 0xFFFFFFFF),
        )
    )


class Compression:
    def __init__(self) -> None:
        # Its threads are started when they are needed.
        self._threads = ThreadPoolExecutor(THREADS, "compression")
        self._busy = 0

    async def apply(self, request: Request, route: Route | None, response: Response) -> Response:
        """The response, of at least `BYTES_MIN`, compressed if that is accepted and allowed."""
        ready = self.apply_at_once(request, route, response)
        if ready is not None:
            return ready
        body = await self._compress(response.body)
        if body is None:
            return response
        if response.cached is not None:
            response.cached.keep_gzipped(body)
        return _with_gzipped(response, body)

    def apply_at_once(
        self, request: Request, route: Route | None, response: Response
    ) -> Response | None:
        """The same, unless there is something to compress first."""
        if route is None or not route.may_be_compressed:
            return response
        if response.status != 200 or not accepts_gzip(request):
            return response
        body = response.cached.gzipped if response.cached is not None else None
        return _with_gzipped(response, body) if body is not None else None

    async def _compress(self, body: bytes) -> bytes | None:
        if len(body) <= BYTES_ON_LOOP_MAX:
            return compress(body)
        if self._busy >= THREADS:
            return None
        self._busy += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, compress, body)
        finally:
            self._busy -= 1

    def close(self) -> None:
        self._threads.shutdown()


def _with_gzipped(response: Response, body: bytes) -> Response:
    return replace(response, body=body, headers=(*response.headers, *_HEADERS))
