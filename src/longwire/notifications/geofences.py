"""Areas on the map: a circle, or a polygon in GeoJSON.

A circle is measured in metres on a sphere. The edges of a polygon are straight lines between
longitudes and latitudes, as GeoJSON has them.
"""

import importlib
import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Protocol, cast

import msgspec
from msgspec import Meta

EARTH_RADIUS_M = 6_371_008.8
RADIUS_M_MAX = 20_000_000
POINTS_MAX = 10_000
RINGS_MAX = 1_000
PROBLEMS_MAX = 20
# From here on the short way between two longitudes is the other one.
HALF_TURN = 180.0

Ring = list[tuple[float, float]]
# A polygon is its outer ring, and its holes.
Rings = list[Ring]


class Geofence(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """An area: `lat`, `lng` and `radius`, or `type` and `coordinates` of a GeoJSON polygon."""

    lat: Annotated[float, Meta(ge=-90, le=90, description="Of the middle of a circle.")] | None = (
        None
    )
    lng: (
        Annotated[float, Meta(ge=-180, le=180, description="Of the middle of a circle.")] | None
    ) = None
    radius: Annotated[float, Meta(gt=0, le=RADIUS_M_MAX, description="In metres.")] | None = None
    type: Annotated[Literal["Polygon", "MultiPolygon"], Meta(description="Of GeoJSON.")] | None = (
        None
    )
    coordinates: (
        Annotated[
            list[Any],
            Meta(
                description="Of GeoJSON: rings of [longitude, latitude], the outer one first. An "
                "area across the antimeridian is cut there, into a MultiPolygon.",
            ),
        ]
        | None
    ) = None


class Fence(Protocol):
    """An area that is ready to be asked."""

    def contains(self, lat: float, lng: float) -> bool:
        """Whether a place lies in the area or on its edge; one that is no place does not."""


def problems(geofence: Geofence) -> list[tuple[str, str]]:
    """What is wrong with an area: (field, why); nothing for the whole."""
    circle = {"lat": geofence.lat, "lng": geofence.lng, "radius": geofence.radius}
    polygon = {"type": geofence.type, "coordinates": geofence.coordinates}
    has_circle = any(value is not None for value in circle.values())
    has_polygon = any(value is not None for value in polygon.values())
    if has_circle == has_polygon:
        return [("", "must be lat, lng and radius, or type and coordinates of a GeoJSON polygon")]
    wanted = circle if has_circle else polygon
    missing = [(field, "is required") for field, value in wanted.items() if value is None]
    if missing or has_circle:
        return missing
    try:
        polygons = _polygons(geofence)
    except BadShape as error:
        return error.problems
    return [
        ("coordinates" if geofence.type == "Polygon" else f"coordinates[{index}]", why)
        for index, rings in enumerate(polygons)
        if (why := _geometry().problem(rings))
    ]


def fence_of(geofence: Geofence) -> Fence:
    """The area, ready to be asked; it was checked when it was saved."""
    if geofence.radius is not None:
        return Circle(geofence.lat or 0.0, geofence.lng or 0.0, geofence.radius)
    return Polygons(_polygons(geofence))


class Circle:
    """So many metres around a place."""

    def __init__(self, lat: float, lng: float, radius_m: float) -> None:
        self._middle = (math.radians(lat), math.radians(lng))
        self._radius_m = radius_m

    def contains(self, lat: float, lng: float) -> bool:
        return is_place(lat, lng) and self._distance_m(lat, lng) <= self._radius_m

    def _distance_m(self, lat: float, lng: float) -> float:
        """By the haversine formula, which is exact for near places, too."""
        lat1, lng1 = self._middle
        lat2, lng2 = math.radians(lat), math.radians(lng)
        half = (
            math.sin((lat2 - lat1) / 2) ** 2
            + math.cos(lat1) * math.cos(lat2) * math.sin((lng2 - lng1) / 2) ** 2
        )
        return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, half)))


class Polygons:
    """One or several polygons, each with its holes."""

    def __init__(self, polygons: Sequence[Rings]) -> None:
        self._area = _geometry().area(polygons)

    def contains(self, lat: float, lng: float) -> bool:
        if not is_place(lat, lng):
            return False
        if abs(lng) == HALF_TURN:
            # The same meridian has two names.
            return self._area(-HALF_TURN, lat) or self._area(HALF_TURN, lat)
        return self._area(lng, lat)


def is_place(lat: float, lng: float) -> bool:
    return -90 <= lat <= 90 and -HALF_TURN <= lng <= HALF_TURN


class Area(Protocol):
    def __call__(self, lng: float, lat: float) -> bool: ...


class _Geometry(Protocol):
    """What `polygons.py` offers."""

    def problem(self, rings: Rings) -> str | None: ...

    def area(self, polygons: Sequence[Rings]) -> Area: ...


def _geometry() -> _Geometry:
    # Loaded for the first polygon: the library takes its time and memory, and most need neither.
    return cast(_Geometry, importlib.import_module("longwire.notifications.polygons"))


# --- reading GeoJSON ---


class BadShape(Exception):
    def __init__(self, problems: list[tuple[str, str]]) -> None:
        self.problems = problems


def _polygons(geofence: Geofence) -> list[Rings]:
    """The rings of each polygon; raises `BadShape` with all that is wrong with them."""
    given = geofence.coordinates or []
    named: dict[str, Any] = {"coordinates": given}
    if geofence.type == "MultiPolygon":
        named = {f"coordinates[{index}]": each for index, each in enumerate(given)}
    found: list[tuple[str, str]] = []
    polygons: list[Rings] = []
    points = rings = 0
    if not named:
        found.append(("coordinates", "must not be empty"))
    for place, each in named.items():
        if not isinstance(each, list) or not each:
            found.append((place, "must be a list of rings, the outer one first"))
            continue
        polygons.append([])
        for index, ring in enumerate(each):
            rings += 1
            points += len(ring) if isinstance(ring, list) else 0
            if points > POINTS_MAX or rings > RINGS_MAX:
                why = f"has more than {POINTS_MAX:,} positions or {RINGS_MAX:,} rings"
                raise BadShape([("coordinates", why)])
            wrong = list(_ring_problems(f"{place}[{index}]", ring))
            found += wrong
            if not wrong:
                polygons[-1].append([(position[0], position[1]) for position in ring])
    if found:
        raise BadShape(found[:PROBLEMS_MAX])
    return polygons


def _ring_problems(place: str, ring: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(ring, list) or len(ring) < 4:
        yield place, "must be a list of at least four positions, the last like the first"
        return
    wrong = [
        (f"{place}[{index}]", why)
        for index, position in enumerate(ring)
        if (why := _position_problem(position))
    ]
    if wrong:
        yield from wrong
        return
    if ring[0] != ring[-1]:
        yield place, "must end where it begins"
    for index in range(1, len(ring)):
        if abs(ring[index][0] - ring[index - 1][0]) > HALF_TURN:
            why = "is more than 180 degrees away; cut the area there, into a MultiPolygon"
            yield f"{place}[{index}]", why


def _position_problem(position: Any) -> str | None:
    is_position = (
        isinstance(position, list)
        and len(position) >= 2
        and all(isinstance(part, int | float) and not isinstance(part, bool) for part in position)
    )
    if not is_position:
        return "must be [longitude, latitude]"
    if not -HALF_TURN <= position[0] <= HALF_TURN:
        return "the longitude must be between -180 and 180"
    if not -90 <= position[1] <= 90:
        return "the latitude must be between -90 and 90; the longitude comes first"
    return None
