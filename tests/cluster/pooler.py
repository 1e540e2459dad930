"""PgBouncer in transaction mode, in front of a server."""

import os
import shutil
import subprocess
from pathlib import Path

import psycopg

from tests.cluster.pair import HOST, give_to_server
from tests.ports import free_port
from tests.system_user import SYSTEM_USER
from tests.waiting import eventually

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
WHY_NOT = "pgbouncer is not installed: make brokers installs it"


class Pooler:
    """A pooler on a port of its own, which stays the same when it is started again."""

    def __init__(self, folder: Path, database: str, *, sessions: int) -> None:
        """`sessions` are those of the server, for all nodes together."""
        folder.mkdir()
        self._folder = folder
        self._database = database
        self._sessions = sessions
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://postgres@{HOST}:{self._port}/{self._database}"

    def start(self, conninfo: str) -> None:
        """Start it, in front of the server that is named."""
        assert PGBOUNCER is not None
        config = self._folder / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n{self._database} = {conninfo}\n"
            f"[pgbouncer]\nlisten_addr = {HOST}\nlisten_port = {self._port}\nunix_socket_dir =\n"
            "auth_type = any\npool_mode = transaction\nmax_client_conn = 200\n"
            f"default_pool_size = {self._sessions}\nserver_login_retry = 1\n"
            f"logfile = {self._folder / 'log'}\n"
        )
        if SYSTEM_USER is not None:
            give_to_server(self._folder)
        command = [PGBOUNCER, "-q", str(config)]
        self._process = subprocess.Popen(command, user=SYSTEM_USER, cwd="/")
        eventually(self._is_up)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _is_up(self) -> bool:
        try:
            psycopg.connect(self.url).close()
        except psycopg.OperationalError:
            return False
        return True
