"""Where the devices of a group are, for maps."""

from dataclasses import replace
from typing import Annotated, cast

from msgspec import Meta

from longwire.api.services import Context
from longwire.api.types import GroupId
from longwire.errors import invalid_field
from longwire.fleet import positions
from longwire.model import GeoBox, PositionFilter
from longwire.web.fields import Count, DateQuery, Query, Reply, parse_date_field
from longwire.web.routing import Route

ITEMS_DEFAULT = 10_000
ITEMS_MAX = 20_000


class PositionQuery(Query):
    """Of which group, and in which area."""

    group_id: GroupId
    subgroups: Annotated[bool, Meta(description="With all groups below it.")] = False
    box: (
        Annotated[
            str,
            Meta(
                max_length=128,
                description="`west,south,east,north` in degrees; a box whose west is greater than "
                "its east contains the 180th meridian.",
                examples=["4.0,51.9,4.5,52.0"],
            ),
        ]
        | None
    ) = None
    since: (
        Annotated[DateQuery, Meta(description="Only positions of this time or later.")] | None
    ) = None
    limit: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=ITEMS_MAX,
                description="The maximum number of positions per page; 10,000 if left out.",
                examples=[ITEMS_DEFAULT],
            ),
        ]
        | None
    ) = None
    next_token: Annotated[str, Meta(description="The nextToken of the previous page.")] | None = (
        None
    )


# No tuple: hardly any client generator knows arrays whose items have types of their own.
PositionItem = Annotated[
    list[str | int | float | None],
    Meta(
        min_length=5,
        max_length=5,
        description="Device id, latitude, longitude, radius in metres if known, and when: seconds "
        "since 1970.",
        examples=[["dev_vzpeqxr5mxjrq2uy6ct3mlgw", 51.95, 4.14, 80, 1_794_731_400]],
    ),
]


class Positions(Reply):
    """A page of last positions, as arrays: they are half as large as objects."""

    items: Annotated[list[PositionItem], Meta(description="One for each device.")]
    total: Annotated[
        Count, Meta(description="How many there are, counted for the first page.", examples=[204])
    ]
    next_token: str | None = None


def list_positions(context: Context, query: PositionQuery) -> Positions:
    """List the last positions of devices.

    Of each device of the group that has one: that of its newest geolocation since it is in the
    group. In no particular order.
    """
    request = context.page_tokens.page_request(query)
    if query.limit is None:
        request = replace(request, limit=ITEMS_DEFAULT)
    page = positions.list_positions(
        context.tx,
        context.actor,
        query.group_id,
        _filter(query),
        request,
        subgroups=query.subgroups,
    )
    return Positions(
        items=cast("list[PositionItem]", page.items),  # encoded as arrays
        total=page.total,
        next_token=context.page_tokens.next_token(query, page),
    )


def _filter(query: PositionQuery) -> PositionFilter:
    found = PositionFilter(box=None if query.box is None else _parse_box(query.box))
    if query.since is None:
        return found
    return replace(found, since=parse_date_field("since", query.since))


def _parse_box(text: str) -> GeoBox:
    try:
        west, south, east, north = (float(each) for each in text.split(","))
    except ValueError:
        raise invalid_field("box", "must be four numbers: west,south,east,north") from None
    if not (-180 <= west <= 180 and -180 <= east <= 180):
        raise invalid_field("box", "must have a west and an east from -180 to 180")
    if not -90 <= south <= north <= 90:
        raise invalid_field("box", "must have a south and a north from -90 to 90, in this order")
    return GeoBox(west, south, east, north)


ROUTES = [
    Route(
        "GET",
        "/group/positions",
        list_positions,
        "record.read",
        tag="Devices",
        may_lag=True,
        object_rule="in the group; device.read there, too",
        is_addition=True,
    )
]
