"""Polygons, through shapely, which is loaded on first use: most services never need it.

Our own point-in-polygon test would do for small ones. For the largest that we accept, it takes
twenty times as long in the transaction that stores a position, and validity is harder still.
"""

from collections.abc import Sequence
from typing import Any

from longwire import extras

Ring = list[tuple[float, float]]  # of (longitude, latitude)
Rings = list[Ring]  # the outer ring of a polygon, and its holes


def _load_shapely() -> Any:
    return extras.load("geo", "shapely")


def check_polygon(rings: Rings) -> str | None:
    """Why the rings are not a valid polygon; None if they are."""
    shapely = _load_shapely()
    polygon = shapely.Polygon(rings[0], rings[1:])
    if polygon.is_valid:
        return None
    return f"is not a valid polygon: {shapely.is_valid_reason(polygon)}"


class PolygonArea:
    """The union of some polygons; the edges belong to it."""

    def __init__(self, polygons: Sequence[Rings]) -> None:
        shapely = _load_shapely()
        shapes = [shapely.Polygon(rings[0], rings[1:]) for rings in polygons]
        shapely.prepare(shapes)  # else every edge is visited for every position
        self._shapes = [(shape, shape.bounds) for shape in shapes]
        self._intersects = shapely.intersects_xy

    def contains(self, lng: float, lat: float) -> bool:
        return any(
            west <= lng <= east
            and south <= lat <= north
            and bool(self._intersects(shape, lng, lat))
            for shape, (west, south, east, north) in self._shapes
        )
