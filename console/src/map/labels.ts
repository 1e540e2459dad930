// Names on the ground: of places, water and roads, drawn on one canvas so that none is cut at the
// edge of a tile and none lies on another.
import { DomUtil, Layer, type Map as LeafletMap } from "leaflet";
import { t } from "~/messages/map";

export interface Label {
  readonly text: string;
  // On the flat world, which is 1 wide and high.
  readonly x: number;
  readonly y: number;
  // Drawn first, and so kept where two have no room: the lower.
  readonly rank: number;
  readonly kind: "city" | "town" | "water" | "road";
  // Along a road: in which direction, and how much room there is in the unit of x.
  readonly angle?: number;
  readonly room?: number;
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface LabelSource {
  // What is in a part of the flat world, at a zoom.
  readonly collect: (box: Box, zoom: number) => readonly Label[];
}

const TILE_PX = 256;
// Around what is in view, so that a name is there before the map is dragged to it.
const MARGIN = 0.25;
const GAP_PX = 4;
// The same name again, of the next part of a road, is no news.
const SAME_NAME_PX = 220;
const LABELS_MAX = 400;
const STYLES = {
  city: { font: "600 13px", ink: "--map-label" },
  town: { font: "500 12px", ink: "--map-label" },
  water: { font: "italic 500 12px", ink: "--map-water-label" },
  road: { font: "500 11px", ink: "--map-road-label" },
} as const;

function overlaps(one: Box, other: Box): boolean {
  return one.left < other.right && one.right > other.left && one.top < other.bottom && one.bottom > other.top;
}

class Placement {
  private readonly taken: Box[] = [];
  private readonly named = new Map<string, { x: number; y: number }[]>();

  // Whether there is room for a text of that size in the middle of x and y, which it then takes.
  take(text: string, x: number, y: number, width: number, height: number): boolean {
    const box = { left: x - width / 2 - GAP_PX, top: y - height / 2 - GAP_PX, right: x + width / 2 + GAP_PX, bottom: y + height / 2 + GAP_PX };
    const same = this.named.get(text) ?? [];
    if (same.some((each) => Math.hypot(each.x - x, each.y - y) < SAME_NAME_PX)) return false;
    if (this.taken.some((each) => overlaps(each, box))) return false;
    this.taken.push(box);
    this.named.set(text, [...same, { x, y }]);
    return true;
  }
}

export class LabelLayer extends Layer {
  private readonly canvas = document.createElement("canvas");
  private readonly sources = new Set<LabelSource>();
  private frame = 0;
  private leaflet: LeafletMap | null = null;

  override onAdd(map: LeafletMap): this {
    this.leaflet = map;
    const pane = map.getPane("labels") ?? map.createPane("labels");
    this.canvas.className = "map-labels leaflet-zoom-hide";
    this.canvas.setAttribute("aria-hidden", "true");
    pane.append(this.canvas);
    map.on(t("moveendZoomendResizeViewreset"), this.redraw, this);
    this.redraw();
    return this;
  }

  override onRemove(map: LeafletMap): this {
    map.off(t("moveendZoomendResizeViewreset"), this.redraw, this);
    cancelAnimationFrame(this.frame);
    this.canvas.remove();
    this.leaflet = null;
    return this;
  }

  addSource(source: LabelSource): () => void {
    this.sources.add(source);
    this.redraw();
    return () => {
      this.sources.delete(source);
      this.redraw();
    };
  }

  redraw(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    const map = this.leaflet;
    const context = this.canvas.getContext("2d");
    if (!map || !context) return;
    const size = map.getSize();
    const [width, height] = [size.x * (1 + 2 * MARGIN), size.y * (1 + 2 * MARGIN)];
    const ratio = Math.min(window.devicePixelRatio, 2);
    const corner = map.containerPointToLayerPoint([-size.x * MARGIN, -size.y * MARGIN]);
    DomUtil.setPosition(this.canvas, corner);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const zoom = map.getZoom();
    const world = TILE_PX * 2 ** zoom;
    const origin = map.getPixelOrigin().add(corner);
    const box = { left: origin.x / world, top: origin.y / world, right: (origin.x + width) / world, bottom: (origin.y + height) / world };
    const found = [...this.sources].flatMap((source) => source.collect(box, zoom)).sort((one, other) => one.rank - other.rank);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paint(context, found, (label) => ({ x: label.x * world - origin.x, y: label.y * world - origin.y }), world);
  }

  private paint(context: CanvasRenderingContext2D, labels: readonly Label[], placeOf: (label: Label) => { x: number; y: number }, world: number): void {
    const style = getComputedStyle(document.documentElement);
    const value = (name: string) => style.getPropertyValue(name).trim();
    const placement = new Placement();
    const family = value("--font") || "sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 3;
    context.strokeStyle = value("--map-halo");
    let drawn = 0;
    for (const label of labels) {
      if (drawn >= LABELS_MAX) return;
      const { font, ink } = STYLES[label.kind];
      context.font = `${font} ${family}`;
      const length = context.measureText(label.text).width;
      if (label.room !== undefined && length > label.room * world) continue;
      const angle = label.angle ?? 0;
      const [cos, sin] = [Math.abs(Math.cos(angle)), Math.abs(Math.sin(angle))];
      const { x, y } = placeOf(label);
      if (!placement.take(label.text, x, y, length * cos + 14 * sin, length * sin + 14 * cos)) continue;
      context.save();
      context.translate(x, y);
      context.rotate(angle);
      context.strokeText(label.text, 0, 0);
      context.fillStyle = value(ink);
      context.fillText(label.text, 0, 0);
      context.restore();
      drawn += 1;
    }
  }
}
