// Areas with their names, which are buttons: a press says what an area is for.
import { useEffect, useRef } from "react";
import { Circle, DivIcon, LayerGroup, Marker, Polygon } from "leaflet";
import { boundsOfArea, type Area } from "./area";
import { useLeaflet } from "./map-view";
import { t } from "~/messages/map";

export interface NamedArea {
  readonly id: string;
  readonly name: string;
  readonly area: Area;
}

const STYLE = { className: "map-geofence", interactive: false };

function shapeOf(area: Area): Circle | Polygon {
  if (area.kind === "circle") return new Circle([area.lat, area.lng], { ...STYLE, radius: area.radius });
  return new Polygon(area.polygons.map((rings) => rings.map((ring) => ring.map(({ lat, lng }): [number, number] => [lat, lng]))), STYLE);
}

export function GeofenceLayer({ areas, hidden, onOpen }: { areas: readonly NamedArea[]; hidden: string | null; onOpen: (id: string) => void }) {
  const map = useLeaflet();
  const latest = useRef(onOpen);
  latest.current = onOpen;
  useEffect(() => {
    const group = new LayerGroup().addTo(map);
    for (const { id, name, area } of areas) {
      const bounds = boundsOfArea(area);
      if (id === hidden || !bounds) continue;
      shapeOf(area).addTo(group);
      const button = document.createElement("button");
      button.type = "button";
      button.className = "map-geofence-name";
      button.textContent = name;
      button.setAttribute("aria-label", t("AreaOfName", { name }));
      button.addEventListener("click", (event) => {
        event.stopPropagation();
        latest.current(id);
      });
      const icon = new DivIcon({ html: button, className: "map-marker", iconSize: [0, 0] });
      new Marker([bounds.north, (bounds.west + bounds.east) / 2], { icon, keyboard: false }).addTo(group);
    }
    return () => void group.remove();
  }, [map, areas, hidden]);
  return null;
}
