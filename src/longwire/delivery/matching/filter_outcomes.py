"""Whether filters could be evaluated: what a transaction writes of that.

One that fails for most records needs somebody, one that failed once does not. So of each that could
not be evaluated lately, its channel counts how often it was evaluated and how often that failed.
Filters that always have a value write nothing.
"""

from collections.abc import Mapping

from longwire.dataclass import dataclass
from longwire.delivery.cel.stored import StoredExpression
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery.channels import FilterCounts


@dataclass(slots=True)
class _Outcome:
    expression: StoredExpression | None
    evaluated: int = 0
    failed: int = 0
    reason: str = ""


class FilterOutcomes:
    """By channel."""

    __slots__ = ("_errors", "_outcomes")

    def __init__(self) -> None:
        self._outcomes: dict[int, _Outcome] = {}
        self._errors: dict[int, str] = {}

    def add_value(self, number: int, expression: StoredExpression) -> None:
        """It was true or false."""
        self._get(number, expression).evaluated += 1

    def add_failure(self, number: int, expression: StoredExpression | None, reason: str) -> None:
        """It was neither."""
        outcome = self._get(number, expression)
        outcome.evaluated += 1
        outcome.failed += 1
        outcome.reason = reason

    def add_error(self, number: int, reason: str) -> None:
        """Another error, which says nothing about the filter."""
        self._errors[number] = reason

    def add_all(self, others: "FilterOutcomes") -> None:
        for number, other in others._outcomes.items():
            outcome = self._get(number, other.expression)
            outcome.evaluated += other.evaluated
            outcome.failed += other.failed
            outcome.reason = other.reason or outcome.reason
        self._errors.update(others._errors)

    @property
    def failures(self) -> Mapping[int, str]:
        """Why filters could not be evaluated, by channel."""
        return {number: each.reason for number, each in self._outcomes.items() if each.failed}

    def store(self, tx: Tx) -> None:
        """Write what their owners see."""
        store_channels.record_filter_errors(tx, self._errors)
        for number, each in sorted(self._outcomes.items()):
            expression = each.expression
            if not each.failed and (expression is None or not expression.fails_at_times):
                continue
            counts = FilterCounts(each.evaluated, each.failed, each.reason)
            fails_at_times = store_channels.count_filter_outcomes(tx, number, counts)
            if expression is not None:
                expression.fails_at_times = fails_at_times

    def _get(self, number: int, expression: StoredExpression | None) -> _Outcome:
        outcome = self._outcomes.get(number)
        if outcome is None:
            outcome = self._outcomes[number] = _Outcome(expression)
        return outcome
