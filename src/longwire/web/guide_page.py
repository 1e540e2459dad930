"""The documentation below /guide/: the built site, or a page that says how to build it.

The site is not committed: `make docs` builds it into a folder beside this module, from where a
wheel takes it. Its pages contain a few small scripts, which their policy allows by their hashes.
"""

import asyncio
import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from longwire.dataclass import dataclass
from longwire.errors import NotFound
from longwire.web.docs_page import build_page_headers
from longwire.web.routing import Request, Response, Route
from longwire.web.static_files import (
    Headers,
    StaticFile,
    build_file,
    build_route,
    read_folder,
    serve_current,
)

PATH = "/guide/"
FOLDER = Path(__file__).with_name("guide")
INDEX = "index.html"

_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_NOT_BUILT = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The guide is not built</title>
<h1>The guide is not built</h1>
<p>This installation of longwire comes without its documentation. In a clone of the repository,
<code>make run</code> builds it within a minute, and <code>make docs</code> says why it could not.
The same pages are in the folder <code>docs</code> of the repository, to read without building.
<p>The operations of this service, to read and try, are at <a href="../docs">/docs</a>.
"""


@dataclass(frozen=True, slots=True)
class Guide:
    """All files of the site, ready to be sent."""

    files: Mapping[str, StaticFile]
    headers: Headers


def load_guide(folder: Path) -> Guide:
    """Read and compress what was built; takes a few tenths of a second."""
    contents = read_folder(folder)
    pages = (content for name, content in contents.items() if name.endswith(".html"))
    return Guide(
        {name: build_file(name, content) for name, content in contents.items()},
        build_page_headers(build_policy(pages)),
    )


def build_policy(pages: Iterable[bytes]) -> str:
    """What the pages may load and run: files of this service, and the scripts they contain."""
    scripts = {script for page in pages for script in _INLINE_SCRIPT.findall(page)}
    digests = sorted(base64.b64encode(hashlib.sha256(each).digest()).decode() for each in scripts)
    return "; ".join(
        (
            "default-src 'none'",
            " ".join(("script-src 'self'", *(f"'sha256-{each}'" for each in digests))),
            "style-src 'self'",
            "connect-src 'self'",
            "worker-src 'self'",
            "font-src 'self'",
            "img-src 'self' data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


class GuidePage:
    """Serves the files in a folder; public and static."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._guide: Guide | None = None
        self._built_at: int | None = None  # what is loaded
        self._loading = asyncio.Lock()

    @property
    def is_built(self) -> bool:
        return self._get_build_time() is not None

    def _get_build_time(self) -> int | None:
        try:
            return (self._folder / INDEX).stat().st_mtime_ns
        except FileNotFoundError:
            return None

    async def get(self, request: Request, body: bytes) -> Response:
        built_at = self._get_build_time()
        if built_at is None:
            headers = build_page_headers(build_policy(()))
            return Response(404, _NOT_BUILT, "text/html; charset=utf-8", headers)
        guide = await self._load(built_at)
        name = request.path.removeprefix(PATH)
        if name == "" or name.endswith("/"):
            name += INDEX
        elif f"{name}/{INDEX}" in guide.files:
            return _redirect(name.rpartition("/")[2])
        file = guide.files.get(name)
        if file is None:
            raise NotFound(f"The guide has no page {request.path}; {PATH} has a search.")
        return serve_current(request, file, guide.headers)

    async def redirect(self, request: Request, body: bytes) -> Response:
        return _redirect(PATH.strip("/"))

    def routes(self) -> list[Route]:
        return [
            build_route(PATH.removesuffix("/"), self.redirect),
            build_route(PATH, self.get, takes_below=True),
        ]

    async def _load(self, built_at: int) -> Guide:
        """Load it once, and once more where it was built while the service runs."""
        async with self._loading:
            if self._guide is None or self._built_at != built_at:
                self._guide = await asyncio.to_thread(load_guide, self._folder)
                self._built_at = built_at
        return self._guide


def _redirect(folder: str) -> Response:
    """Add the slash at the end, relative in case that a proxy serves this below a path."""
    return Response(302, b"", "text/plain", ((b"location", f"{folder}/".encode()),))
