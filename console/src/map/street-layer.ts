// The operator's street map: a PMTiles file, of which the service sends the parts that are in view.
// Loaded only where there is one.
import { GridLayer, type Coords, type DoneCallback, type Map as LeafletMap } from "leaflet";
import { PMTiles } from "pmtiles";
import { CONSOLE_PATH } from "~/base-path";
import { ZOOM_MAX } from "./geometry";
import type { Box, Label, LabelLayer, LabelSource } from "./labels";
import { labelsOf, paintStreets } from "./street-style";
import { parseTile, type VectorTile } from "./vector-tile";

const KEPT_TILES = 120;

interface Place {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

class TileStore {
  readonly levels: Promise<{ minZoom: number; maxZoom: number }>;
  private readonly archive: PMTiles;
  // In the order of their last use.
  private readonly tiles = new Map<string, Promise<VectorTile | null>>();
  readonly loaded = new Map<string, VectorTile>();

  constructor(file: string) {
    this.archive = new PMTiles(new URL(`${CONSOLE_PATH}/map/${file}`, location.href).href);
    this.levels = this.archive.getHeader();
  }

  get({ z, x, y }: Place): Promise<VectorTile | null> {
    const key = `${z}/${x}/${y}`;
    let found = this.tiles.get(key);
    if (found) this.tiles.delete(key);
    else {
      found = this.load(key, { z, x, y });
      // A later tile asks again.
      found.catch(() => this.tiles.delete(key));
    }
    this.tiles.set(key, found);
    for (const oldest of this.tiles.keys()) {
      if (this.tiles.size <= KEPT_TILES) break;
      this.tiles.delete(oldest);
      this.loaded.delete(oldest);
    }
    return found;
  }

  private async load(key: string, { z, x, y }: Place): Promise<VectorTile | null> {
    const response = await this.archive.getZxy(z, x, y);
    if (!response) return null;
    const tile = parseTile(new Uint8Array(response.data));
    this.loaded.set(key, tile);
    return tile;
  }
}

class StreetLayer extends GridLayer implements LabelSource {
  private readonly store: TileStore;
  private readonly onFailed: () => void;
  private readonly onLoaded: () => void;
  private levels = { minZoom: 0, maxZoom: 15 };

  constructor(store: TileStore, onLoaded: () => void, onFailed: () => void) {
    super({ zIndex: 1, maxZoom: ZOOM_MAX });
    this.store = store;
    this.onLoaded = onLoaded;
    this.onFailed = onFailed;
  }

  override createTile(coords: Coords, done: DoneCallback): HTMLElement {
    const canvas = document.createElement("canvas");
    const { x: size } = this.getTileSize();
    canvas.width = canvas.height = Math.round(size * Math.min(window.devicePixelRatio, 2));
    this.paint(canvas, coords, size).then(
      () => done(undefined, canvas),
      (error: Error) => {
        this.onFailed();
        done(error, canvas);
      },
    );
    return canvas;
  }

  private async paint(canvas: HTMLCanvasElement, coords: Coords, size: number): Promise<void> {
    this.levels = await this.store.levels;
    const place = this.placeOf(coords.z, coords.x, coords.y);
    const tile = place && (await this.store.get(place));
    const context = canvas.getContext("2d");
    // Outside of the file, the built-in map below stays to be seen.
    if (!tile || !context) return;
    const times = 2 ** (coords.z - place.z);
    const part = { scale: canvas.width * times, dx: -(coords.x - place.x * times) * canvas.width, dy: -(coords.y - place.y * times) * canvas.width };
    const style = getComputedStyle(document.documentElement);
    paintStreets(context, tile, part, coords.z, canvas.width / size, (name) => style.getPropertyValue(name).trim());
    this.onLoaded();
  }

  // The tile of the file that has this one in it; none below the file's first zoom.
  private placeOf(z: number, x: number, y: number): Place | null {
    const { minZoom, maxZoom } = this.levels;
    if (z < minZoom) return null;
    const over = Math.max(0, z - maxZoom);
    return { z: z - over, x: x >> over, y: y >> over };
  }

  collect(box: Box, zoom: number): readonly Label[] {
    const z = Math.min(zoom, this.levels.maxZoom);
    const width = 2 ** z;
    const found: Label[] = [];
    for (let x = Math.floor(box.left * width); x <= Math.floor(box.right * width); x += 1)
      for (let y = Math.max(0, Math.floor(box.top * width)); y <= Math.min(width - 1, Math.floor(box.bottom * width)); y += 1) {
        const column = ((x % width) + width) % width;
        const tile = this.store.loaded.get(`${z}/${column}/${y}`);
        // On the copy of the world that is in view.
        if (tile) found.push(...labelsOf(tile, { x, y, z }, zoom));
      }
    return found;
  }
}

export interface Streets {
  redraw: () => void;
  remove: () => void;
}

export function addStreets(map: LeafletMap, labels: LabelLayer, file: string, onFailed: () => void): Streets {
  const layer = new StreetLayer(new TileStore(file), () => labels.redraw(), onFailed).addTo(map);
  const removeSource = labels.addSource(layer);
  return {
    redraw: () => void layer.redraw(),
    remove: () => {
      removeSource();
      layer.remove();
    },
  };
}
