// One press, drag and release on the map, by mouse, pen or finger: Leaflet's own events are those of
// a mouse. The map stays where it is meanwhile.
import type { Map as LeafletMap } from "leaflet";

export interface Drag {
  onStart: (event: PointerEvent) => void;
  onMove: (event: PointerEvent) => void;
  onEnd: (event: PointerEvent) => void;
  // The browser took the pointer away, for a gesture of its own.
  onCancel: () => void;
}

export function listenForDrag(map: LeafletMap, drag: Drag): () => void {
  const container = map.getContainer();
  const listening = new AbortController();
  const { signal } = listening;
  let pointerId: number | null = null;
  const isOurs = (event: PointerEvent) => event.pointerId === pointerId;
  const onDown = (event: PointerEvent) => {
    if (event.button !== 0 || pointerId !== null) return;
    event.preventDefault();
    container.setPointerCapture(event.pointerId);
    pointerId = event.pointerId;
    drag.onStart(event);
  };
  const onUp = (event: PointerEvent) => {
    if (!isOurs(event)) return;
    pointerId = null;
    drag.onEnd(event);
  };
  const onCancel = (event: PointerEvent) => {
    if (!isOurs(event)) return;
    pointerId = null;
    drag.onCancel();
  };
  map.dragging.disable();
  container.classList.add("map-drawing");
  container.addEventListener("pointerdown", onDown, { signal });
  container.addEventListener("pointermove", (event) => isOurs(event) && drag.onMove(event), { signal });
  container.addEventListener("pointerup", onUp, { signal });
  container.addEventListener("pointercancel", onCancel, { signal });
  return () => {
    listening.abort();
    map.dragging.enable();
    container.classList.remove("map-drawing");
  };
}
