"""The domain's errors.

Raised where a rule is broken and not caught below the web layer, which alone maps them to HTTP
statuses. The docstring of an error is its default message.
"""

from collections.abc import Iterable

from longwire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """One invalid field, by its Python name, and why it is invalid."""

    field: str
    message: str


class OperatorError(Exception):
    """Something that the operator can fix: the command line prints it without a traceback."""


class LongwireError(Exception):
    """The request could not be carried out."""

    def __init__(
        self, message: str | None = None, *, field_errors: Iterable[FieldError] = ()
    ) -> None:
        self.field_errors = tuple(field_errors)
        self.has_own_message = bool(message)
        self.message = message or self._sentence()
        super().__init__(self.message)

    def _sentence(self) -> str:
        if self.field_errors:
            return "; ".join(f"{fault.field}: {fault.message}" for fault in self.field_errors)
        return " ".join((self.__doc__ or "").split())


class BadInput(LongwireError):
    """The request is invalid."""


class NotAuthenticated(LongwireError):
    """A valid access token is needed: send it in the header Authorization."""


class TotpRequired(NotAuthenticated):
    """The code of an authenticator app is needed as well; send it as totp."""


class NotAllowed(LongwireError):
    """You do not have the permission for this operation."""


class SessionNotFresh(NotAllowed):
    """This needs a session that has just begun, by a way to sign in of your own; sign in again."""


class HandedOver(SessionNotFresh):
    """Somebody else was shown the link of this session; sign in yourself."""


class CrossSite(NotAllowed):
    """With a cookie, a request must come from this service's own pages: send X-Longwire-Console: 1,
    and neither Origin nor Sec-Fetch-Site of another site."""


class NotFound(LongwireError):
    """It does not exist, or you do not have access to it."""


class Conflict(LongwireError):
    """The request conflicts with the current state."""


class LimitReached(Conflict):
    """A limit that the operator has set is reached."""

    def __init__(self, setting: str, maximum: int) -> None:
        super().__init__(f"The limit is reached: the operator has set {setting} to {maximum}.")
        self.setting = setting
        self.maximum = maximum


class ChangedMeanwhile(Conflict):
    """The object was changed meanwhile."""

    def __init__(self, updated_at: str) -> None:
        message = f"is not the time of the last update, which is {updated_at}: changed meanwhile"
        super().__init__(field_errors=[FieldError("if_updated_at", message)])


class TooLarge(LongwireError):
    """The request is too large."""


class WrongMediaType(LongwireError):
    """Send the body as application/json."""


class TooManyRequests(LongwireError):
    """Too many requests; wait before the next one."""

    def __init__(self, message: str | None = None, *, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unavailable(LongwireError):
    """The service is temporarily unavailable; nothing was changed. Retry shortly."""

    retry_after_s = 1


class DatabaseUnreachable(Unavailable):
    """The database does not answer; nothing was changed. Retry shortly."""


class OutcomeUnknown(Unavailable):
    """The change may or may not have been stored. Retry the request to be sure."""


def not_found(field: str, noun: str) -> NotFound:
    """The error for an id that does not exist or that the caller may not see."""
    return NotFound(
        field_errors=[FieldError(field, f"is not a known {noun}, or you have no access to it")]
    )


def conflicting_field(field: str, message: str) -> Conflict:
    """The error for one field that conflicts with the current state."""
    return Conflict(field_errors=[FieldError(field, message)])


def invalid_field(field: str, message: str) -> BadInput:
    """The error for one invalid field."""
    return BadInput(field_errors=[FieldError(field, message)])
