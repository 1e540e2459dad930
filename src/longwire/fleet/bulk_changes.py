"""Changes of many devices at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from longwire.errors import BadInput, FieldError


@dataclass(frozen=True, slots=True)
class BulkChange:
    """What to change of many devices; empty or None leaves a field as it is."""

    add_tags: Sequence[str] = ()
    remove_tags: Sequence[str] = ()
    type: str | None = None
    configuration: str | None = None


def require_some_change(change: BulkChange) -> None:
    """Or it is refused."""
    both = [index for index, tag in enumerate(change.remove_tags) if tag in change.add_tags]
    if both:
        raise BadInput(
            field_errors=[
                FieldError(f"remove_tags[{index}]", "is in addTags, too") for index in both
            ]
        )
    if not any(
        (change.add_tags, change.remove_tags, change.type, change.configuration is not None)
    ):
        raise BadInput(
            "There is nothing to change: send addTags, removeTags, type or configuration."
        )
