"""What a check finds, and how checks are run."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from longwire.dataclass import dataclass
from longwire.settings.declaration import redact_password


class Severity(StrEnum):
    OK = "ok"
    WARNING = "warning"  # works now, but will not for long, or not as expected
    PROBLEM = "problem"  # the service does not work, or may lose what it has confirmed


@dataclass(frozen=True, slots=True)
class Finding:
    area: str
    severity: Severity
    text: str
    advice: str = ""  # what to do about it


@dataclass(frozen=True, slots=True)
class Area:
    """The findings of one area are made here, so that each is one line."""

    name: str

    def ok(self, text: str) -> Finding:
        return Finding(self.name, Severity.OK, text)

    def warning(self, text: str, advice: str) -> Finding:
        return Finding(self.name, Severity.WARNING, text, advice)

    def problem(self, text: str, advice: str) -> Finding:
        return Finding(self.name, Severity.PROBLEM, text, advice)


Check = tuple[Area, Callable[[], Iterable[Finding]]]


def run_checks(checks: Iterable[Check]) -> list[Finding]:
    """Run all checks; one that fails is a finding and keeps no other from running."""
    found: list[Finding] = []
    for area, check in checks:
        try:
            found += check()
        except Exception as error:
            text = f"could not be checked: {describe_error(error)}"
            found.append(area.warning(text, "report this as a bug, with the text of the error"))
    return found


def describe_error(error: BaseException) -> str:
    """An error in one line, without passwords."""
    cause = getattr(error, "orig", None) or error  # that of the driver
    line = " ".join(str(cause).split()) or type(cause).__name__
    return redact_password(line)


def is_healthy(found: Sequence[Finding]) -> bool:
    return not any(each.severity is Severity.PROBLEM for each in found)
