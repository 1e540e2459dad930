// What of a street map is drawn, and how: of files with the layers of Protomaps and of OpenMapTiles.
import { LINE, POINT, POLYGON, trace, type Feature, type VectorTile } from "./vector-tile";
import type { Label } from "./labels";

type Road = "highway" | "major" | "minor" | "path" | "rail";

// Widths in pixels at the zooms in between which they grow.
const WIDTHS: Record<Road, readonly (readonly [zoom: number, px: number])[]> = {
  highway: [[5, 0.8], [10, 2], [14, 6], [18, 16]],
  major: [[8, 0.6], [11, 1.4], [14, 4], [18, 13]],
  minor: [[12, 0.6], [14, 2], [18, 10]],
  path: [[14, 0.7], [18, 2]],
  rail: [[11, 0.6], [18, 2]],
};
const COLOURS: Record<Road, string> = { highway: "--map-highway", major: "--map-road", minor: "--map-road", path: "--map-path", rail: "--map-path" };
const ROADS_BOTTOM_UP: readonly Road[] = ["rail", "path", "minor", "major", "highway"];

const ROAD_OF: Readonly<Record<string, Road>> = {
  highway: "highway", motorway: "highway", trunk: "highway",
  major_road: "major", medium_road: "major", primary: "major", secondary: "major", tertiary: "major",
  minor_road: "minor", minor: "minor", service: "minor", other: "path",
  path: "path", track: "path", rail: "rail", transit: "rail",
};
const GREEN = new Set(["park", "forest", "wood", "grass", "grassland", "meadow", "nature_reserve", "national_park", "cemetery", "golf_course", "garden", "scrub", "village_green", "recreation_ground", "orchard", "allotments"]);
const COUNTRY_LEVEL = 2;

// Files of an earlier Protomaps write `pmap:kind`.
function kindOf({ tags }: Feature): string {
  return String(tags.kind ?? tags["pmap:kind"] ?? tags.class ?? "");
}

function nameOf({ tags }: Feature): string {
  return String(tags.name ?? tags["name:latin"] ?? tags["name:en"] ?? "");
}

function widthAt(road: Road, zoom: number): number {
  const stops = WIDTHS[road];
  const [first, last] = [stops[0] as readonly [number, number], stops[stops.length - 1] as readonly [number, number]];
  if (zoom < first[0]) return 0;
  for (const [at, [to, px]] of stops.entries()) {
    const [from, fromPx] = stops[at - 1] ?? first;
    if (zoom <= to) return to === from ? px : fromPx * (px / fromPx) ** ((zoom - from) / (to - from));
  }
  return last[1];
}

function* featuresOf(tile: VectorTile, ...names: string[]): Generator<readonly [Feature, number]> {
  for (const name of names) {
    const layer = tile.get(name);
    if (layer) for (const feature of layer.features) yield [feature, layer.extent];
  }
}

// The part of a tile that is drawn, when the map is closer than its file: how far it is moved, and by
// what it is enlarged.
export interface Part {
  readonly scale: number;
  readonly dx: number;
  readonly dy: number;
}

export function paintStreets(context: CanvasRenderingContext2D, tile: VectorTile, { scale, dx, dy }: Part, zoom: number, ratio: number, colour: (name: string) => string): void {
  const pathOf = (features: Iterable<readonly [Feature, number]>, kind: number, isDrawn: (feature: Feature) => boolean) => {
    const path = new Path2D();
    for (const [feature, extent] of features) {
      if (feature.kind !== kind || !isDrawn(feature)) continue;
      const unit = scale / extent;
      trace(feature, {
        moveTo: (x, y) => path.moveTo(x * unit + dx, y * unit + dy),
        lineTo: (x, y) => path.lineTo(x * unit + dx, y * unit + dy),
        closePath: () => path.closePath(),
      });
    }
    return path;
  };
  const fill = (name: string, path: Path2D) => {
    context.fillStyle = colour(name);
    context.fill(path);
  };
  const stroke = (name: string, px: number, path: Path2D) => {
    if (px <= 0) return;
    context.strokeStyle = colour(name);
    context.lineWidth = px * ratio;
    context.stroke(path);
  };
  context.lineJoin = "round";
  context.lineCap = "round";
  fill("--map-land", new Path2D(`M0 0H${context.canvas.width}V${context.canvas.height}H0z`));
  fill("--map-green", pathOf(featuresOf(tile, "landcover", "landuse", "natural", "park"), POLYGON, (each) => GREEN.has(kindOf(each))));
  fill("--map-sea", pathOf(featuresOf(tile, "water"), POLYGON, () => true));
  stroke("--map-sea", zoom < 12 ? 1 : 2, pathOf(featuresOf(tile, "water", "waterway"), LINE, () => true));
  if (zoom >= 14) fill("--map-building", pathOf(featuresOf(tile, "buildings", "building"), POLYGON, () => true));
  const roads = [...featuresOf(tile, "roads", "transportation")];
  for (const road of ROADS_BOTTOM_UP) {
    const width = widthAt(road, zoom);
    if (width === 0) continue;
    const path = pathOf(roads, LINE, (each) => ROAD_OF[kindOf(each)] === road);
    if (road === "highway" || road === "major") stroke("--map-road-edge", width + 1.5, path);
    stroke(COLOURS[road], width, path);
  }
  const isCountry = (each: Feature) => kindOf(each) === "country" || Number(each.tags.admin_level ?? each.tags["pmap:min_admin_level"] ?? 9) <= COUNTRY_LEVEL;
  stroke("--map-border", 1, pathOf(featuresOf(tile, "boundaries", "boundary"), LINE, isCountry));
}

