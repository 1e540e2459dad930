"""Expressions that were checked when they were saved, compiled when one is first needed.

To compile a long one takes ten milliseconds, and a group may have a thousand. So whoever needs it
asks first what that costs, and where it costs too much compiles it later, outside of a transaction.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from longwire.delivery.cel.expressions import EvaluationError, Expression, PreparedExpression
from longwire.delivery.cel.guards import Guard
from longwire.delivery.cel.lexer import InvalidExpression
from longwire.store.cache.compiled_bound import CompiledShare

US_PER_CHARACTER = 6.0  # estimated CPU time to compile


class NoLongerValid(EvaluationError):
    """It was valid by the rules of the time when it was saved."""


class StoredExpression:
    """An expression as it was saved. Any thread may use it."""

    __slots__ = (
        "_compiled",
        "_error",
        "_guards",
        "_is_filter",
        "_roots",
        "_share",
        "fails_at_times",
        "source",
    )

    def __init__(
        self,
        source: str,
        share: CompiledShare | None = None,
        *,
        is_filter: bool = False,
        roots: Collection[str] = (),
    ) -> None:
        """`share` is that of the group for which it is kept; else it goes with whoever made it."""
        self.source = source
        self._share = share
        self.fails_at_times = False  # see FilterOutcomes
        self._is_filter = is_filter
        self._roots = roots
        self._compiled: Expression | None = None
        self._guards: Sequence[Guard] | None = None  # stay when it is evicted
        self._error: str | None = None

    @property
    def compile_us(self) -> float:
        """The CPU time that its next use takes more than others."""
        is_done = self._compiled is not None or self._error is not None
        return 0.0 if is_done else US_PER_CHARACTER * len(self.source)

    @property
    def guards_us(self) -> float:
        """The CPU time that it takes to know its guards."""
        return self.compile_us if self._guards is None else 0.0

    @property
    def guards(self) -> Sequence[Guard]:
        if self._guards is None:
            try:
                self._guards = self.compile().guards
            except EvaluationError:
                self._guards = ()
        return self._guards

    def compile(self) -> Expression:
        """Compile it if it is not; `NoLongerValid` if it cannot be."""
        compiled = self._compiled
        if compiled is not None:
            return compiled
        if self._error is None:
            try:
                compiled = Expression(self.source, is_filter=self._is_filter, roots=self._roots)
            except InvalidExpression as error:
                self._error = str(error)
        if compiled is None:
            raise NoLongerValid(self._error)
        self._guards, self._compiled = compiled.guards, compiled
        if self._share is not None:
            self._share.add(self, compiled.token_count)
        return compiled

    def evict(self) -> None:
        self._compiled = None

    def prepare(self, message: Mapping[str, Any], *, share: float = 1.0) -> PreparedExpression:
        return self.compile().prepare(message, share=share)

    def evaluate(self, message: Mapping[str, Any], *, share: float = 1.0) -> Any:
        return self.compile().evaluate(message, share=share)

    def matches(self, message: Mapping[str, Any]) -> bool:
        return self.compile().matches(message)
