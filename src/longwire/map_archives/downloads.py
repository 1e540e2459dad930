"""An archive at a URL, of which only parts are downloaded."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from longwire.map_archives.pmtiles import MapError, MapSource
from longwire.map_archives.sources import FileSource

TIMEOUT_S = 60.0
_URL_PREFIXES = ("http://", "https://")


class HttpSource:
    """A file at a URL, of which only parts are asked for."""

    def __init__(self, client: httpx.Client, url: str) -> None:
        self._client = client
        self._url = url
        self.size = self._find_size()

    def _find_size(self) -> int:
        total = self._get(0, 1)[0].get("content-range", "").rpartition("/")[2]
        if not total.isdecimal():
            raise MapError(f"The server does not say how large {self._url} is.")
        return int(total)

    def read(self, offset: int, length: int) -> bytes:
        if length == 0:
            return b""
        if offset + length > self.size:
            raise MapError("This file is cut off, or damaged.")
        _, found = self._get(offset, length)
        if len(found) != length:
            raise MapError("The server has sent less than it was asked for.")
        return found

    def _get(self, offset: int, length: int) -> tuple[httpx.Headers, bytes]:
        wanted = {"range": f"bytes={offset}-{offset + length - 1}", "accept-encoding": "identity"}
        try:
            # The body is read only where it is the part: else it may be the whole planet.
            with self._client.stream("GET", self._url, headers=wanted) as response:
                if response.status_code == 206:
                    return response.headers, _read(response, length)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise MapError(
                f"{self._url} cannot be read: {str(error) or type(error).__name__}"
            ) from error
        if response.status_code == 200:
            raise MapError(
                f"The server of {self._url} sends whole files only. Download it, and add the file."
            )
        raise MapError(f"{self._url} cannot be read: the server answers {response.status_code}.")


def _read(response: httpx.Response, length: int) -> bytes:
    """The part as it is sent, of which there may be more than was asked for."""
    found = bytearray()
    for piece in response.iter_raw():
        found += piece
        if len(found) > length:
            raise MapError("The server has sent more than it was asked for.")
    return bytes(found)


@contextmanager
def open_source(place: str) -> Iterator[MapSource]:
    """A file or a URL, for reading."""
    if place.startswith(_URL_PREFIXES):
        with httpx.Client(timeout=TIMEOUT_S, follow_redirects=True) as client:
            yield HttpSource(client, place)
        return
    source = FileSource(Path(place))
    try:
        yield source
    finally:
        source.close()
