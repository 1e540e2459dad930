// Paints the built-in map, tile by tile, in the colours of the theme.
import { GridLayer, type Coords, type DoneCallback } from "leaflet";
import { DETAIL_ZOOM_MAX, loadBasemap, type Basemap } from "./basemap";

const BORDER_PX = 1;
const RIVERS_ZOOM_MIN = 4;

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function paint(canvas: HTMLCanvasElement, basemap: Basemap, coords: Coords, size: number): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  // One tile shows so many units of the world.
  const span = basemap.units / 2 ** coords.z;
  const box = { left: coords.x * span, top: coords.y * span, right: (coords.x + 1) * span, bottom: (coords.y + 1) * span };
  const scale = canvas.width / span;
  context.fillStyle = colour("--map-sea");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.setTransform(scale, 0, 0, scale, -box.left * scale, -box.top * scale);
  context.fillStyle = colour("--map-land");
  for (const land of basemap.land) if (land.touches(box)) context.fill(land.outline);
  context.fillStyle = colour("--map-sea");
  for (const lake of basemap.lakes) if (lake.touches(box)) context.fill(lake.outline);
  context.lineWidth = ((BORDER_PX * canvas.width) / size) / scale;
  context.lineJoin = "round";
  context.strokeStyle = colour("--map-sea");
  if (coords.z >= RIVERS_ZOOM_MIN && coords.z <= DETAIL_ZOOM_MAX) for (const river of basemap.rivers) if (river.touches(box)) context.stroke(river.outline);
  context.strokeStyle = colour("--map-border");
  for (const border of basemap.borders) if (border.touches(box)) context.stroke(border.outline);
}

export class BasemapLayer extends GridLayer {
  override createTile(coords: Coords, done: DoneCallback): HTMLElement {
    const canvas = document.createElement("canvas");
    const { x: size } = this.getTileSize();
    canvas.width = canvas.height = Math.round(size * Math.min(window.devicePixelRatio, 2));
    loadBasemap(coords.z).then(
      (basemap) => {
        paint(canvas, basemap, coords, size);
        done(undefined, canvas);
      },
      (error: Error) => done(error, canvas),
    );
    return canvas;
  }
}
