"""Where backups and archives are kept: a folder, or a bucket of an S3-compatible store."""

import fcntl
import importlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from longwire import extras
from longwire.errors import OperatorError

S3_SCHEME = "s3://"
ERROR_CHARACTERS_MAX = 500


class BlobError(OperatorError):
    """What is kept is missing or damaged, or its place cannot be used; the message says why."""


class BlobStore(Protocol):
    """Named bytes. A blob is there as a whole or not at all, and is never changed."""

    def lock(self) -> AbstractContextManager[None]:
        """Keep other backups away, where that is possible: one of them might delete chunks."""

    def put(self, name: str, content: bytes) -> None: ...

    def get(self, name: str, bytes_max: int) -> bytes:
        """Its content; raises BlobError if there is none, or more than that."""

    def get_size(self, name: str) -> int: ...

    def get_range(self, name: str, start: int, size: int) -> bytes:
        """So many bytes of it, from a place on."""

    def list_names(self, prefix: str) -> Iterator[str]: ...

    def delete(self, names: Iterable[str]) -> None: ...


def open_store(place: str, *, retry_s: int = 180) -> BlobStore:
    """The store at a path, or at s3://bucket/prefix, which is tried again for so long."""
    return S3Store(place, retry_s) if place.startswith(S3_SCHEME) else FolderStore(Path(place))


class FolderStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def lock(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self._folder / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise BlobError(f"Another backup is being made in {self._folder}.") from error
            yield

    def put(self, name: str, content: bytes) -> None:
        path = self._folder / name
        created = [each for each in path.parents if not each.exists()]
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, part = tempfile.mkstemp(".part", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(part).replace(path)
        finally:
            Path(part).unlink(missing_ok=True)
        for each in (path.parent, *(folder.parent for folder in created)):
            folder = os.open(each, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def get(self, name: str, bytes_max: int) -> bytes:
        path = self._folder / name
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode) or found.st_size > bytes_max:
                raise BlobError(f"{path} is not a file of a backup, or damaged.")
            return path.read_bytes()
        except OSError as error:
            raise BlobError(f"{path}: {error.strerror}") from error

    def get_size(self, name: str) -> int:
        path = self._folder / name
        try:
            return path.stat().st_size
        except OSError as error:
            raise BlobError(f"{path}: {error.strerror}") from error

    def get_range(self, name: str, start: int, size: int) -> bytes:
        path = self._folder / name
        try:
            with path.open("rb") as file:
                file.seek(start)
                return file.read(size)
        except OSError as error:
            raise BlobError(f"{path}: {error.strerror}") from error

    def list_names(self, prefix: str) -> Iterator[str]:
        for path in sorted((self._folder / prefix).rglob("*")):
            if path.is_file() and path.suffix != ".part":
                yield path.relative_to(self._folder).as_posix()

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            (self._folder / name).unlink(missing_ok=True)


class S3Store:
    """A bucket; credentials, region and endpoint are those of the environment (AWS_…)."""

    def __init__(self, place: str, retry_s: int) -> None:
        bucket, _, prefix = place.removeprefix(S3_SCHEME).partition("/")
        if not bucket:
            raise BlobError(f"{place} names no bucket; write s3://bucket/prefix.")
        try:
            # Part of an extra, and slow to load.
            library: Any = importlib.import_module("obstore")
            stores: Any = importlib.import_module("obstore.store")
        except ImportError as error:
            how = extras.how_to_install("s3")
            raise BlobError(f"Backups to S3 need the extra: {how}") from error
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        self._place = place
        self._errors: type[Exception] = library.exceptions.BaseError
        self._store: Any = stores.S3Store(
            bucket,
            prefix=prefix.strip("/") or None,
            client_options={"allow_http": endpoint.startswith("http://")},
            retry_config={"retry_timeout": timedelta(seconds=retry_s)},
        )

    def lock(self) -> AbstractContextManager[None]:
        return nullcontext()  # such a store has no locks

    def put(self, name: str, content: bytes) -> None:
        self._run(self._store.put, name, content)

    def get(self, name: str, bytes_max: int) -> bytes:
        found = self._run(self._store.get, name)
        if found.meta["size"] > bytes_max:
            raise BlobError(f"{self._place}: {name} is not of a backup, or damaged.")
        return bytes(found.bytes())

    def get_size(self, name: str) -> int:
        return int(self._run(self._store.head, name)["size"])

    def get_range(self, name: str, start: int, size: int) -> bytes:
        def get() -> bytes:
            return bytes(self._store.get_range(name, start=start, length=size))

        return bytes(self._run(get))

    def list_names(self, prefix: str) -> Iterator[str]:
        def collect() -> list[str]:
            return [str(each["path"]) for page in self._store.list(prefix) for each in page]

        yield from self._run(collect)

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            self._run(self._store.delete, name)

    def _run(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except (self._errors, OSError) as error:
            # It repeats what the store has answered with, whatever that is.
            line = str(error).strip().partition("\n")[0][:ERROR_CHARACTERS_MAX]
            raise BlobError(f"{self._place}: {line}") from error
