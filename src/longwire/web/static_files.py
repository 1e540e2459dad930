"""Files of a built page: read and compressed once, then sent from memory.

For the console and the guide. Which path is which file is theirs to say.
"""

import gzip
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from longwire.web.compression import accepts_gzip
from longwire.web.routing import NO_TOKEN, Request, Response, Route

Headers = tuple[tuple[bytes, bytes], ...]

IMMUTABLE = b"public, max-age=31536000, immutable"
_ASK_EACH_TIME = b"no-cache"
_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".geojson": "application/geo+json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".xml": "application/xml",
    ".png": "image/png",
    ".webp": "image/webp",
    ".ico": "image/vnd.microsoft.icon",
    ".woff2": "font/woff2",
}
_OTHER = "application/octet-stream"
_COMPRESSED = (".png", ".webp", ".woff2")  # by themselves


@dataclass(frozen=True, slots=True)
class StaticFile:
    content: bytes
    media_type: str
    gzipped: bytes | None  # unless that saves nothing


def read_folder(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by their path in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def build_file(name: str, content: bytes) -> StaticFile:
    suffix = Path(name).suffix
    gzipped = None if suffix in _COMPRESSED else gzip.compress(content, mtime=0)
    if gzipped is not None and len(gzipped) >= len(content):
        gzipped = None
    return StaticFile(content, _MEDIA_TYPES.get(suffix, _OTHER), gzipped)


def serve_file(
    request: Request, file: StaticFile, headers: Headers, cache_control: bytes
) -> Response:
    headers = (*headers, (b"vary", b"accept-encoding"))
    content = file.content
    if file.gzipped is not None and accepts_gzip(request):
        content = file.gzipped
        headers += ((b"content-encoding", b"gzip"),)
    return Response(200, content, file.media_type, headers, cache_control)


def serve_current(request: Request, file: StaticFile, headers: Headers) -> Response:
    """Serve a file that browsers ask for each time, and get only if it has changed."""
    response = serve_file(request, file, headers, _ASK_EACH_TIME)
    # A browser that has the file may have it with other headers.
    policies = b"".join(value for _, value in headers)
    etag = b'"%s"' % hashlib.sha256(response.body + policies).hexdigest()[:32].encode()
    response.headers += ((b"etag", etag),)
    if etag in request.headers.get(b"if-none-match", b""):
        response.status, response.body = 304, b""
    return response


def build_route(
    path: str,
    handler: Callable[[Request, bytes], Awaitable[Response]],
    *,
    takes_below: bool = False,
) -> Route:
    return Route(
        "GET",
        path,
        handler,
        NO_TOKEN,
        object_rule="reveals nothing about any group",
        tag="Service",
        takes_below=takes_below,
        takes_cors=False,
        compresses_itself=True,
        is_documented=False,
    )
