// Points, grouped where they are near each other. The colour is that of the worst state among
// them; the ring is the share of those that are silent.
import { useEffect, useRef } from "react";
import { DivIcon, Marker, type Map as LeafletMap } from "leaflet";
import { POINT_STATES, type Cluster, type FromWorker, type PointState, type ToWorker } from "./clusters";
import { ZOOM_MAX, nearestLng, type Place } from "./geometry";
import { boundsInView, useLeaflet } from "./map-view";
import { t } from "~/messages/map";

export interface MapPoint extends Place {
  readonly id: string;
  readonly name: string;
  readonly state: PointState;
  // Below the point, where there is room: its name, or a value. None without.
  readonly label?: string | undefined;
}

const SVG = "http://www.w3.org/2000/svg";
// Points just outside are there before the map is dragged to them.
const MARGIN = 0.2;

function shape<K extends keyof SVGElementTagNameMap>(name: K, attributes: Record<string, string | number>, text?: string): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

// Never colour alone: each state has a shape of its own.
function pointShape(state: PointState): SVGElement {
  if (state === "silent") return shape("path", { d: "M12 4l8 8-8 8-8-8z" });
  if (state === "low") return shape("path", { d: "M12 4l8.5 15h-17z" });
  return shape("circle", { cx: 12, cy: 12, r: state === "unknown" ? 5 : 6 });
}

export function abbreviate(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 10_000) return `${Math.floor(count / 100) / 10}k`;
  return `${Math.floor(count / 1_000)}k`;
}

function sizeOf({ count }: Cluster): number {
  return count === 1 ? 24 : Math.round(26 + 6 * Math.log10(count) * 1.4);
}

function draw(cluster: Cluster, name: string): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "map-point";
  button.dataset.state = cluster.worst;
  const size = sizeOf(cluster);
  const svg = shape("svg", { viewBox: `0 0 ${size} ${size}`, width: size, height: size, "aria-hidden": "true" });
  if (cluster.count === 1) svg.append(pointShape(cluster.worst));
  else {
    const [middle, radius] = [size / 2, size / 2 - 3];
    const around = 2 * Math.PI * radius;
    svg.append(shape("circle", { cx: middle, cy: middle, r: radius, class: "map-cluster" }));
    if (cluster.silent > 0) {
      const share = (cluster.silent / cluster.count) * around;
      const turn = `rotate(-90 ${middle} ${middle})`;
      svg.append(shape("circle", { cx: middle, cy: middle, r: radius, class: "map-ring", transform: turn, "stroke-dasharray": `${share} ${around}` }));
    }
    svg.append(shape("text", { x: middle, y: middle, dy: "0.35em", "text-anchor": "middle" }, abbreviate(cluster.count)));
  }
  button.append(svg);
  if (cluster.count === 1) {
    const label = document.createElement("span");
    label.className = "map-point-label";
    label.setAttribute("aria-hidden", "true");
    label.hidden = true;
    button.append(label);
  }
  button.setAttribute("aria-label", name);
  button.title = name;
  return button;
}

const STATE_WORDS: Record<PointState, string> = { unknown: "", fine: "", silent: ", silent", low: t("batteryLow") };

function nameOf(cluster: Cluster, points: readonly MapPoint[]): string {
  if (cluster.index !== null) return `${points[cluster.index]?.name ?? t("Device")}${STATE_WORDS[cluster.worst]}`;
  const silent = cluster.silent > 0 ? t("silentSilent", { silent: cluster.silent }) : "";
  return t("countDevicesSilentValue", { count: cluster.count, silent, value: cluster.worst === "low" ? t("batteryLow") : "" });
}

const LABEL_FONT_PX = 12;
const LABEL_CHARACTERS_MAX = 24;
const LABEL_HEIGHT_PX = 18;
const measure = document.createElement("canvas").getContext("2d");

function widthOf(text: string): number {
  if (!measure) return text.length * LABEL_FONT_PX * 0.6;
  measure.font = t("n600LABELFONTPXPxSans", { LABEL_FONT_PX });
  return measure.measureText(text).width + 8;
}

function shorten(text: string): string {
  return text.length > LABEL_CHARACTERS_MAX ? `${text.slice(0, LABEL_CHARACTERS_MAX - 1)}…` : text;
}

interface Rectangle {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

function isFree(box: Rectangle, taken: readonly Rectangle[]): boolean {
  return !taken.some((each) => each.left < box.right && each.right > box.left && each.top < box.bottom && each.bottom > box.top);
}

// Buttons stay while they show the same, so that the focus is not lost with every move.
class Markers {
  private shown = new Map<string, Marker>();
  private readonly map: LeafletMap;
  private readonly onPress: (cluster: Cluster) => void;
  private clusters = new Map<string, Cluster>();

  constructor(map: LeafletMap, onPress: (cluster: Cluster) => void) {
    this.map = map;
    this.onPress = onPress;
  }

  show(clusters: readonly Cluster[], points: readonly MapPoint[], selected: ReadonlySet<string>): void {
    const centre = this.map.getCenter().lng;
    const next = new Map<string, Marker>();
    this.clusters = new Map();
    for (const cluster of clusters) {
      const lng = nearestLng(cluster.lng, centre);
      const point = cluster.index === null ? null : points[cluster.index];
      const name = nameOf(cluster, points);
      const isSelected = point ? selected.has(point.id) : false;
      const key = `${cluster.lat} ${lng} ${cluster.worst} ${name} ${isSelected}`;
      this.clusters.set(key, cluster);
      next.set(key, this.shown.get(key) ?? this.add(key, cluster, lng, name, isSelected));
    }
    for (const [key, marker] of this.shown) if (next.get(key) !== marker) marker.remove();
    this.shown = next;
    this.label(points);
  }

