"""Rotas: contact points that stand for those who are on call at that time of the week."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from longwire.clock import Moment
from longwire.delivery.destinations.base import list_invalid_fields
from longwire.delivery.http.egress import Egress
from longwire.notifications import schedules
from longwire.notifications.schedules import Schedule, ScheduleTime
from longwire.notifications.types.base import ContactParams, ContactPointId
from longwire.notifications.types.contact_points import NoSender

SHIFTS_MAX = 100
DAYS = (1, 2, 3, 4, 5, 6, 7)

TimeOfDay = Annotated[str, Meta(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$", examples=["08:00"])]


class RotaShift(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Who is on call on which days of the week, and at what time."""

    contact_point: ContactPointId
    days: Annotated[
        list[Annotated[int, Meta(ge=1, le=7)]],
        Meta(
            max_length=7,
            description="On which it begins: 1 to 7 for Monday to Sunday; empty for each.",
            examples=[[1, 2, 3, 4, 5]],
        ),
    ] = []
    begin: Annotated[TimeOfDay, Meta(description="When it begins; else at midnight.")] | None = (
        msgspec.field(default=None, name="from")
    )
    end: (
        Annotated[
            TimeOfDay,
            Meta(
                description="When it ends; else at midnight. One that is not later than `from` is"
                " on the next day.",
                examples=["20:00"],
            ),
        ]
        | None
    ) = msgspec.field(default=None, name="to")

    def is_on(self, timezone: str, moment: Moment) -> bool:
        begin, end = _parse_time(self.begin), _parse_time(self.end)
        return any(
            schedules.is_open(Schedule(day=day, begin=begin, end=end), timezone, moment)
            for day in self.days or DAYS
        )


class RotaParams(ContactParams, kw_only=True):
    """Who is on call, and who is notified if nobody is."""

    timezone: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=64,
            description="The zone that the shifts are meant in, by its IANA name.",
            examples=["Europe/Paris"],
        ),
    ]
    shifts: Annotated[
        list[RotaShift],
        Meta(min_length=1, max_length=SHIFTS_MAX, description="Several may be on call at once."),
    ]
    fallback: Annotated[
        ContactPointId,
        Meta(description="The id of the contact point that is notified while nobody is on call."),
    ]

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        language = None if self.language is None else "is that of the contact points on call"
        wrong = {"timezone": schedules.check_timezone(self.timezone), "language": language}
        return [*super().validate(egress), *list_invalid_fields(wrong)]

    def list_named(self) -> list[tuple[str, str]]:
        """The contact points that it names: (field on the wire, id)."""
        named = [
            (f"shifts[{index}].contactPoint", each.contact_point)
            for index, each in enumerate(self.shifts)
        ]
        return [*named, ("fallback", self.fallback)]

    def list_on_call(self, moment: Moment) -> list[str]:
        """The ids of those who are on call at a moment, or of the fallback."""
        on_call = [each.contact_point for each in self.shifts if each.is_on(self.timezone, moment)]
        return list(dict.fromkeys(on_call)) or [self.fallback]


class RotaSender(NoSender):
    """Contact points that stand for others."""

    type: ClassVar[str] = "rota"
    title: ClassVar[str] = "On call by schedule"


def _parse_time(text: str | None) -> ScheduleTime | None:
    if text is None:
        return None
    hours, _, minutes = text.partition(":")
    return ScheduleTime(hours=int(hours), minutes=int(minutes))
