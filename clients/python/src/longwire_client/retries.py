"""When to send a request again."""

import random
from dataclasses import dataclass

from longwire_client.errors import ApiError, LongwireError

# A private generator, so that programs may seed the common one.
_random = random.Random()


@dataclass(frozen=True, slots=True)
class Retries:
    """How often, and after which pauses, a request is sent again.

    Only what can succeed later is sent again, and what may have been carried out only if repeating
    it is harmless. The pause doubles with each attempt, a random part of it is left out, and it is
    never shorter than the service asks for with `Retry-After`.
    """

    attempts: int = 5
    first_delay_s: float = 0.25
    delay_max_s: float = 30.0
    retry_after_max_s: float = 60.0  # who is asked to wait for longer gets the error

    def next_delay(
        self, error: LongwireError, attempt: int, *, is_repeatable: bool
    ) -> float | None:
        """The pause after the attempt with this number, the first being 1; None to give up."""
        if attempt >= self.attempts or not error.is_temporary:
            return None
        if error.may_have_happened and not is_repeatable:
            return None
        asked = (error.retry_after_s or 0.0) if isinstance(error, ApiError) else 0.0
        if asked > self.retry_after_max_s:
            return None
        return max(asked, self.back_off(attempt))

    def back_off(self, attempt: int) -> float:
        """A random pause that grows with the number of the attempt."""
        longest = min(self.delay_max_s, self.first_delay_s * 2.0 ** min(attempt - 1, 30))
        return longest * _random.uniform(0.5, 1.0)
