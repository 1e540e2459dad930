// Points of an area that can be taken: dragged, or moved with the arrow keys (with Shift further);
// Delete takes a corner away.
import { DivIcon, Marker, type Map as LeafletMap } from "leaflet";
import { handlesOf, moveHandle, removeHandle, type Area, type Handle } from "./area";
import { wrapLng, type Place } from "./geometry";
import { t } from "~/messages/map";

const STEP_PX = 4;
const FAR_PX = 32;
const STEPS: Readonly<Record<string, readonly [number, number]>> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function labelOf(handle: Handle, index: number): string {
  if (typeof handle !== "string") return t("CornerValueArrowKeysMoveIt", { value: index + 1 });
  return handle === "middle" ? t("MiddleOfCircleArrowKeysMove") : t("EdgeOfCircleArrowKeysMove");
}

function button(label: string): HTMLButtonElement {
  const element = document.createElement("button");
  element.type = "button";
  element.className = "map-handle";
  element.setAttribute("aria-label", label);
  element.title = label;
  return element;
}

function placeAt({ lat, lng }: Place): Place {
  return { lat, lng: wrapLng(lng) };
}

interface Watch {
  // While it is dragged, and when it was let go or moved by a key.
  readonly onMoving: (area: Area) => void;
  readonly onMoved: (area: Area, focused: number) => void;
}

export function addHandles(map: LeafletMap, area: Area, focused: number | null, watch: Watch): () => void {
  const markers = handlesOf(area).map(({ handle, place }, index) => {
    const element = button(labelOf(handle, index));
    const marker = new Marker([place.lat, place.lng], {
      icon: new DivIcon({ html: element, className: "map-handle-place", iconSize: [24, 24] }),
      draggable: true,
      keyboard: false,
    }).addTo(map);
    marker.on("drag", () => watch.onMoving(moveHandle(area, handle, placeAt(marker.getLatLng()))));
    marker.on("dragend", () => watch.onMoved(moveHandle(area, handle, placeAt(marker.getLatLng())), index));
    element.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      const removed = event.key === "Delete" || event.key === "Backspace" ? removeHandle(area, handle) : null;
      if (!step && !removed) return;
      event.preventDefault();
      event.stopPropagation();
      if (removed) return watch.onMoved(removed, Math.max(0, index - 1));
      const [x, y] = step as readonly [number, number];
      const by = event.shiftKey ? FAR_PX : STEP_PX;
      const moved = map.containerPointToLatLng(map.latLngToContainerPoint(marker.getLatLng()).add([x * by, y * by]));
      watch.onMoved(moveHandle(area, handle, placeAt(moved)), index);
    });
    if (index === focused) element.focus({ preventScroll: true });
    return marker;
  });
  return () => {
    for (const each of markers) each.remove();
  };
}
