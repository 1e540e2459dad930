"""Polygons, by the library that knows them; loaded when the first one is there."""

from collections.abc import Sequence

import shapely
from shapely.geometry import Polygon

from longwire.notifications.geofences import Area, Rings


def problem(rings: Rings) -> str | None:
    """Why these rings are no polygon."""
    made = Polygon(rings[0], rings[1:])
    if made.is_valid:
        return None
    return f"is no polygon: {shapely.is_valid_reason(made)}"


def area(polygons: Sequence[Rings]) -> Area:
    shapes = [Polygon(rings[0], rings[1:]) for rings in polygons]
    boxes = [shape.bounds for shape in shapes]

    def contains(lng: float, lat: float) -> bool:
        return any(
            west <= lng <= east
            and south <= lat <= north
            and bool(shapely.intersects_xy(shape, lng, lat))
            for shape, (west, south, east, north) in zip(shapes, boxes, strict=True)
        )

    return contains
