"""An archive in a file on this machine."""

import os
from pathlib import Path

from longwire.map_archives.pmtiles import MapError


class FileSource:
    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self.size = os.fstat(self._file.fileno()).st_size

    def read(self, offset: int, length: int) -> bytes:
        is_within = offset + length <= self.size  # room for the whole part would be made first
        found = os.pread(self._file.fileno(), length, offset) if is_within else b""
        if len(found) != length:
            raise MapError("This file is cut off, or damaged.")
        return found

    def close(self) -> None:
        self._file.close()