const CITY_KINDS = new Set(["city", "country", "capital"]);
const PLACE_KINDS = new Set(["locality", "city", "town", "village", "hamlet", "suburb", "neighbourhood", "quarter", "macrohood"]);
const MINOR_PLACES_ZOOM = 13;
const MINOR_PLACES = new Set(["hamlet", "suburb", "neighbourhood", "quarter", "macrohood"]);

interface Segment {
  readonly x: number;
  readonly y: number;
  readonly angle: number;
  readonly length: number;
}

// The longest straight part of a line, where its name has most room.
function longestSegment(feature: Feature): Segment | null {
  let found: Segment | null = null;
  let last = { x: 0, y: 0 };
  trace(feature, {
    moveTo: (x, y) => (last = { x, y }),
    lineTo: (x, y) => {
      const length = Math.hypot(x - last.x, y - last.y);
      const angle = Math.atan2(y - last.y, x - last.x);
      // Never upside down.
      if (!found || length > found.length) found = { x: (x + last.x) / 2, y: (y + last.y) / 2, length, angle: Math.abs(angle) > Math.PI / 2 ? angle + Math.PI : angle };
      last = { x, y };
    },
    closePath: () => {},
  });
  return found;
}

function pointOf(feature: Feature): { x: number; y: number } | null {
  let found: { x: number; y: number } | null = null;
  trace(feature, { moveTo: (x, y) => (found ??= { x, y }), lineTo: () => {}, closePath: () => {} });
  return found;
}

function placeLabel(feature: Feature, zoom: number): Pick<Label, "kind" | "rank"> | null {
  const kind = kindOf(feature);
  const from = Number(feature.tags.min_zoom ?? feature.tags["pmap:min_zoom"] ?? 0);
  if (zoom < from || (MINOR_PLACES.has(kind) && zoom < MINOR_PLACES_ZOOM)) return null;
  if (!PLACE_KINDS.has(kind) && !CITY_KINDS.has(kind)) return null;
  const size = Number(feature.tags.population_rank ?? feature.tags["pmap:population_rank"] ?? 0);
  const rank = feature.tags.rank === undefined ? 20 - size : Number(feature.tags.rank);
  const isLarge = CITY_KINDS.has(kind) || size >= 11;
  return { kind: isLarge ? "city" : "town", rank: rank + (MINOR_PLACES.has(kind) ? 30 : 0) };
}

// Names in a tile, on the flat world; `x`, `y` and `zoom` are those of the tile.
export function labelsOf(tile: VectorTile, at: { x: number; y: number; z: number }, zoom: number): Label[] {
  const width = 2 ** at.z;
  const labels: Label[] = [];
  const add = (text: string, place: { x: number; y: number }, extent: number, rest: Omit<Label, "text" | "x" | "y">) =>
    labels.push({ text, x: (at.x + place.x / extent) / width, y: (at.y + place.y / extent) / width, ...rest });
  for (const [feature, extent] of featuresOf(tile, "places", "place")) {
    const about = placeLabel(feature, zoom);
    const [place, name] = [pointOf(feature), nameOf(feature)];
    if (about && place && name && feature.kind === POINT) add(name, place, extent, about);
  }
  for (const [feature, extent] of featuresOf(tile, "water", "water_name", "physical_point")) {
    const [place, name] = [feature.kind === POINT ? pointOf(feature) : null, nameOf(feature)];
    if (place && name) add(name, place, extent, { kind: "water", rank: 40 });
  }
  for (const [feature, extent] of featuresOf(tile, "roads", "transportation_name")) {
    const road = ROAD_OF[kindOf(feature)];
    const name = nameOf(feature);
    if (feature.kind !== LINE || !name || !road || road === "rail" || zoom < (road === "highway" || road === "major" ? 13 : 15)) continue;
    const segment = longestSegment(feature);
    if (segment) add(name, segment, extent, { kind: "road", rank: 60 + ROADS_BOTTOM_UP.length - ROADS_BOTTOM_UP.indexOf(road), angle: segment.angle, room: segment.length / extent / width });
  }
  return labels;
}
