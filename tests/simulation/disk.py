"""The disk below the real SQLite: it can be full, fail, be slow, and lose what was not flushed.

A VFS of the library that Python's `sqlite3` uses, so that the service runs as in production: the
ordinary one of Unix, of which only writes, flushes and deletions pass through here. What was
written since the last flush is kept beside it; when the power is cut, each sector of it survives or
not, whatever the order. When only the process dies, all of it survives, and stays unflushed until
somebody flushes the file.
"""

import ctypes
import ctypes.util
import os
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.simulation.surroundings import Surroundings

SECTOR = 512
OK, FULL, IOERR_WRITE, IOERR_FSYNC, IOERR_TRUNCATE = 0, 13, 778, 1034, 1546

_FILE_METHODS = (
    *("xClose", "xRead", "xWrite", "xTruncate", "xSync", "xFileSize", "xLock", "xUnlock"),
    *("xCheckReservedLock", "xFileControl", "xSectorSize", "xDeviceCharacteristics"),
    *("xShmMap", "xShmLock", "xShmBarrier", "xShmUnmap", "xFetch", "xUnfetch"),
)
_VFS_METHODS = (
    *("xOpen", "xDelete", "xAccess", "xFullPathname", "xDlOpen", "xDlError", "xDlSym", "xDlClose"),
    *("xRandomness", "xSleep", "xCurrentTime", "xGetLastError", "xCurrentTimeInt64"),
    *("xSetSystemCall", "xGetSystemCall", "xNextSystemCall"),
)


class _IoMethods(Structure):
    _fields_ = [("iVersion", c_int), *((name, c_void_p) for name in _FILE_METHODS)]


class _Vfs(Structure):
    _fields_ = [
        *(("iVersion", c_int), ("szOsFile", c_int), ("mxPathname", c_int), ("pNext", c_void_p)),
        *(("zName", c_char_p), ("pAppData", c_void_p)),
        *((name, c_void_p) for name in _VFS_METHODS),
    ]


_OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
_DELETE = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
_RANDOMNESS = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p)
_SLEEP = CFUNCTYPE(c_int, c_void_p, c_int)
_TIME = CFUNCTYPE(c_int, c_void_p, POINTER(c_int64))
_CLOSE = CFUNCTYPE(c_int, c_void_p)
_WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)


@dataclass(slots=True)
class Change:
    """Of a file, since it was flushed; `data` is None where it was truncated."""

    offset: int
    before: bytes
    data: bytes | None


@dataclass(slots=True)
class StoredFile:
    """A file of a database, and what of it is not flushed."""

    path: Path
    unflushed: list[Change] = field(default_factory=list)

    def read_after_power_loss(self, chance: random.Random) -> bytes | None:
        """The content after a reboot: what was flushed, and some sectors of the rest."""
        if not self.path.exists():
            return None
        content = bytearray(self.path.read_bytes())
        for change in reversed(self.unflushed):
            _undo(content, change)
        share = chance.choice((0.0, 0.5, 0.9, chance.random()))
        for change in self.unflushed:
            if change.data is None:
                if chance.random() < share:
                    del content[change.offset :]
                continue
            for start in range(0, len(change.data), SECTOR):
                if chance.random() < share:
                    _put(content, change.offset + start, change.data[start : start + SECTOR])
        return bytes(content)


def _undo(content: bytearray, change: Change) -> None:
    if change.data is None:
        _put(content, change.offset, change.before)
        return
    end = change.offset + len(change.data)
    at_end = len(content) <= end
    content[change.offset : change.offset + len(change.before)] = change.before
    if at_end and len(change.before) < len(change.data):
        del content[change.offset + len(change.before) :]


