"""Geofences: a circle, or a polygon in GeoJSON.

A circle is measured in metres on a sphere. The edges of a polygon are straight lines in longitude
and latitude, as in GeoJSON.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

import msgspec
from msgspec import Meta

from longwire import extras
from longwire.errors import OperatorError
from longwire.notifications.polygons import PolygonArea, Rings, check_polygon
from longwire.store.cache.compiled_bound import CompiledShare

EARTH_RADIUS_M = 6_371_008.8
RADIUS_M_MAX = 20_000_000
POINTS_MAX = 10_000
RINGS_MAX = 1_000
ERRORS_MAX = 20
BUILT_AT_ONCE_BYTES_MAX = 512
US_PER_BYTE = 0.15  # estimated CPU time to build a polygon
# Beyond this difference, the shorter arc between two longitudes is the other one.
HALF_TURN = 180.0


class Geofence(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """An area: `lat`, `lng` and `radius`, or `type` and `coordinates` of a GeoJSON polygon."""

    lat: Annotated[float, Meta(ge=-90, le=90, description="Of the centre of a circle.")] | None = (
        None
    )
    lng: (
        Annotated[float, Meta(ge=-180, le=180, description="Of the centre of a circle.")] | None
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
    """An area to test positions against."""

    @property
    def build_us(self) -> float:
        """The CPU time that its next use takes more than others."""

    def contains(self, lat: float, lng: float) -> bool:
        """Whether a position is in the area or on its edge; never for an invalid position."""


def validate(geofence: Geofence) -> list[tuple[str, str]]:
    """What is invalid: (field, reason); an empty field for the whole."""
    circle = {"lat": geofence.lat, "lng": geofence.lng, "radius": geofence.radius}
    polygon = {"type": geofence.type, "coordinates": geofence.coordinates}
    has_circle = any(value is not None for value in circle.values())
    has_polygon = any(value is not None for value in polygon.values())
    if has_circle == has_polygon:
        return [("", "must be lat, lng and radius, or type and coordinates of a GeoJSON polygon")]
    required = circle if has_circle else polygon
    missing = [(field, "is required") for field, value in required.items() if value is None]
    if missing or has_circle:
        return missing
    if not extras.is_installed("geo"):
        return [("type", extras.explain_missing("geo"))]
    try:
        polygons = _parse_polygons(geofence)
    except InvalidShape as error:
        return error.errors
    return [
        ("coordinates" if geofence.type == "Polygon" else f"coordinates[{index}]", why)
        for index, rings in enumerate(polygons)
        if (why := check_polygon(rings))
    ]


def open_fence(text: bytes, share: CompiledShare) -> Fence | None:
    """The fence of a stored geofence, or of null; a large one is built when needed.

    `share` is what may be kept built for its group.
    """
    if len(text) > BUILT_AT_ONCE_BYTES_MAX:
        return StoredFence(text, share)
    geofence = _GEOFENCE.decode(text)
    if geofence is None:
        return None
    return StoredFence(text, share) if geofence.radius is None else _build_fence(geofence)


def _build_fence(geofence: Geofence) -> Fence:
    """The fence of a geofence that was validated when it was saved."""
    if geofence.radius is not None:
        return CircleFence(geofence.lat or 0.0, geofence.lng or 0.0, geofence.radius)
    return PolygonFence(_parse_polygons(geofence))


_GEOFENCE = msgspec.json.Decoder(Geofence | None)


class CircleFence:
    """A circle around a position."""

    build_us = 0.0

    def __init__(self, lat: float, lng: float, radius_m: float) -> None:
        self._centre = (math.radians(lat), math.radians(lng))
        self._radius_m = radius_m

    def contains(self, lat: float, lng: float) -> bool:
        return is_position(lat, lng) and self._distance_m(lat, lng) <= self._radius_m

    def _distance_m(self, lat: float, lng: float) -> float:
        """By the haversine formula, which is accurate for short distances, too."""
        lat1, lng1 = self._centre
        lat2, lng2 = math.radians(lat), math.radians(lng)
        half = (
            math.sin((lat2 - lat1) / 2) ** 2
            + math.cos(lat1) * math.cos(lat2) * math.sin((lng2 - lng1) / 2) ** 2
        )
        return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, half)))


class PolygonFence:
    """One or several polygons, each with its holes."""

    build_us = 0.0

    def __init__(self, polygons: Sequence[Rings]) -> None:
        self._area = PolygonArea(polygons)

    def contains(self, lat: float, lng: float) -> bool:
        if not is_position(lat, lng):
            return False
        if abs(lng) == HALF_TURN:
            # -180 and 180 are the same meridian.
            return self._area.contains(-HALF_TURN, lat) or self._area.contains(HALF_TURN, lat)
        return self._area.contains(lng, lat)


class StoredFence:
    """A fence as it was saved, built when it is first needed. Any thread may use it.

    To build the largest takes some milliseconds, and a group may have hundreds.
    """

    def __init__(self, text: bytes, share: CompiledShare) -> None:
        self._text = text
        self._share = share
        self._fence: Fence | None = None
        self._error: str | None = None

    @property
    def build_us(self) -> float:
        is_done = self._fence is not None or self._error is not None
        return 0.0 if is_done else US_PER_BYTE * len(self._text)

    def evict(self) -> None:
        self._fence = None

    def contains(self, lat: float, lng: float) -> bool:
        """`UnusableFence` if it cannot be built."""
        fence = self._fence or self._build()
        return fence.contains(lat, lng)

    def _build(self) -> Fence:
        if self._error is not None:
            raise UnusableFence(self._error)
        try:
            fence = _build_fence(msgspec.json.decode(self._text, type=Geofence))
        except OperatorError as error:  # a part of the installation is missing
            self._error = str(error)
            raise UnusableFence(self._error) from None
        except (InvalidShape, ValueError):
            # It was valid by the rules of the time when it was saved.
            self._error = "the geofence is not valid any more; save it again"
            raise UnusableFence(self._error) from None
        self._fence = fence
        self._share.add(self, len(self._text))
        return fence


class UnusableFence(Exception):
    """Why a fence cannot be built."""


def is_position(lat: float, lng: float) -> bool:
    return -90 <= lat <= 90 and -HALF_TURN <= lng <= HALF_TURN


# --- parsing GeoJSON ---


class InvalidShape(Exception):
    def __init__(self, errors: list[tuple[str, str]]) -> None:
        self.errors = errors


def _parse_polygons(geofence: Geofence) -> list[Rings]:
    """The rings of each polygon; raises `InvalidShape` with everything that is invalid."""
    coordinates = geofence.coordinates or []
    by_place: dict[str, Any] = {"coordinates": coordinates}
    if geofence.type == "MultiPolygon":
        by_place = {f"coordinates[{index}]": each for index, each in enumerate(coordinates)}
    _check_size(by_place.values())
    found = list(_check_polygons(by_place))
    if found:
        raise InvalidShape(found[:ERRORS_MAX])
    return [
        [[(position[0], position[1]) for position in ring] for ring in rings]
        for rings in by_place.values()
    ]


def _check_size(polygons: Iterable[Any]) -> None:
    rings = [ring for each in polygons if isinstance(each, list) for ring in each]
    positions = sum(len(ring) for ring in rings if isinstance(ring, list))
    if positions > POINTS_MAX or len(rings) > RINGS_MAX:
        why = f"has more than {POINTS_MAX:,} positions or {RINGS_MAX:,} rings"
        raise InvalidShape([("coordinates", why)])


def _check_polygons(by_place: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if not by_place:
        yield "coordinates", "must not be empty"
    for place, rings in by_place.items():
        if not isinstance(rings, list) or not rings:
            yield place, "must be a list of rings, the outer one first"
            continue
        for index, ring in enumerate(rings):
            yield from _check_ring(f"{place}[{index}]", ring)


def _check_ring(place: str, ring: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(ring, list) or len(ring) < 4:
        yield place, "must be a list of at least four positions, the last like the first"
        return
    wrong = [
        (f"{place}[{index}]", why)
        for index, position in enumerate(ring)
        if (why := _check_position(position))
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


def _check_position(position: Any) -> str | None:
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
