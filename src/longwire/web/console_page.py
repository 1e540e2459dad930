"""The web console: its built files, and the page for every other path below /console/.

The files have the same names after every build, so they are served below a folder whose name is a
hash of them all: browsers may keep them for ever, and the page, which is asked for each time, names
the folder of today. The files are read and compressed once, at the first request. They name each
other by absolute paths, because the page has paths of any depth; where the public URL has a path,
it is put in front of these.
"""

import asyncio
import hashlib
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from longwire.errors import BadInput, NotFound
from longwire.map_archives.folder import MapFile, MapFolder
from longwire.web.docs_page import build_page_headers
from longwire.web.routing import Request, Response, Route
from longwire.web.static_files import (
    IMMUTABLE,
    StaticFile,
    build_file,
    build_route,
    read_folder,
    serve_current,
    serve_file,
)

PATH = "/console/"
FOLDER = Path(__file__).with_name("console")
INDEX = "index.html"
MANIFEST = "manifest.json"  # what the files were built from; nobody needs it to show the page
# Stands for the name of the folder in the built files, after PATH; `base` in
# console/vite.config.ts.
PLACEHOLDER = b"__files__"
_MAP_MEDIA_TYPE = "application/vnd.pmtiles"
FINGERPRINT_CHARACTERS = 12
NOT_BUILT = "The console is not part of this installation; `make console` builds it."

_BELOW_FINGERPRINT = re.compile(rf"([0-9a-f]{{{FINGERPRINT_CHARACTERS}}}|{PLACEHOLDER.decode()})/")
# The page of a link to a shared view, by the id of that: its secret is in the fragment.
_SHARED_VIEW = re.compile(r"shared/(shr_[a-z0-9]{1,64})")
# A part of the operator's map, by the fingerprint of that.
_MAP = re.compile(r"map/([0-9a-f]{12})\.pmtiles")
_RANGE = re.compile(rb"bytes=([0-9]{1,15})-([0-9]{1,15})")
# Readers ask for a directory or a tile at a time; a longer part is answered with its beginning.
RANGE_BYTES_MAX = 4 * 1024 * 1024
_TEXTS = (".html", ".js", ".css", ".json", ".webmanifest", ".svg")  # these may name the folder


@dataclass(frozen=True, slots=True)
class Console:
    """All files of a build, ready to be sent."""

    fingerprint: str
    files: Mapping[str, StaticFile]

    @property
    def index(self) -> StaticFile:
        return self.files[INDEX]


def load_console(folder: Path, base_path: str = "") -> Console:
    """Read and compress what was built; takes about a tenth of a second."""
    contents = read_folder(folder)
    contents.pop(MANIFEST, None)
    if base_path:
        contents = {
            name: _move_below(base_path, name, content) for name, content in contents.items()
        }
    digest = hashlib.sha256()
    for name, content in contents.items():
        digest.update(b"%s\0%d\0%s" % (name.encode(), len(content), content))
    fingerprint = digest.hexdigest()[:FINGERPRINT_CHARACTERS]
    files = {name: _build_file(name, content, fingerprint) for name, content in contents.items()}
    return Console(fingerprint, files)


def _move_below(base_path: str, name: str, content: bytes) -> bytes:
    """The content of a file with `base_path` in front of the paths of other files."""
    if Path(name).suffix not in _TEXTS:
        return content
    path = PATH.encode() + PLACEHOLDER
    return content.replace(path, base_path.encode() + path)


def _build_file(name: str, content: bytes, fingerprint: str) -> StaticFile:
    if Path(name).suffix in _TEXTS:
        content = content.replace(PLACEHOLDER, fingerprint.encode())
    return build_file(name, content)


