"""What an evaluation costs, estimated from the values before they are handed over."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from longwire.delivery.cel.rewriting import FieldReference, PatternUse

# The package recurses on the stack of the thread, which may be small.
DATA_LEVELS_MAX = 64
# States times KiB of text. The worst pattern takes about 30 µs for each.
PATTERN_WORK_MAX = 1_024
# About a quarter of a microsecond for each; measured on handing values over.
WORK_MAX = 65_536
WORK_PER_ITEM = 2
WORK_PER_KEY = 16
WORK_PER_PART = 8  # on top for an item that is a decimal number, a string, a list or an object
WORK_PER_KIB = 16
# What an evaluation takes at least, in microseconds of CPU time; measured.
US_BASE = 3.0
US_PER_REFERENCE = 1.0
US_PER_WORK = 0.25
US_PER_PATTERN = 35.0
US_PER_STATE = 1.0  # patterns are compiled for every evaluation
US_PER_PATTERN_WORK = 30.0
# How many concatenations (`+`) copy a value as often as it was handed over.
CONCATENATIONS_PER_COPY = 8


class EvaluationCost(NamedTuple):
    work: float
    pattern_work: float

    def exceeds(self, share: float) -> bool:
        """Whether it is more than this share of what one evaluation may cost."""
        return self.work > share * WORK_MAX or self.pattern_work > share * PATTERN_WORK_MAX

    def estimate_us(self, references: int, patterns: Sequence[PatternUse]) -> float:
        """CPU time, in microseconds; rather too much than too little."""
        return (
            US_BASE
            + US_PER_REFERENCE * references
            + US_PER_WORK * self.work
            + US_PER_PATTERN_WORK * self.pattern_work
            + sum(US_PER_PATTERN + US_PER_STATE * each.states for each in patterns)
        )


class ValueCost(NamedTuple):
    work: float
    kib: float  # of text


def estimate_cost(
    values: Mapping[str, Any],
    references: Sequence[FieldReference],
    patterns: Sequence[PatternUse],
    source_characters: int,
    concatenations: int,
) -> EvaluationCost:
    work = 0.0
    text_kib = source_characters / 1_024
    for reference in references:
        value = values.get(reference.variable)
        if isinstance(value, str):
            kib = len(value) / 1_024
            work += reference.uses * (1 + WORK_PER_KIB * kib)
        elif isinstance(value, (dict, list)):
            units, kib = estimate_container_cost(value)
            work += reference.uses * (units + WORK_PER_KIB * kib)
        else:
            continue
        text_kib += reference.uses * kib
    pattern_work = 0.0
    for pattern in patterns:
        value = values.get(pattern.variable or "")
        kib = len(value) / 1_024 if isinstance(value, str) else text_kib
        pattern_work += pattern.states * kib
    return EvaluationCost(work * (1 + concatenations / CONCATENATIONS_PER_COPY), pattern_work)


def estimate_container_cost(value: Any) -> ValueCost:
    """What it costs to hand over a list or an object; infinite if it is nested too deeply."""
    units = characters = 0
    level = [value]
    for _ in range(DATA_LEVELS_MAX):
        below: list[Any] = []
        for part in level:
            if part is None or isinstance(part, int):
                continue
            units += WORK_PER_PART
            if isinstance(part, str):
                characters += len(part)
            elif isinstance(part, dict):
                units += WORK_PER_KEY * len(part)
                characters += sum(map(len, part))
                below.extend(part.values())
            elif isinstance(part, list):
                units += WORK_PER_ITEM * len(part)
                below.extend(part)
        if not below or units > WORK_MAX:
            return ValueCost(units, characters / 1_024)
        level = below
    return ValueCost(inf, 0)
