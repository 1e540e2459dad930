"""Deliveries that this process has claimed, how long it may still send them, and their outcomes."""

import time
from dataclasses import dataclass

from longwire.clock import SECOND, Moment
from longwire.delivery.destinations.base import Outcome
from longwire.model import Channel
from longwire.store.database import Database
from longwire.store.delivery.delivery_leases import ClaimedDelivery

LEASE_S = 30
SEND_TIMEOUT_S = 15.0
# An attempt that could outlive its lease is not started.
LEASE_LEFT_MIN_S = SEND_TIMEOUT_S + 2.0


@dataclass(slots=True)
class LeasedDelivery:
    """A delivery that this process has claimed.

    Other processes compare a lease with the wall clock, which may jump, after a suspended machine
    wakes up for instance; the monotonic clock may stand still then. So a lease is checked by both.
    """

    channel: Channel
    claimed: ClaimedDelivery
    token: int
    expires_at: Moment
    expires_at_monotonic: float
    slot: int = 0


def has_lease_left(
    database: Database, leased: LeasedDelivery, left_min_s: float = LEASE_LEFT_MIN_S
) -> bool:
    """Whether a lease lasts so much longer, and this process still counts as alive."""
    held_since = database.held_since
    if held_since is None or leased.expires_at_monotonic - LEASE_S < held_since:
        return False  # this process was taken for dead, and others have what it had claimed
    by_wall_clock = (leased.expires_at - database.context.clock.now()) / SECOND
    left_s = min(by_wall_clock, leased.expires_at_monotonic - time.monotonic())
    return left_s >= left_min_s


class Released:
    """Not attempted; the lease is given back."""


RELEASED = Released()


@dataclass(slots=True)
class AttemptRecord:
    """An attempt that is not settled yet."""

    leased: LeasedDelivery
    outcome: Outcome | Released
    at: Moment = 0  # when it began; 0 if that is not known
    duration_ms: int = 0