def build_policy(map_tiles: str = "", embedding_origins: Sequence[str] = ()) -> str:
    """What the page may load and run: its own files, and images of the operator's tile server.

    And pages of which origins may embed it.
    """
    parts = urlsplit(map_tiles)
    tiles = f" {parts.scheme}://{parts.netloc}" if map_tiles else ""
    ancestors = " ".join(embedding_origins) or "'none'"
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
            f"frame-ancestors {ancestors}",
        )
    )


ListOrigins = Callable[[str], Awaitable[Sequence[str]]]


async def _list_none(share_id: str) -> Sequence[str]:
    return ()


def _read_part(found: MapFile, begin: int, length: int) -> bytes:
    try:
        with found.path.open("rb") as file:
            content = os.pread(file.fileno(), length, begin)
    except FileNotFoundError:
        content = b""
    if not content:
        raise NotFound("There is another map by now, or none; load the page again.")
    return content


class ConsolePage:
    """Serves the files in a folder; public and static, what the page shows it gets from the API."""

    def __init__(
        self,
        folder: Path,
        map_tiles: str = "",
        base_path: str = "",
        list_embedding_origins: ListOrigins = _list_none,
        map_folder: MapFolder | None = None,
    ) -> None:
        """`list_embedding_origins` says pages of which origins may embed a shared view."""
        self._folder = folder
        self._base_path = base_path
        self._map_tiles = map_tiles
        self._list_embedding_origins = list_embedding_origins
        self._map_folder = map_folder
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
        if (shared := _SHARED_VIEW.fullmatch(path)) is not None:
            origins = await self._list_embedding_origins(shared[1])
            headers = build_page_headers(build_policy(self._map_tiles, origins))
            return serve_current(request, console.index, headers)
        if (part := _MAP.fullmatch(path)) is not None:
            return await self._get_map_part(request, part[1])
        if not _BELOW_FINGERPRINT.match(path):
            return serve_current(request, console.index, self._headers)
        folder, _, name = path.partition("/")
        file = console.files.get(name) if folder == console.fingerprint else None
        if file is None:
            raise NotFound(f"There is no file {request.path}; load the page again.")
        return serve_file(request, file, self._headers, IMMUTABLE)

    async def _get_map_part(self, request: Request, fingerprint: str) -> Response:
        """A part of the operator's map, which browsers keep: another map has another name."""
        found = await asyncio.to_thread(self._map_folder.find) if self._map_folder else None
        if found is None or found.fingerprint != fingerprint:
            raise NotFound("There is another map by now, or none; load the page again.")
        wanted = _RANGE.fullmatch(request.headers.get(b"range", b""))
        if wanted is None:
            raise BadInput("Ask for a part of the map: Range: bytes=0-16383.")
        begin, end = int(wanted[1]), min(int(wanted[2]), found.size - 1)
        if begin > end:
            headers = ((b"content-range", b"bytes */%d" % found.size),)
            return Response(416, b"", _MAP_MEDIA_TYPE, (*self._headers, *headers))
        content = await asyncio.to_thread(
            _read_part, found, begin, min(end - begin + 1, RANGE_BYTES_MAX)
        )
        end = begin + len(content) - 1
        part_headers = (
            (b"content-range", b"bytes %d-%d/%d" % (begin, end, found.size)),
            (b"accept-ranges", b"bytes"),
            (b"etag", b'"%s"' % fingerprint.encode()),
        )
        return Response(206, content, _MAP_MEDIA_TYPE, (*self._headers, *part_headers), IMMUTABLE)

    async def redirect(self, request: Request, body: bytes) -> Response:
        """Add the slash at the end, relative in case that a proxy serves this below a path."""
        return Response(302, b"", "text/plain", ((b"location", b"console/"),))

    def routes(self) -> list[Route]:
        return [
            build_route(PATH.removesuffix("/"), self.redirect),
            build_route(PATH, self.get, takes_below=True),
        ]

    async def _load(self) -> Console:
        async with self._loading:
            if self._console is None:
                self._console = await asyncio.to_thread(load_console, self._folder, self._base_path)
        return self._console
