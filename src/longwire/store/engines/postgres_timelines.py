"""Which of several servers of PostgreSQL is the primary: the one with the newest timeline.

Every promotion begins a timeline. An old primary that came back, or was cut off, can be written as
before, at least as far as it says; so the first of a list that can be written may be the wrong one.
This process never goes back to an older timeline than it has seen, and looks now and then whether
another server has a newer one.
"""

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import structlog
from psycopg import pq

COMPARE_INTERVAL_S = 2.0

# A standby has none of its own. The control file says it too, but only after a checkpoint.
GET_TIMELINE = b"""
select
    (select system_identifier from pg_control_system()),
    case
        when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
    end
"""

log = structlog.get_logger()

Address = tuple[str, int]
Connection = psycopg.Connection[Any]


class NewestTimelines:
    """The newest timeline of each cluster of servers that was seen, and where."""

    def __init__(self) -> None:
        self._newest: dict[bytes | None, tuple[int, Address]] = {}
        self._lock = threading.Lock()
        self.on_superseded: Callable[[Address], None] = lambda address: None

    def are_at(self, address: Address) -> bool:
        """Whether a server has the newest timeline of its cluster."""
        with self._lock:
            return any(at == address for _, at in self._newest.values())

    def admit(self, connection: Connection) -> bool:
        """Whether it leads to the newest timeline, or to a server of which none is known."""
        # By libpq: the driver would begin a transaction.
        result = connection.pgconn.exec_(GET_TIMELINE)
        if connection.pgconn.status != pq.ConnStatus.OK:
            raise psycopg.OperationalError("the connection was lost at once")
        if result.status != pq.ExecStatus.TUPLES_OK:
            return True  # it does not say, perhaps not to this user
        system, name = result.get_value(0, 0), result.get_value(0, 1)
        if name is None:
            return True
        timeline, address = int(name, 16), (connection.info.host, connection.info.port)
        with self._lock:
            newest, at = self._newest.get(system, (0, address))
            if timeline >= newest:
                self._newest[system] = timeline, address
        if timeline > newest and at != address:
            log.warning("newer primary found", host=address[0], port=address[1], timeline=timeline)
            self.on_superseded(at)
        return timeline >= newest
