// Draws around what is to be selected: press, drag, let go.
import { useEffect, useRef } from "react";
import { Polygon, type LatLng } from "leaflet";
import type { Place } from "./geometry";
import { useLeaflet } from "./map-view";

const STEP_PX = 4;

export function Lasso({ onDrawn, onCancel }: { onDrawn: (outline: readonly Place[]) => void; onCancel: () => void }) {
  const map = useLeaflet();
  const latest = useRef({ onDrawn, onCancel });
  latest.current = { onDrawn, onCancel };
  useEffect(() => {
    const container = map.getContainer();
    const outline = new Polygon([], { className: "map-lasso", interactive: false });
    let line: LatLng[] | null = null;
    let last = { x: 0, y: 0 };
    const add = (event: PointerEvent) => {
      last = { x: event.clientX, y: event.clientY };
      line?.push(map.mouseEventToLatLng(event));
      outline.setLatLngs(line ?? []);
    };
    const onDown = (event: PointerEvent) => {
      if (event.button !== 0) return;
      event.preventDefault();
      container.setPointerCapture(event.pointerId);
      line = [];
      outline.addTo(map);
      add(event);
    };
    const onMove = (event: PointerEvent) => {
      if (line && Math.hypot(event.clientX - last.x, event.clientY - last.y) >= STEP_PX) add(event);
    };
    const onUp = () => {
      if (!line) return;
      const drawn = line;
      line = null;
      latest.current.onDrawn(drawn.map(({ lat, lng }) => ({ lat, lng })));
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") latest.current.onCancel();
    };
    map.dragging.disable();
    container.classList.add("map-drawing");
    container.addEventListener("pointerdown", onDown);
    container.addEventListener("pointermove", onMove);
    container.addEventListener("pointerup", onUp);
    window.addEventListener("keydown", onKey);
    return () => {
      map.dragging.enable();
      container.classList.remove("map-drawing");
      container.removeEventListener("pointerdown", onDown);
      container.removeEventListener("pointermove", onMove);
      container.removeEventListener("pointerup", onUp);
      window.removeEventListener("keydown", onKey);
      outline.remove();
    };
  }, [map]);
  return null;
}
