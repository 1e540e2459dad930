"""The states of a delivery, and the conditions on them.

The conditions are part of the text of a statement, not parameters: the partial indexes serve
literals only.
"""

import enum


class DeliveryState(enum.IntEnum):
    """The first two are open, the others final; only a resend or a replay leaves those."""

    QUEUED = 0
    LEASED = 1
    SUCCEEDED = 2
    FAILED = 3
    EXPIRED = 4
    CANCELLED = 5


QUEUED = f"state = {DeliveryState.QUEUED:d}"
LEASED = f"state = {DeliveryState.LEASED:d}"
SUCCEEDED = f"state = {DeliveryState.SUCCEEDED:d}"
FAILED = f"state = {DeliveryState.FAILED:d}"
EXPIRED = f"state = {DeliveryState.EXPIRED:d}"
CANCELLED = f"state = {DeliveryState.CANCELLED:d}"
IS_OPEN = f"state < {DeliveryState.SUCCEEDED:d}"
# One that is not sent before the earlier ones of its device.
IS_ORDERED = "is_ordered"
IS_FINAL = f"state >= {DeliveryState.SUCCEEDED:d}"
# Failed, and kept for a resend.
IS_DEAD_LETTER = f"""{FAILED}
    and body is not null
    and stored_until > :now"""

# When a queued message is due that waits for an earlier one of its device.
HELD_BACK = 2**62

# Assignments: queued once more, in a new generation.
REQUEUED = f"""{QUEUED},
    generation = generation + 1,
    attempts = 0,
    due_at = :now,
    changed_at = :now,
    stored_until = null"""


def set_first_end(state: DeliveryState) -> str:
    """An assignment: the state in which it ended the first time, which a resend does not change."""
    return f"first_end = coalesce(first_end, {state:d})"
