// Where something was, in the order of time: thin, with its newest place bold and as exact as it is.
import { useEffect, useMemo } from "react";
import { Circle, CircleMarker, LayerGroup, Polyline } from "leaflet";
import { nearestLng, unwrap, type Place } from "./geometry";
import { useLeaflet } from "./map-view";

export interface Fix extends Place {
  // In metres, if known.
  readonly radius: number | null;
}

const NEWEST_PX = 8;
const OLDER_PX = 3;

// `fixes` are the oldest first.
export function TrackLayer({ fixes }: { fixes: readonly Fix[] }) {
  const map = useLeaflet();
  const line = useMemo(() => unwrap(fixes), [fixes]);
  useEffect(() => {
    const newest = line[line.length - 1];
    if (!newest) return;
    // On the copy of the world that is in view.
    const shift = nearestLng(newest.lng, map.getCenter().lng) - newest.lng;
    const at = ({ lat, lng }: Place): [number, number] => [lat, lng + shift];
    const group = new LayerGroup().addTo(map);
    new Polyline(line.map(at), { className: "map-track", interactive: false }).addTo(group);
    for (const fix of line.slice(0, -1)) new CircleMarker(at(fix), { radius: OLDER_PX, className: "map-fix", interactive: false }).addTo(group);
    if (newest.radius) new Circle(at(newest), { radius: newest.radius, className: "map-radius", interactive: false }).addTo(group);
    new CircleMarker(at(newest), { radius: NEWEST_PX, className: "map-newest", interactive: false }).addTo(group);
    return () => void group.remove();
  }, [map, line]);
  return null;
}
