// Places on the map as numbers: in the address, around the antimeridian, inside of what was drawn.

export interface Place {
  readonly lat: number;
  readonly lng: number;
}

export interface View extends Place {
  readonly zoom: number;
}

export const ZOOM_MAX = 18;

// `at=51.95,4.14,9`
export function parseView(text: string | undefined): View | null {
  const [lat, lng, zoom, ...rest] = (text ?? "").split(",").map((each) => (each.trim() === "" ? NaN : Number(each)));
  if (lat === undefined || lng === undefined || zoom === undefined || rest.length > 0) return null;
  if (!(Math.abs(lat) <= 90 && Math.abs(lng) <= 180 && zoom >= 0 && zoom <= ZOOM_MAX)) return null;
  return { lat, lng, zoom: Math.round(zoom) };
}

// As exact as a pixel of that zoom is.
export function formatView({ lat, lng, zoom }: View): string {
  const digits = Math.max(1, Math.min(6, Math.ceil((zoom + 1) / 3)));
  return [lat.toFixed(digits), wrapLng(lng).toFixed(digits), zoom].join(",");
}

export function wrapLng(lng: number): number {
  return ((((lng + 180) % 360) + 360) % 360) - 180;
}

// The copy of a longitude that is nearest to another one: the world repeats to the left and right.
export function nearestLng(lng: number, to: number): number {
  return lng + Math.round((to - lng) / 360) * 360;
}

// A line that crosses the antimeridian goes on there, instead of around the whole world.
export function unwrap<P extends Place>(places: readonly P[]): P[] {
  let last: number | null = null;
  return places.map((place) => {
    const lng: number = last === null ? place.lng : nearestLng(place.lng, last);
    last = lng;
    return { ...place, lng };
  });
}

// Even-odd, on the flat map. The outline may lie on another copy of the world.
export function isInside({ lat, lng }: Place, outline: readonly Place[]): boolean {
  if (outline.length < 3) return false;
  const middle = outline.reduce((sum, each) => sum + each.lng, 0) / outline.length;
  const x = nearestLng(lng, middle);
  let isIn = false;
  let from = outline[outline.length - 1] as Place;
  for (const to of outline) {
    if (to.lat > lat !== from.lat > lat && x < ((from.lng - to.lng) * (lat - to.lat)) / (from.lat - to.lat) + to.lng) isIn = !isIn;
    from = to;
  }
  return isIn;
}

export interface Bounds {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

export function isInBounds({ lat, lng }: Place, { west, south, east, north }: Bounds): boolean {
  if (lat < south || lat > north) return false;
  const x = nearestLng(lng, (west + east) / 2);
  return x >= west && x <= east;
}

const WIDE = 200;

// All places, the short way around the world: the largest gap between them stays outside.
export function boundsOf(places: readonly Place[]): Bounds | null {
  if (places.length === 0) return null;
  const lngs = places.map((each) => wrapLng(each.lng)).sort((one, other) => one - other);
  let [gap, west, east] = [(lngs[0] as number) + 360 - (lngs[lngs.length - 1] as number), lngs[0] as number, lngs[lngs.length - 1] as number];
  for (let index = 1; index < lngs.length; index += 1) {
    const [before, after] = [lngs[index - 1] as number, lngs[index] as number];
    if (after - before > gap) [gap, west, east] = [after - before, after, before + 360];
  }
  let [south, north] = [90, -90];
  for (const { lat } of places) {
    south = Math.min(south, lat);
    north = Math.max(north, lat);
  }
  // All around the world: as people know it.
  return east - west > WIDE ? { west: -180, south, east: 180, north } : { west, south, east, north };
}

const EARTH_M = 6_371_008.8;
const RADIAN = Math.PI / 180;

export function distanceM(one: Place, other: Place): number {
  const [dLat, dLng] = [(other.lat - one.lat) * RADIAN, (other.lng - one.lng) * RADIAN];
  const half = Math.sin(dLat / 2) ** 2 + Math.cos(one.lat * RADIAN) * Math.cos(other.lat * RADIAN) * Math.sin(dLng / 2) ** 2;
  return 2 * EARTH_M * Math.asin(Math.min(1, Math.sqrt(half)));
}
