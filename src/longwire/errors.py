"""What can go wrong, in the words of the domain.

A rule that is broken raises one of these where it is broken, and it rises untouched to the door.
The docstring is the sentence a caller reads when nothing more exact was said. Nobody below
`api/errors.py` knows which status an error becomes.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One wrong field: its name as the operation spells it, and what is wrong with it."""

    field: str
    message: str


class LongwireError(Exception):
    """The request could not be carried out."""

    def __init__(self, message: str | None = None, *, faults: Iterable[Fault] = ()) -> None:
        self.faults = tuple(faults)
        self.message = message or self.sentence()
        super().__init__(self.message)

    def sentence(self) -> str:
        if self.faults:
            return "; ".join(f"{fault.field}: {fault.message}" for fault in self.faults)
        return " ".join((self.__doc__ or "").split())


class BadInput(LongwireError):
    """The request is not understood."""


class NotAuthenticated(LongwireError):
    """A valid access token is needed: send it in the header Authorization."""


class NotAllowed(LongwireError):
    """You may see this, but you may not do this to it."""


class NotFound(LongwireError):
    """There is no such thing, or it is not yours to see."""


class Conflict(LongwireError):
    """This collides with something that exists."""


class TooLarge(LongwireError):
    """The request is larger than this service takes."""


class WrongMediaType(LongwireError):
    """Send the body as application/json."""


class TooManyRequests(LongwireError):
    """Too many requests; wait before the next one."""

    def __init__(self, message: str | None = None, *, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unavailable(LongwireError):
    """The service cannot do this now; nothing was changed. Try again shortly."""

    retry_after_s = 1


class OutcomeUnknown(Unavailable):
    """The change may or may not have been stored. Repeat the request to be sure."""


def missing(field: str, noun: str) -> NotFound:
    """A parameter that names nothing, or nothing that the caller may see."""
    return NotFound(faults=[Fault(field, f"names no {noun}, or none that is yours to see")])


def wrong(field: str, message: str) -> BadInput:
    """One field that breaks a rule."""
    return BadInput(faults=[Fault(field, message)])
