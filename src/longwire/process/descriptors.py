"""How many connections a process may have, derived from its limit of file descriptors.

Everything that a process opens shares that limit. Without a division of it, many clients or many
slow destinations would take the descriptors that the database and new files need.
"""

import resource

from longwire.dataclass import dataclass

# Listeners, logs, the event loop, sandboxes, name resolution, the MQTT listener, files of the
# database while they are opened, and clients that are being rejected.
RESERVED = 192
RESERVED_SHARE_MAX = 0.5
# Of what is left, at most this share is for sending: an attempt has one connection, and about as
# many stay open between attempts.
ATTEMPTS_SHARE = 0.25
CONNECTIONS_PER_ATTEMPT = 2
# If there is no limit, this is enough for every setting.
UNLIMITED = 1_048_576


@dataclass(frozen=True, slots=True)
class DescriptorBudget:
    """The division of a limit of descriptors."""

    limit: int
    reserved: int
    connections_max: int  # of clients
    attempts_in_flight_max: int  # of deliveries
    outgoing_connections_max: int  # of all destinations, in use or kept open


def raise_descriptor_limit() -> int:
    """Raise the soft limit of this process to the hard one; returns what holds now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            hard = soft  # some systems have a lower limit than the hard one says
    return UNLIMITED if hard == resource.RLIM_INFINITY else hard


def divide_descriptors(
    limit: int, *, connections_max: int, attempts_in_flight_max: int, database_connections: int
) -> DescriptorBudget:
    """Lower the configured limits to what the descriptors suffice for; 0 is no configured limit."""
    reserved = min(RESERVED + database_connections, int(limit * RESERVED_SHARE_MAX))
    usable = limit - reserved
    attempts = _lower(attempts_in_flight_max, int(usable * ATTEMPTS_SHARE))
    outgoing = attempts * CONNECTIONS_PER_ATTEMPT
    clients = _lower(connections_max, usable - outgoing)
    return DescriptorBudget(limit, reserved, clients, attempts, outgoing)


def _lower(configured: int, available: int) -> int:
    return max(1, min(configured or available, available))
