// The built-in map: paths of land, water and borders on a square, one file for each level of detail,
// and the names of cities. See scripts/basemap.mjs, which cuts them.
import type { Box as LabelBox, Label, LabelSource } from "./labels";

type Entry = readonly [left: number, top: number, right: number, bottom: number, path: string];

interface BasemapFile {
  readonly units: number;
  readonly land: readonly Entry[];
  readonly lakes: readonly Entry[];
  readonly rivers: readonly Entry[];
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
  readonly lakes: readonly Shape[];
  readonly rivers: readonly Shape[];
  readonly borders: readonly Shape[];
}

export const DETAIL_ZOOM_MAX = 9;
const COARSE_ZOOM_MAX = 3;

const loaded = new Map<string, Promise<Basemap>>();

async function fetchFile<Content>(name: string): Promise<Content> {
  const response = await fetch(`${import.meta.env.BASE_URL}basemap/${name}.json`);
  if (!response.ok) throw new Error(`The map could not be loaded: ${response.status}.`);
  return (await response.json()) as Content;
}

async function load(detail: string): Promise<Basemap> {
  const { units, land, lakes, rivers, borders } = await fetchFile<BasemapFile>(detail);
  const shapes = (entries: readonly Entry[]) => entries.map((each) => new Shape(each));
  return { units, land: shapes(land), lakes: shapes(lakes), rivers: shapes(rivers), borders: shapes(borders) };
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

interface PlacesFile {
  readonly units: number;
  // From which zoom on they are named, the largest first: name, x, y, name, x, y, …
  readonly zooms: readonly (readonly [zoom: number, places: readonly (string | number)[]])[];
}

const CITY_ZOOM_MAX = 5;
// Behind those of a street map, which knows better.
const RANK_AFTER_STREETS = 25;

let places: Promise<readonly (Label & { readonly zoom: number })[]> | null = null;

async function loadPlaces() {
  const { units, zooms } = await fetchFile<PlacesFile>("places");
  return zooms.flatMap(([zoom, flat]) => {
    const kind = zoom <= CITY_ZOOM_MAX ? ("city" as const) : ("town" as const);
    return Array.from({ length: flat.length / 3 }, (_, at) => ({
      text: String(flat[3 * at]),
      x: Number(flat[3 * at + 1]) / units,
      y: Number(flat[3 * at + 2]) / units,
      rank: RANK_AFTER_STREETS + zoom,
      kind,
      zoom,
    }));
  });
}

function isBetween(x: number, left: number, right: number): number | null {
  // On the copies of the world to the left and right, too.
  for (const shift of [0, -1, 1]) if (x + shift >= left && x + shift <= right) return x + shift;
  return null;
}

// The names of cities, once they are loaded.
export async function cityNames(): Promise<LabelSource> {
  places ??= loadPlaces();
  places.catch(() => (places = null));
  const all = await places;
  return {
    collect: ({ left, top, right, bottom }: LabelBox, zoom) =>
      all.flatMap((each) => {
        if (each.zoom > zoom || each.y < top || each.y > bottom) return [];
        const x = isBetween(each.x, left, right);
        return x === null ? [] : [{ ...each, x }];
      }),
  };
}
