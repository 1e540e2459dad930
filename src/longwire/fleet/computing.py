"""What a process computes for groups: their codecs, filters and templates, within budgets."""

from dataclasses import dataclass, field
from functools import partial

from longwire.clock import Clock
from longwire.decoders.catalogue import Decoders
from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.fleet.codec_guard import CodecGuard, CodecThreads

# People look at previews, and search with filters, now and then.
_build_budgets = partial(ComputeBudgets, Clock(), ms_per_s=100, burst_ms=2_000)


@dataclass(frozen=True, slots=True)
class Computing:
    """The CPU time of each group, and the threads that groups share."""

    codecs: CodecGuard
    drafts: CodecGuard  # codecs that are tried out
    previews: ComputeBudgets = field(default_factory=_build_budgets)  # of what connectors send
    scans: ComputeBudgets = field(default_factory=_build_budgets)  # of filters over arrivals
    threads: CodecThreads = field(default_factory=CodecThreads)


def build_computing(decoders: Decoders, ms_per_s: float, burst_ms: float) -> Computing:
    """With a budget for the codecs of each group."""
    return Computing(
        codecs=CodecGuard(decoders, ms_per_s=ms_per_s, burst_ms=burst_ms),
        drafts=CodecGuard(decoders, ms_per_s=200, burst_ms=5_000),
    )
