// An area on the map, and a way to draw one: a circle from its middle outwards, or the corners of a
// polygon one by one. What is there can be taken by its corners.
import { useEffect, useRef } from "react";
import { Circle, CircleMarker, Polygon, Polyline, type LatLng, type LeafletMouseEvent } from "leaflet";
import { polygonOf, type Area } from "./area";
import { addHandles } from "./area-handles";
import { listenForDrag } from "./drag";
import { distanceM, wrapLng, type Place } from "./geometry";
import { useLeaflet } from "./map-view";

export type Drawing = "circle" | "polygon" | null;

const CORNERS_MIN = 3;
const CLOSE_PX = 12;
const STYLE = { className: "map-area", interactive: false };

function placeOf({ lat, lng }: LatLng): Place {
  return { lat, lng: wrapLng(lng) };
}

function shapeOf(area: Area): Circle | Polygon {
  if (area.kind === "circle") return new Circle([area.lat, area.lng], { ...STYLE, radius: area.radius });
  return new Polygon(area.polygons.map((rings) => rings.map((ring) => ring.map(({ lat, lng }): [number, number] => [lat, lng]))), STYLE);
}

export function AreaLayer({ area, drawing, onDrawn }: { area: Area | null; drawing: Drawing; onDrawn: (area: Area) => void }) {
  const map = useLeaflet();
  const latest = useRef(onDrawn);
  latest.current = onDrawn;
  // The handle that goes on having the focus when the area is drawn again.
  const focused = useRef<number | null>(null);
  useEffect(() => {
    if (!area || drawing) return;
    let layer = shapeOf(area).addTo(map);
    const removeHandles = addHandles(map, area, focused.current, {
      onMoving: (moving) => {
        layer.remove();
        layer = shapeOf(moving).addTo(map);
      },
      onMoved: (moved, handle) => {
        focused.current = handle;
        latest.current(moved);
      },
    });
    focused.current = null;
    return () => {
      layer.remove();
      removeHandles();
    };
  }, [map, area, drawing]);

  useEffect(() => {
    if (drawing !== "circle") return;
    let circle: Circle | null = null;
    const remove = () => {
      circle?.remove();
      circle = null;
    };
    const stop = listenForDrag(map, {
      onStart: (event) => {
        circle = new Circle(map.mouseEventToLatLng(event), { ...STYLE, radius: 1 }).addTo(map);
      },
      onMove: (event) => void circle?.setRadius(distanceM(circle.getLatLng(), map.mouseEventToLatLng(event))),
      onEnd: (event) => {
        if (!circle) return;
        const middle = circle.getLatLng();
        const radius = distanceM(middle, map.mouseEventToLatLng(event));
        remove();
        if (radius >= 1) latest.current({ kind: "circle", ...placeOf(middle), radius });
      },
      onCancel: remove,
    });
    return () => {
      stop();
      remove();
    };
  }, [map, drawing]);

  useEffect(() => {
    if (drawing !== "polygon") return;
    const container = map.getContainer();
    const corners: LatLng[] = [];
    const line = new Polyline([], STYLE).addTo(map);
    let start: CircleMarker | null = null;
    const finish = () => {
      if (corners.length >= CORNERS_MIN) latest.current(polygonOf(corners.map(placeOf)));
    };
    const onClick = ({ latlng }: LeafletMouseEvent) => {
      const [first] = corners;
      const point = map.latLngToContainerPoint(latlng);
      // On the first corner: the ring is closed.
      if (first && map.latLngToContainerPoint(first).distanceTo(point) <= CLOSE_PX) return finish();
      corners.push(latlng);
      start ??= new CircleMarker(latlng, { ...STYLE, radius: 6 }).addTo(map);
      line.setLatLngs(corners);
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Enter" && event.target === container) finish();
    };
    map.doubleClickZoom.disable();
    container.classList.add("map-drawing");
    map.on("click", onClick).on("dblclick", finish);
    container.addEventListener("keydown", onKey);
    return () => {
      map.doubleClickZoom.enable();
      container.classList.remove("map-drawing");
      map.off("click", onClick).off("dblclick", finish);
      container.removeEventListener("keydown", onKey);
      line.remove();
      start?.remove();
    };
  }, [map, drawing]);
  return null;
}
