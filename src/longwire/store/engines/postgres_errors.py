"""What an error of PostgreSQL means: try again, the server is gone, or it is the caller's."""

import psycopg
import sqlalchemy as sa
import structlog

from longwire.errors import Conflict, DatabaseUnreachable, OutcomeUnknown, Unavailable
from longwire.store.engines.postgres_connections import RecentlyUnreachable

# The server is unreachable, overloaded or read-only (a standby, a full disk).
UNAVAILABLE = (
    psycopg.OperationalError,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.IdleInTransactionSessionTimeout,
    sa.exc.TimeoutError,
)
# The server has ended the session: by an administrator, or because this process stood still in the
# middle of a transaction.
ENDED = (psycopg.errors.AdminShutdown, psycopg.errors.IdleInTransactionSessionTimeout)
# What the driver raises without a code of the server's is a connection that was lost; it takes the
# reason and the end of the connection for two results, if it gets both at once.
WITHOUT_CODE = (psycopg.OperationalError, psycopg.InternalError)

TIMED_OUT = "The database does not answer in time; nothing was changed."

log = structlog.get_logger()


def is_retryable(error: sa.exc.DBAPIError | psycopg.Error) -> bool:
    """Nothing was committed, and another attempt or a new connection may succeed."""
    passing = (
        psycopg.errors.SerializationFailure,
        psycopg.errors.DeadlockDetected,
        # Nothing here has a check but partitions: a row's month was made while it came in.
        psycopg.errors.CheckViolation,
        # The driver has deallocated what was prepared (see `postgres_pipeline`).
        psycopg.errors.InvalidSqlStatementName,
    )
    if isinstance(error, sa.exc.DBAPIError):
        return isinstance(error.orig, passing) or error.connection_invalidated
    if isinstance(error, psycopg.errors.UniqueViolation):
        # A sequence number that is in use: the next attempt takes another.
        return (error.diag.table_name or "").startswith(("arrival", "delivery"))
    return is_lost(error) or isinstance(error, passing)


def is_lost(error: sa.exc.DBAPIError | psycopg.Error) -> bool:
    if isinstance(error, sa.exc.DBAPIError):
        return error.connection_invalidated
    is_gone = isinstance(error, WITHOUT_CODE) and error.sqlstate is None
    return is_gone or isinstance(error, ENDED)


def is_outage(error: Exception) -> bool:
    """Whether any write would fail now: unreachable, disk full, or read-only."""
    if isinstance(error, OutcomeUnknown | DatabaseUnreachable):
        return True
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    if isinstance(cause, psycopg.errors.ReadOnlySqlTransaction | sa.exc.TimeoutError):
        return True
    # Without a code the connection was lost; 53 is a lack of disk or memory, 57P a server that
    # starts or stops. A timeout of one statement has another one.
    return isinstance(cause, WITHOUT_CODE) and (
        cause.sqlstate is None or cause.sqlstate.startswith(("53", "57P"))
    )


def _has_lost_worker(cause: Exception | None) -> bool:
    """Whether a coordinator of Citus has lost one of its workers while it waited for it.

    Or was itself ended meanwhile: it says so in an error without a code of its own.
    """
    return isinstance(cause, psycopg.errors.InternalError_) and any(
        each in str(cause) for each in ("connection", "postmaster was shut down")
    )


def translate(error: Exception) -> Exception:
    """The domain's error for one of the driver."""
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    if _has_lost_worker(cause):
        log.warning("database unavailable", error=str(cause).strip())
        return Unavailable(TIMED_OUT)
    if isinstance(cause, psycopg.errors.IntegrityError):
        return Conflict("This conflicts with something that was stored meanwhile; read again.")
    if isinstance(cause, UNAVAILABLE) or (isinstance(cause, psycopg.Error) and is_lost(cause)):
        if not isinstance(cause, RecentlyUnreachable):  # which was logged by who tried
            log.warning("database unavailable", error=str(cause).strip())
        return DatabaseUnreachable() if is_outage(error) else Unavailable(TIMED_OUT)
    return error
