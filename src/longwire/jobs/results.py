"""What a step of a job ends with."""

from collections.abc import Sequence

from longwire.dataclass import dataclass
from longwire.model import ItemOutcome, JobCounts, JobItem


class JobFailed(Exception):
    """A job cannot go on."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class StepPostponed(Exception):
    """Nothing can be done at the moment; the job waits for its next turn."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step did, and the cursor after it; None at the end of the job."""

    items: Sequence[JobItem]
    cursor: str | None
    counts: JobCounts
    undone: Sequence[int] = ()  # numbers of items of the job that is undone
    added_bytes: int = 0  # to the file of the job


def count_items(items: Sequence[JobItem]) -> JobCounts:
    """The counts of a step with an item for each device."""
    outcomes = [each.outcome for each in items]
    return JobCounts(
        len(outcomes),
        outcomes.count(ItemOutcome.CHANGED),
        outcomes.count(ItemOutcome.SKIPPED),
        outcomes.count(ItemOutcome.FAILED),
    )