  // Below points that are alone, as long as no other point and no other label is there.
  private label(points: readonly MapPoint[]): void {
    const taken: Rectangle[] = [];
    const at = new Map<string, { x: number; y: number }>();
    for (const [key, cluster] of this.clusters) {
      const marker = this.shown.get(key);
      if (!marker) continue;
      const { x, y } = this.map.latLngToLayerPoint(marker.getLatLng());
      const half = sizeOf(cluster) / 2 - (cluster.count === 1 ? 4 : 0);
      at.set(key, { x, y });
      taken.push({ left: x - half, top: y - half, right: x + half, bottom: y + half });
    }
    for (const [key, cluster] of this.clusters) {
      const element = this.shown.get(key)?.getElement()?.querySelector<HTMLElement>(".map-point-label");
      const place = at.get(key);
      if (!element || !place || cluster.index === null) continue;
      const text = shorten(points[cluster.index]?.label ?? "");
      const half = widthOf(text) / 2;
      const box = { left: place.x - half, top: place.y + 9, right: place.x + half, bottom: place.y + 9 + LABEL_HEIGHT_PX };
      const isShown = text !== "" && isFree(box, taken);
      if (isShown) taken.push(box);
      element.textContent = text;
      element.hidden = !isShown;
    }
  }

  private add(key: string, cluster: Cluster, lng: number, name: string, isSelected: boolean): Marker {
    const html = draw(cluster, name);
    if (isSelected) html.dataset.selected = "true";
    const size = sizeOf(cluster);
    const icon = new DivIcon({ html, className: "map-marker", iconSize: [size, size] });
    const marker = new Marker([cluster.lat, lng], { icon, keyboard: false }).addTo(this.map);
    // A button's own: a press of Enter is a click, too.
    html.addEventListener("click", (event) => {
      event.stopPropagation();
      const pressed = this.clusters.get(key);
      if (pressed) this.onPress(pressed);
    });
    return marker;
  }

  clear(): void {
    for (const marker of this.shown.values()) marker.remove();
    this.shown.clear();
  }
}

function arraysOf(points: readonly MapPoint[]) {
  return {
    lat: Float64Array.from(points, (each) => each.lat),
    lng: Float64Array.from(points, (each) => each.lng),
    state: Uint8Array.from(points, (each) => POINT_STATES.indexOf(each.state)),
  };
}

const NONE: ReadonlySet<string> = new Set();

export function PointLayer({
  points,
  selected = NONE,
  onOpen,
  onStack,
}: {
  points: readonly MapPoint[];
  selected?: ReadonlySet<string>;
  // A single point was pressed.
  onOpen: (id: string) => void;
  // Points that no zoom takes apart.
  onStack: (ids: readonly string[]) => void;
}) {
  const map = useLeaflet();
  const state = useRef<{ post: (message: ToWorker) => void; repaint: () => void } | null>(null);
  const latest = useRef({ points, selected, onOpen, onStack });
  latest.current = { points, selected, onOpen, onStack };
  const indexed = useRef<readonly MapPoint[]>([]);
  const version = useRef(0);
  useEffect(() => {
    const worker = new Worker(new URL("./cluster.worker.ts", import.meta.url), { type: "module", name: "longwire map" });
    const post = (message: ToWorker) => worker.postMessage(message);
    let clusters: readonly Cluster[] = [];
    let place: Place | null = null;
    const markers = new Markers(map, (cluster) => {
      const point = cluster.index === null ? null : indexed.current[cluster.index];
      if (point) latest.current.onOpen(point.id);
      else if (cluster.id !== null) {
        place = cluster;
        post({ type: "open", id: cluster.id, version: version.current });
      }
    });
    const repaint = () => markers.show(clusters, indexed.current, latest.current.selected);
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (data.version !== version.current) return;
      if (data.type === "clusters") {
        clusters = data.clusters;
        repaint();
      } else if (data.zoom > ZOOM_MAX) {
        latest.current.onStack(data.indices.flatMap((index) => indexed.current[index]?.id ?? []));
      } else if (place) map.setView([place.lat, nearestLng(place.lng, map.getCenter().lng)], data.zoom);
    };
    const onMoved = () => {
      const { west, south, east, north } = boundsInView(map);
      const [width, height] = [(east - west) * MARGIN, (north - south) * MARGIN];
      const isAll = east - west + 2 * width >= 360;
      const across = isAll ? { west: -180, east: 180 } : { west: west - width, east: east + width };
      post({ type: "frame", zoom: map.getZoom(), bounds: { ...across, south: Math.max(-90, south - height), north: Math.min(90, north + height) } });
    };
    map.on("moveend", onMoved);
    onMoved();
    state.current = { post, repaint };
    return () => {
      state.current = null;
      map.off("moveend", onMoved);
      markers.clear();
      worker.terminate();
    };
  }, [map]);
  useEffect(() => {
    version.current += 1;
    indexed.current = points;
    state.current?.post({ type: "points", version: version.current, ...arraysOf(points) });
  }, [map, points]);
  useEffect(() => state.current?.repaint(), [selected]);
  return null;
}
