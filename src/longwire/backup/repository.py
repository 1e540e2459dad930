"""The backups in a store: chunks by their content, manifests by their time."""

import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import field

import msgspec
from isal import isal_zlib

from longwire.blobs import BlobStore
from longwire.dataclass import dataclass
from longwire.errors import OperatorError

FORMAT = 1
# Nothing that we store is larger, so a folder that a stranger has filled cannot take all memory.
CHUNK_BYTES_MAX = 16 * 1024 * 1024
PACKED_BYTES_MAX = CHUNK_BYTES_MAX + 64 * 1024
MANIFEST_BYTES_MAX = 1024 * 1024 * 1024
_COMPRESSION_LEVEL = 1
_MANIFESTS = "backups"
_CHUNKS = "chunks"
_ID = re.compile(r"[0-9]{8}T[0-9]{12}Z")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MONTH = re.compile(r"[0-9]{4}(?:0[1-9]|1[0-2])")
# What else lies in the same folder is not ours.
_CHUNK_NAME = re.compile(r"chunks/[0-9a-f]{2}/[0-9a-f]{64}")
_MANIFEST_NAME = re.compile(r"backups/[0-9]{8}T[0-9]{12}Z\.json")


class BackupError(OperatorError):
    """A backup cannot be made or restored; the message says why."""


class StoredFile(msgspec.Struct, frozen=True, rename="camel"):
    """A file of a backup; its content is that of its chunks in order."""

    name: str
    size: int
    chunks: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One backup."""

    format: int = FORMAT
    id: str
    created_at: str  # what was acknowledged before is in it
    version: str  # of the program that made it
    engine: str
    revision: str  # of the schema
    key_fingerprint: str  # of the secret key that opens its secrets
    has_key: bool = False
    counters: dict[str, int] = {}  # sequences of PostgreSQL, to be continued
    months: tuple[str, ...] = ()  # that have partitions on PostgreSQL
    files: tuple[StoredFile, ...]

    @property
    def size(self) -> int:
        return sum(each.size for each in self.files)


@dataclass(slots=True)
class TransferredBytes:
    """How much of a backup was there before."""

    bytes: int = 0
    new_bytes: int = 0
    new_chunks: list[str] = field(default_factory=list)


class Repository:
    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._present: set[str] | None = None

    def add_file(
        self, name: str, chunks: Iterable[bytes], transfer: TransferredBytes
    ) -> StoredFile:
        """Store what of a file is not there yet."""
        if self._present is None:
            self._present = self._list_chunks()
        names: list[str] = []
        size = 0
        for chunk in _cut(chunks):
            blob = _name_chunk(hashlib.sha256(chunk).hexdigest())
            size += len(chunk)
            if blob not in self._present:
                self._store.put(blob, isal_zlib.compress(chunk, _COMPRESSION_LEVEL))
                self._present.add(blob)
                transfer.new_bytes += len(chunk)
                transfer.new_chunks.append(blob)
            names.append(blob.rpartition("/")[2])
        transfer.bytes += size
        return StoredFile(name, size, tuple(names))

    def publish(self, manifest: Manifest, transfer: TransferredBytes) -> None:
        """Make a backup exist, after everything that it added was read again."""
        for blob in transfer.new_chunks:
            self._read_chunk(blob.rpartition("/")[2])
        present = self._list_chunks()
        missing = [each for each in _list_blobs(manifest) if each not in present]
        if missing:
            raise BackupError(f"{len(missing)} chunks were deleted meanwhile; make another backup.")
        self._store.put(_name_manifest(manifest.id), msgspec.json.encode(manifest))

    def list_manifests(self) -> list[Manifest]:
        """All backups, the newest first."""
        return [self._load(name) for name in reversed(self._list_names())]

    def get_manifest(self, backup_id: str | None) -> Manifest:
        """A backup by its id, or the newest."""
        if backup_id is not None:
            if not _ID.fullmatch(backup_id):
                raise BackupError(f"{backup_id} is not the id of a backup.")
            return self._load(_name_manifest(backup_id))
        names = self._list_names()
        if not names:
            raise BackupError("There is no backup there.")
        return self._load(names[-1])

    def read_file(self, file: StoredFile) -> Iterator[bytes]:
        """The chunks of a file, each compared with its name, up to the size that it says."""
        left = file.size
        for name in file.chunks:
            chunk = self._read_chunk(name)
            left -= len(chunk)
            if left < 0:
                break
            yield chunk
        if left:
            raise BackupError(f"{file.name} in the backup has not the size that it says.")

    def keep(self, count: int) -> list[str]:
        """Delete all but the newest backups, and the chunks that only they had; their ids."""
        manifests = self.list_manifests()
        dropped = manifests[count:]
        self._store.delete(_name_manifest(each.id) for each in dropped)
        used = {blob for each in manifests[:count] for blob in _list_blobs(each)}
        self._store.delete(self._list_chunks() - used)
        return [each.id for each in dropped]

    def _list_names(self) -> list[str]:
        """The names of manifests, the oldest first."""
        return sorted(filter(_MANIFEST_NAME.fullmatch, self._store.list_names(_MANIFESTS)))

    def _list_chunks(self) -> set[str]:
        return set(filter(_CHUNK_NAME.fullmatch, self._store.list_names(_CHUNKS)))

    def _read_chunk(self, name: str) -> bytes:
        packed = self._store.get(_name_chunk(name), PACKED_BYTES_MAX)
        unpacking = zlib.decompressobj()
        try:
            # With room for one byte more, the end of a chunk of the largest size is seen.
            content = unpacking.decompress(packed, CHUNK_BYTES_MAX + 1)
        except zlib.error as error:
            raise BackupError(f"The chunk {name} is damaged.") from error
        if not unpacking.eof or hashlib.sha256(content).hexdigest() != name:
            raise BackupError(f"The chunk {name} is damaged.")
        return content

    def _load(self, name: str) -> Manifest:
        try:
            manifest = msgspec.json.decode(self._store.get(name, MANIFEST_BYTES_MAX), type=Manifest)
        except msgspec.MsgspecError as error:
            raise BackupError(f"{name} is not a backup of longwire: {error}") from error
        if manifest.format != FORMAT:
            raise BackupError(f"{name} was made by a newer version of longwire.")
        if not _is_well_formed(manifest) or _name_manifest(manifest.id) != name:
            raise BackupError(f"{name} is not a backup of longwire: its names are not ours")
        return manifest


def _is_well_formed(manifest: Manifest) -> bool:
    """Whether what becomes part of paths and statements is nothing else than it should be."""
    digests = (name for file in manifest.files for name in file.chunks)
    return (
        _ID.fullmatch(manifest.id) is not None
        and all(map(_DIGEST.fullmatch, digests))
        and all(map(_MONTH.fullmatch, manifest.months))
    )


def _cut(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes; a chunk with a row that is too large becomes several."""
    for chunk in chunks:
        for begin in range(0, len(chunk), CHUNK_BYTES_MAX):
            yield chunk[begin : begin + CHUNK_BYTES_MAX]


def _list_blobs(manifest: Manifest) -> Iterator[str]:
    return (_name_chunk(name) for file in manifest.files for name in file.chunks)


def _name_chunk(digest: str) -> str:
    return f"{_CHUNKS}/{digest[:2]}/{digest}"


def _name_manifest(backup_id: str) -> str:
    return f"{_MANIFESTS}/{backup_id}.json"
