// The built-in map: paths of land and borders on a square, one file for each level of detail. See
// scripts/basemap.mjs, which cuts them.

type Entry = readonly [left: number, top: number, right: number, bottom: number, path: string];

interface BasemapFile {
  readonly units: number;
  readonly land: readonly Entry[];
  readonly borders: readonly Entry[];
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

class Shape {
  private path: Path2D | null = null;
  private readonly entry: Entry;

  constructor(entry: Entry) {
    this.entry = entry;
  }

  touches({ left, top, right, bottom }: Box): boolean {
    const [ownLeft, ownTop, ownRight, ownBottom] = this.entry;
    return ownLeft <= right && ownRight >= left && ownTop <= bottom && ownBottom >= top;
  }

  // Parsed when it is first in view.
  get outline(): Path2D {
    this.path ??= new Path2D(this.entry[4]);
    return this.path;
  }
}

export interface Basemap {
  // The width of the world.
  readonly units: number;
  readonly land: readonly Shape[];
  readonly borders: readonly Shape[];
}

export const DETAIL_ZOOM_MAX = 9;
const COARSE_ZOOM_MAX = 3;

const loaded = new Map<string, Promise<Basemap>>();

async function load(detail: string): Promise<Basemap> {
  const response = await fetch(`${import.meta.env.BASE_URL}basemap/${detail}.json`);
  if (!response.ok) throw new Error(`The map could not be loaded: ${response.status}.`);
  const { units, land, borders } = (await response.json()) as BasemapFile;
  return { units, land: land.map((each) => new Shape(each)), borders: borders.map((each) => new Shape(each)) };
}

export function loadBasemap(zoom: number): Promise<Basemap> {
  const detail = zoom <= COARSE_ZOOM_MAX ? "110m" : "50m";
  let found = loaded.get(detail);
  if (!found) {
    found = load(detail);
    loaded.set(detail, found);
    // A later tile asks again.
    found.catch(() => loaded.delete(detail));
  }
  return found;
}
