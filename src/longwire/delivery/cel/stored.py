"""Expressions that were checked when they were saved, compiled when one is first needed.

To compile a long one takes ten milliseconds, and a group may have a thousand. So whoever needs it
asks first what that costs, and where it costs too much compiles it later, outside of a transaction.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from longwire.delivery.cel.expressions import EvaluationError, Expression, PreparedExpression
from longwire.delivery.cel.guards import Guard
from longwire.delivery.cel.lexer import InvalidExpression

US_PER_CHARACTER = 6.0  # estimated CPU time to compile
# Of all compiled expressions of a process; a token takes up to a hundred bytes.
TOKENS_MAX = 1_000_000


class StoredExpression:
    """An expression as it was saved. Any thread may use it."""

    __slots__ = ("_compiled", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._compiled: Expression | None = None

    @property
    def compile_us(self) -> float:
        """The CPU time that its next use takes more than others."""
        return US_PER_CHARACTER * len(self.source) if self._compiled is None else 0.0

    @property
    def guards(self) -> Sequence[Guard]:
        try:
            return self.compile().guards
        except EvaluationError:
            return ()

    def compile(self) -> Expression:
        """Compile it if it is not; `EvaluationError` if it is not valid any more."""
        compiled = self._compiled
        if compiled is None:
            try:
                compiled = Expression(self.source)
            except InvalidExpression as error:
                raise EvaluationError(str(error)) from None
            self._compiled = compiled
            COMPILED.add(self, compiled.token_count)
        return compiled

    def evict(self) -> None:
        self._compiled = None

    def prepare(self, message: Mapping[str, Any], *, share: float = 1.0) -> PreparedExpression:
        return self.compile().prepare(message, share=share)

    def evaluate(self, message: Mapping[str, Any], *, share: float = 1.0) -> Any:
        return self.compile().evaluate(message, share=share)

    def matches(self, message: Mapping[str, Any]) -> bool:
        return self.compile().matches(message)


class Evictable(Protocol):
    """Something that can be compiled again."""

    def evict(self) -> None: ...


class CompiledBound:
    """Bounds what is compiled by its weight; what was compiled first is evicted first."""

    def __init__(self, weight_max: int) -> None:
        self.weight_max = weight_max
        self._weights: OrderedDict[Evictable, int] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()

    def add(self, compiled: Evictable, weight: int) -> None:
        with self._lock:
            self._total += weight - self._weights.pop(compiled, 0)
            self._weights[compiled] = weight
            while self._total > self.weight_max and len(self._weights) > 1:
                evicted, freed = self._weights.popitem(last=False)
                self._total -= freed
                evicted.evict()


COMPILED = CompiledBound(TOKENS_MAX)