def _put(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


class Disk:
    """The folder of a database, from one crash to the next one."""

    def __init__(self, folder: Path, flush_s: float = 0.000_3) -> None:
        self.folder = folder
        self.files: dict[str, StoredFile] = {}
        self.is_off = False  # for who has opened a file before
        self.is_full = False
        self.flush_fails = False
        self.flush_s = flush_s
        # Called before each write and flush; what it returns says whether the power is cut there.
        self.on_access: Callable[[str], bool] = lambda what: False
        self.counted: Counter[str] = Counter()

    def get_file(self, path: str) -> StoredFile:
        name = os.path.basename(path)
        if name not in self.files:
            self.files[name] = StoredFile(Path(path))
        return self.files[name]

    def start_again(self, folder: Path, chance: random.Random | None) -> "Disk":
        """The disk after a crash: of the machine by `chance`, or only of the process without."""
        self.is_off = True
        folder.mkdir(parents=True)
        after = Disk(folder, self.flush_s)
        for each in sorted(self.folder.iterdir()):
            file = self.files.get(each.name)
            if each.name.endswith("-shm"):
                continue  # shared memory dies with the process
            if chance is None or file is None:
                shutil.copyfile(each, folder / each.name)
                if file is not None:
                    kept = after.get_file(str(folder / each.name))
                    kept.unflushed = list(file.unflushed)
                continue
            content = file.read_after_power_loss(chance)
            if content is not None:
                (folder / each.name).write_bytes(content)
        return after


class SimulatedVfs:
    """Registered once in a process; which disk a file is on depends on its folder."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self.disks: dict[str, Disk] = {}
        self._open: dict[int, tuple[Disk, StoredFile, int]] = {}  # by address, with a descriptor
        self._methods: dict[int, tuple[_IoMethods, _IoMethods]] = {}
        self._kept: list[Any] = []
        self._library = find_library()
        self._library.sqlite3_vfs_find.restype = c_void_p
        self._library.sqlite3_vfs_find.argtypes = [c_char_p]
        self._library.sqlite3_vfs_register.argtypes = [c_void_p, c_int]
        self._original_address = self._library.sqlite3_vfs_find(None)
        self._original = _Vfs.from_address(self._original_address)

    def register(self) -> None:
        """Become the ordinary VFS of this process."""
        ours = _Vfs.from_buffer_copy(self._original)
        ours.zName = b"simulated"
        ours.pNext = None
        for name, kind, function in (
            ("xOpen", _OPEN, self._x_open),
            ("xDelete", _DELETE, self._x_delete),
            ("xRandomness", _RANDOMNESS, self._x_randomness),
            ("xSleep", _SLEEP, self._x_sleep),
            ("xCurrentTimeInt64", _TIME, self._x_time),
        ):
            setattr(ours, name, self._keep(kind(function)))
        self._original_open = _OPEN(self._original.xOpen)
        self._original_delete = _DELETE(self._original.xDelete)
        self._kept.append(ours)
        assert self._library.sqlite3_vfs_register(ctypes.addressof(ours), 1) == OK

    def reset_randomness(self) -> None:
        """SQLite asks for random bytes again."""
        self._library.sqlite3_randomness(0, None)

    def _keep(self, function: Any) -> int | None:
        self._kept.append(function)
        return ctypes.cast(function, c_void_p).value

    # --- the VFS ---

    def _x_open(self, vfs: int, name: int, file: int, flags: int, out: int) -> int:
        result = int(self._original_open(self._original_address, name, file, flags, out))
        path = ctypes.string_at(name).decode() if name else ""
        disk = self.disks.get(os.path.dirname(path))
        if result != OK or disk is None:
            return result
        address = c_void_p.from_address(file)
        assert address.value is not None
        address.value = ctypes.addressof(self._build_methods(address.value))
        # Kept until the process ends: closing any descriptor of a file gives up all locks on it.
        self._open[file] = (disk, disk.get_file(path), os.open(path, os.O_RDONLY))
        return result

    def _build_methods(self, address: int) -> _IoMethods:
        if address not in self._methods:
            original = _IoMethods.from_address(address)
            ours = _IoMethods.from_buffer_copy(original)
            write, truncate = _WRITE(original.xWrite), _TRUNCATE(original.xTruncate)
            close = _CLOSE(original.xClose)
            self._kept += [write, truncate, close]

            def x_write(file: int, data: int, count: int, offset: int) -> int:
                return self._write(write, file, data, count, offset)

            def x_truncate(file: int, size: int) -> int:
                return self._truncate(truncate, file, size)

            def x_close(file: int) -> int:
                _, _, descriptor = self._open.pop(file)
                result = int(close(file))
                os.close(descriptor)
                return result

            ours.xWrite = self._keep(_WRITE(x_write))
            ours.xTruncate = self._keep(_TRUNCATE(x_truncate))
            ours.xSync = self._keep(_SYNC(lambda file, flags: self._sync(file)))
            ours.xClose = self._keep(_CLOSE(x_close))
            self._methods[address] = (original, ours)
        return self._methods[address][1]

    def _write(self, write: Any, address: int, data: int, count: int, offset: int) -> int:
        disk, file, descriptor = self._open[address]
        if not disk.is_off and disk.on_access("write"):
            disk.is_off = True
        if disk.is_off:
            return IOERR_WRITE
        if disk.is_full:
            disk.counted["write on a full disk"] += 1
            return FULL
        before = os.pread(descriptor, count, offset)
        file.unflushed.append(Change(offset, before, ctypes.string_at(data, count)))
        return int(write(address, data, count, offset))

    def _truncate(self, truncate: Any, address: int, size: int) -> int:
        disk, file, descriptor = self._open[address]
        if disk.is_off:
            return IOERR_TRUNCATE
        length = os.fstat(descriptor).st_size
        if length > size:
            before = os.pread(descriptor, length - size, size)
            file.unflushed.append(Change(size, before, None))
        return int(truncate(address, size))

    def _sync(self, address: int) -> int:
        disk, file, _ = self._open[address]
        if not disk.is_off and disk.on_access("flush"):
            disk.is_off = True
        if disk.is_off:
            return IOERR_FSYNC
        if disk.flush_fails:
            disk.counted["flush that failed"] += 1
            return IOERR_FSYNC
        self._surroundings.pass_for(disk.flush_s)
        disk.counted["flush"] += 1
        file.unflushed.clear()
        return OK

    def _x_delete(self, vfs: int, name: bytes, sync: int) -> int:
        path = name.decode()
        disk = self.disks.get(os.path.dirname(path))
        if disk is None:
            return int(self._original_delete(self._original_address, name, sync))
        if disk.is_off:
            return OK
        disk.files.pop(os.path.basename(path), None)
        return int(self._original_delete(self._original_address, name, 0))

    def _x_randomness(self, vfs: int, count: int, out: int) -> int:
        ctypes.memmove(out, self._surroundings.draw_bytes(count), count)
        return count

    def _x_sleep(self, vfs: int, microseconds: int) -> int:
        self._surroundings.pass_for(microseconds / 1e6)
        return microseconds

    def _x_time(self, vfs: int, out: Any) -> int:
        milliseconds = self._surroundings.look_at_wall() // 1_000_000
        out[0] = milliseconds + 210_866_760_000_000
        return OK


def find_library() -> ctypes.CDLL:
    """The library that `sqlite3` of this Python uses; raises OSError where it has one inside."""
    import _sqlite3  # noqa: PLC0415 (only its file is of interest)

    library = ctypes.CDLL(getattr(_sqlite3, "__file__", None) or None)
    version = library.sqlite3_libversion  # AttributeError: not to be found
    version.restype = c_char_p
    if version().decode() != sqlite3.sqlite_version:
        raise OSError("another SQLite than Python's was found")
    return library
