"""The number of an arrival, `seq`: its moment in the high bits, the process in the low ones."""

from longwire.clock import Moment

WRITER_BITS = 10
# What lists begin after and end before; no arrival has one of these.
BEFORE_ANY_ARRIVAL = -(2**63)
AFTER_ANY_ARRIVAL = 2**63 - 1


def arrival_moment(seq: int) -> Moment:
    """When the record of this `seq` arrived."""
    return seq >> WRITER_BITS


def first_seq(moment: Moment) -> int:
    """Every `seq` of this moment or later is at least this.

    Nothing arrives outside of what eight bytes can number, which is the years 1684 to 2255.
    """
    return max(-(2**53), min(moment, 2**53 - 1)) << WRITER_BITS
