// Draws around what is to be selected: press, drag, let go.
import { useEffect, useRef } from "react";
import { Polygon, type LatLng } from "leaflet";
import { listenForDrag } from "./drag";
import type { Place } from "./geometry";
import { useLeaflet } from "./map-view";

const STEP_PX = 4;

export function Lasso({ onDrawn, onCancel }: { onDrawn: (outline: readonly Place[]) => void; onCancel: () => void }) {
  const map = useLeaflet();
  const latest = useRef({ onDrawn, onCancel });
  latest.current = { onDrawn, onCancel };
  useEffect(() => {
    const outline = new Polygon([], { className: "map-lasso", interactive: false });
    let line: LatLng[] = [];
    let last = { x: 0, y: 0 };
    const add = (event: PointerEvent) => {
      last = { x: event.clientX, y: event.clientY };
      line.push(map.mouseEventToLatLng(event));
      outline.setLatLngs(line);
    };
    const stop = listenForDrag(map, {
      onStart: (event) => {
        line = [];
        outline.addTo(map);
        add(event);
      },
      onMove: (event) => {
        if (Math.hypot(event.clientX - last.x, event.clientY - last.y) >= STEP_PX) add(event);
      },
      onEnd: () => latest.current.onDrawn(line.map(({ lat, lng }) => ({ lat, lng }))),
      onCancel: () => void outline.remove(),
    });
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") latest.current.onCancel();
    };
    window.addEventListener("keydown", onKey);
    return () => {
      stop();
      window.removeEventListener("keydown", onKey);
      outline.remove();
    };
  }, [map]);
  return null;
}
