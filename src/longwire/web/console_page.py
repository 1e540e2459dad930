"""The web console: its built files, and the page for every other path below /console/.

The files have the same names after every build, so they are served below a folder whose name is a
hash of them all: browsers may keep them for ever, and the page, which is asked for each time, names
the folder of today. The files are read and compressed once, at the first request.
"""

import asyncio
import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from longwire.errors import NotFound
from longwire.web.docs_page import build_page_headers
from longwire.web.routing import NO_TOKEN, Handler, PlainRoute, Request, Response

PATH = "/console/"
FOLDER = Path(__file__).with_name("console")
INDEX = "index.html"
MANIFEST = "manifest.json"  # what the files were built from; nobody needs it to show the page
# Stands for the name of the folder in the built files; `base` in console/vite.config.ts.
PLACEHOLDER = b"__files__"
FINGERPRINT_CHARACTERS = 12
IMMUTABLE = b"public, max-age=31536000, immutable"
NOT_BUILT = "The console is not part of this installation; `make console` builds it."

_BELOW_FINGERPRINT = re.compile(rf"([0-9a-f]{{{FINGERPRINT_CHARACTERS}}}|{PLACEHOLDER.decode()})/")
_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".geojson": "application/geo+json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".png": "image/png",
    ".webp": "image/webp",
    ".ico": "image/vnd.microsoft.icon",
    ".woff2": "font/woff2",
}
_OTHER = "application/octet-stream"
_COMPRESSED = (".png", ".webp", ".woff2")  # by themselves
_TEXTS = (".html", ".js", ".css", ".json", ".webmanifest", ".svg")  # these may name the folder


@dataclass(frozen=True, slots=True)
class ConsoleFile:
    content: bytes
    media_type: str
    gzipped: bytes | None  # unless that saves nothing


@dataclass(frozen=True, slots=True)
class Console:
    """All files of a build, ready to be sent."""

    fingerprint: str
    files: Mapping[str, ConsoleFile]

    @property
    def index(self) -> ConsoleFile:
        return self.files[INDEX]


def load_console(folder: Path) -> Console:
    """Read and compress what was built; takes about a tenth of a second."""
    contents = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).as_posix() != MANIFEST
    }
    digest = hashlib.sha256()
    for name, content in contents.items():
        digest.update(b"%s\0%d\0%s" % (name.encode(), len(content), content))
    fingerprint = digest.hexdigest()[:FINGERPRINT_CHARACTERS]
    files = {name: _build_file(name, content, fingerprint) for name, content in contents.items()}
    return Console(fingerprint, files)


def _build_file(name: str, content: bytes, fingerprint: str) -> ConsoleFile:
    suffix = Path(name).suffix
    if suffix in _TEXTS:
        content = content.replace(PLACEHOLDER, fingerprint.encode())
    gzipped = None if suffix in _COMPRESSED else gzip.compress(content, mtime=0)
    if gzipped is not None and len(gzipped) >= len(content):
        gzipped = None
    return ConsoleFile(content, _MEDIA_TYPES.get(suffix, _OTHER), gzipped)


def build_policy(map_tiles: str = "") -> str:
    """What the page may load and run: its own files, and images of the operator's tile server."""
    parts = urlsplit(map_tiles)
    tiles = f" {parts.scheme}://{parts.netloc}" if map_tiles else ""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "worker-src 'self'",
            "font-src 'self'",
            "manifest-src 'self'",
            f"img-src 'self' data: blob:{tiles}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


class ConsolePage:
    """Serves the files in a folder; public and static, what the page shows it gets from the API."""

    def __init__(self, folder: Path, map_tiles: str = "") -> None:
        self._folder = folder
        self._headers = build_page_headers(build_policy(map_tiles))
        self._console: Console | None = None
        self._loading = asyncio.Lock()
        self.is_built = (folder / INDEX).is_file()

    async def get(self, request: Request, body: bytes) -> Response:
        """Serve a file, or the page for what is none: its script decides what a path shows."""
        if not self.is_built:
            raise NotFound(NOT_BUILT)
        console = await self._load()
        path = request.path.removeprefix(PATH)
        if not _BELOW_FINGERPRINT.match(path):
            return self._serve_page(request, console.index)
        folder, _, name = path.partition("/")
        file = console.files.get(name) if folder == console.fingerprint else None
        if file is None:
            raise NotFound(f"There is no file {request.path}; load the page again.")
        return self._serve(request, file, IMMUTABLE)

    async def redirect(self, request: Request, body: bytes) -> Response:
        """Add the slash at the end, relative in case that a proxy serves this below a path."""
        return Response(302, b"", "text/plain", ((b"location", b"console/"),))

    def routes(self) -> list[PlainRoute]:
        return [
            _route(PATH.removesuffix("/"), self.redirect),
            _route(PATH, self.get, takes_below=True),
        ]

    async def _load(self) -> Console:
        async with self._loading:
            if self._console is None:
                self._console = await asyncio.to_thread(load_console, self._folder)
        return self._console

    def _serve_page(self, request: Request, index: ConsoleFile) -> Response:
        response = self._serve(request, index, b"no-cache")
        etag = b'"%s"' % hashlib.sha256(response.body).hexdigest()[:32].encode()
        response.headers += ((b"etag", etag),)
        if etag in request.headers.get(b"if-none-match", b""):
            response.status, response.body = 304, b""
        return response

    def _serve(self, request: Request, file: ConsoleFile, cache_control: bytes) -> Response:
        headers = (*self._headers, (b"vary", b"accept-encoding"))
        content = file.content
        if file.gzipped is not None and _takes_gzip(request):
            content = file.gzipped
            headers += ((b"content-encoding", b"gzip"),)
        return Response(200, content, file.media_type, headers, cache_control)


def _takes_gzip(request: Request) -> bool:
    for coding in request.headers.get(b"accept-encoding", b"").lower().split(b","):
        name, _, weight = coding.replace(b" ", b"").partition(b";q=")
        if name in (b"gzip", b"*"):
            return weight.strip(b"0.") != b"" or not weight
    return False


def _route(path: str, handler: Handler, *, takes_below: bool = False) -> PlainRoute:
    return PlainRoute(
        method="GET",
        path=path,
        handler=handler,
        permission=NO_TOKEN,
        object_rule="reveals nothing about any group",
        takes_below=takes_below,
    )
