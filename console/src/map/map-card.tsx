// What is said about a place on the map, beside it; on a phone at the bottom. Escape closes it, and the
// focus goes back to what was pressed.
import { useEffect, useRef, useState, type ReactNode } from "react";
import { nearestLng, type Place } from "./geometry";
import { useLeaflet } from "./map-view";
import { t } from "~/messages/map";

const GAP_PX = 20;
const EDGE_PX = 12;

export function MapCard({ place, label, title, onClose, children }: { place: Place; label: string; title: ReactNode; onClose: () => void; children: ReactNode }) {
  const map = useLeaflet();
  const card = useRef<HTMLElement>(null);
  const [at, setAt] = useState({ x: 0, y: 0 });
  const { lat, lng } = place;
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    const before = document.activeElement;
    card.current?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement && before.isConnected && card.current === null) before.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => {
    const put = () => {
      const element = card.current;
      if (!element) return;
      const point = map.latLngToContainerPoint([lat, nearestLng(lng, map.getCenter().lng)]);
      const size = map.getSize();
      const [width, height] = [element.offsetWidth, element.offsetHeight];
      const x = Math.max(EDGE_PX, Math.min(point.x - width / 2, size.x - width - EDGE_PX));
      const above = point.y - GAP_PX - height;
      const y = above >= EDGE_PX ? above : Math.min(point.y + 2 * GAP_PX, size.y - height - EDGE_PX);
      setAt((last) => (last.x === x && last.y === y ? last : { x, y }));
    };
    put();
    const watch = new ResizeObserver(put);
    if (card.current) watch.observe(card.current);
    map.on("move zoomend resize", put);
    return () => {
      watch.disconnect();
      map.off("move zoomend resize", put);
    };
  }, [map, lat, lng]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      event.stopPropagation();
      close.current();
    };
    const element = card.current;
    element?.addEventListener("keydown", onKey);
    return () => element?.removeEventListener("keydown", onKey);
  }, []);
  return (
    <section ref={card} className="map-card" aria-label={label} tabIndex={-1} style={{ left: at.x, top: at.y }}>
      <div className="map-card-head">
        {title}
        <button type="button" className="map-card-close" aria-label={t("Close")} onClick={onClose}>
          ×
        </button>
      </div>
      {children}
    </section>
  );
}
