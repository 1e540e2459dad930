"""Areas: circles in metres, polygons of GeoJSON."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.notifications import geofences
from longwire.notifications.geofences import Geofence, open_fence
from longwire.store.cache.compiled_bound import CompiledBound

SHARE = CompiledBound(1_000_000).share("1")
SQUARE = [[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]
HOLE = [[4, 4], [6, 4], [6, 6], [4, 6], [4, 4]]
# Around the antimeridian, cut there.
EAST = [[170, -10], [180, -10], [180, 10], [170, 10], [170, -10]]
WEST = [[-180, -10], [-170, -10], [-170, 10], [-180, 10], [-180, -10]]


def circle(lat: float, lng: float, radius: float) -> Geofence:
    return Geofence(lat=lat, lng=lng, radius=radius)


def polygon(*rings) -> Geofence:
    return Geofence(type="Polygon", coordinates=list(rings))


def polygons(*each) -> Geofence:
    return Geofence(type="MultiPolygon", coordinates=list(each))


@pytest.mark.parametrize(
    "area, lat, lng, expected",
    [
        # One degree of latitude is 111,195 metres on this sphere.
        (circle(48, 2, 111_190), 49, 2, False),
        (circle(48, 2, 111_200), 49, 2, True),
        (circle(0, 0, 1), 0, 0, True),
        (circle(0, 179.9, 30_000), 0, -179.9, True),
        (circle(0, 179.9, 20_000), 0, -179.9, False),
        (circle(90, 0, 1_000_000), 85, 180, True),
        (circle(48, 2, 20_000_000), 91, 2, False),
        (circle(48, 2, 20_000_000), 48, 181, False),
        (polygon(SQUARE), 5, 5, True),
        (polygon(SQUARE), 5, 10, True),  # the edge belongs to it
        (polygon(SQUARE), 0, 0, True),
        (polygon(SQUARE), 5, 10.001, False),
        (polygon(SQUARE), -5, 5, False),
        (polygon(SQUARE[::-1]), 5, 5, True),  # either way round
        (polygon(SQUARE, HOLE), 5, 5, False),
        (polygon(SQUARE, HOLE), 2, 2, True),
        (polygon([[each[0], each[1], 120.5] for each in SQUARE]), 5, 5, True),  # with altitudes
        (polygons([EAST], [WEST]), 0, 175, True),
        (polygons([EAST], [WEST]), 0, -175, True),
        (polygons([EAST], [WEST]), 0, 180, True),
        (polygons([EAST]), 0, -180, True),  # the same meridian
        (polygons([EAST], [WEST]), 0, 0, False),
        (polygons([SQUARE, HOLE], [HOLE]), 5, 5, True),
        (polygon(SQUARE), math.nan, 5, False),
    ],
)
def test_an_area_knows_what_lies_in_it(area, lat, lng, expected):
    assert geofences.validate(area) == []
    assert open_fence(msgspec.json.encode(area), SHARE).contains(lat, lng) is expected


@pytest.mark.parametrize(
    "area, wrong",
    [
        (Geofence(), [("", "must be lat, lng")]),
        (Geofence(lat=1, type="Polygon"), [("", "must be lat, lng")]),
        (Geofence(lat=1), [("lng", "is required"), ("radius", "is required")]),
        (Geofence(type="Polygon"), [("coordinates", "is required")]),
        (Geofence(coordinates=[SQUARE]), [("type", "is required")]),
        (polygon(), [("coordinates", "must be a list of rings")]),
        (polygons(), [("coordinates", "must not be empty")]),
        (polygons([]), [("coordinates[0]", "must be a list of rings")]),
        (polygon(7), [("coordinates[0]", "must be a list of at least four")]),
        (polygon(SQUARE[:3]), [("coordinates[0]", "must be a list of at least four")]),
        (polygon(SQUARE[:4]), [("coordinates[0]", "must end where it begins")]),
        (
            polygon([[0, 0], [10], ["a", 1], [0, 91], [181, 0], [True, 1], [0, 0]]),
            [
                ("coordinates[0][1]", "must be [longitude"),
                ("coordinates[0][2]", "must be [longitude"),
                ("coordinates[0][3]", "the latitude must"),
                ("coordinates[0][4]", "the longitude must"),
                ("coordinates[0][5]", "must be [longitude"),
            ],
        ),
        (
            polygon([[170, 0], [-170, 0], [-170, 10], [170, 10], [170, 0]]),
            [("coordinates[0][1]", "is more than 180"), ("coordinates[0][3]", "is more than 180")],
        ),
        (
            polygon([[0, 0], [10, 10], [10, 0], [0, 10], [0, 0]]),
            [("coordinates", "is not a valid polygon: Self-intersection")],
        ),
        (
            polygons([SQUARE], [SQUARE, EAST]),
            [("coordinates[1]", "is not a valid polygon: Hole lies")],
        ),
        (polygon(SQUARE * 3_000), [("coordinates", "has more than 10,000 positions")]),
    ],
)
def test_what_is_no_area_is_named_field_by_field(area, wrong):
    found = geofences.validate(area)
    assert [field for field, _ in found] == [field for field, _ in wrong]
    assert all(why.startswith(begin) for (_, why), (_, begin) in zip(found, wrong, strict=True)), (
        found
    )


@pytest.mark.parametrize(
    "text", ['{"lat":91}', '{"lng":-181}', '{"radius":0}', '{"radius":3e7}', '{"type":"Point"}']
)
def test_a_number_out_of_bounds_is_refused(text):
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Geofence)


@given(st.floats(-89, 89), st.floats(-180, 180), st.floats(1, 1_000_000), st.floats(0, 2 * math.pi))
def test_a_circle_ends_where_its_radius_does(lat, lng, radius, bearing):
    fence = open_fence(msgspec.json.encode(circle(lat, lng, radius)), SHARE)
    assert fence.contains(*somewhere(lat, lng, radius * 0.999, bearing))
    assert not fence.contains(*somewhere(lat, lng, radius * 1.001, bearing))


def somewhere(lat: float, lng: float, away_m: float, bearing: float) -> tuple[float, float]:
    """Where one gets to, on the sphere."""
    angle, lat1 = away_m / geofences.EARTH_RADIUS_M, math.radians(lat)
    sine = math.sin(lat1) * math.cos(angle) + math.cos(lat1) * math.sin(angle) * math.cos(bearing)
    lat2 = math.asin(max(-1.0, min(1.0, sine)))
    east = math.sin(bearing) * math.sin(angle) * math.cos(lat1)
    lng2 = lng + math.degrees(math.atan2(east, math.cos(angle) - math.sin(lat1) * math.sin(lat2)))
    return math.degrees(lat2), (lng2 + 540) % 360 - 180
