// An area as notifications have it: a circle, or a polygon of GeoJSON.
import { boundsOf, distanceM, type Bounds, type Place } from "./geometry";

export interface CircleArea extends Place {
  readonly kind: "circle";
  readonly radius: number;
}

export interface PolygonArea {
  readonly kind: "polygon";
  // Polygons of rings; the first ring of each is its outline, the others are holes.
  readonly polygons: readonly (readonly (readonly Place[])[])[];
}

export type Area = CircleArea | PolygonArea;

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function placesOf(ring: unknown): Place[] | null {
  if (!Array.isArray(ring) || ring.length < 4) return null;
  const places = ring.map((each: unknown) => (Array.isArray(each) && isNumber(each[0]) && isNumber(each[1]) ? { lat: each[1], lng: each[0] } : null));
  return places.every((each) => each !== null) ? places : null;
}

function polygonsOf(coordinates: unknown): Place[][][] | null {
  if (!Array.isArray(coordinates)) return null;
  const polygons = coordinates.map((rings: unknown) => (Array.isArray(rings) ? rings.map(placesOf) : [null]));
  const isWhole = polygons.length > 0 && polygons.every((rings) => rings.length > 0 && rings.every((ring) => ring !== null));
  return isWhole ? (polygons as Place[][][]) : null;
}

// What was pasted may be a feature, or a collection with one; the geometry in it is meant.
function geometryIn(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { type, geometry, features } = value as { type?: unknown; geometry?: unknown; features?: unknown };
  if (type === "Feature") return geometry;
  if (type === "FeatureCollection" && Array.isArray(features) && features.length === 1) return geometryIn(features[0]);
  return value;
}

export function areaOf(value: unknown): Area | null {
  const found = geometryIn(value);
  if (typeof found !== "object" || found === null) return null;
  const { lat, lng, radius, type, coordinates } = found as Record<string, unknown>;
  if (isNumber(lat) && isNumber(lng) && isNumber(radius)) return { kind: "circle", lat, lng, radius };
  const polygons = type === "Polygon" ? polygonsOf([coordinates]) : type === "MultiPolygon" ? polygonsOf(coordinates) : null;
  return polygons && { kind: "polygon", polygons };
}

export function parseArea(text: string): Area | null {
  try {
    return areaOf(JSON.parse(text));
  } catch {
    return null;
  }
}

const DIGITS = 6;
const round = (value: number) => Number(value.toFixed(DIGITS));

// As the service takes it.
export function geofenceOf(area: Area): Record<string, unknown> {
  if (area.kind === "circle") return { lat: round(area.lat), lng: round(area.lng), radius: Math.max(1, Math.round(area.radius)) };
  const polygons = area.polygons.map((rings) => rings.map((ring) => ring.map(({ lat, lng }) => [round(lng), round(lat)])));
  return polygons.length === 1 ? { type: "Polygon", coordinates: polygons[0] } : { type: "MultiPolygon", coordinates: polygons };
}

// Of corners in the order in which they were pressed.
export function polygonOf(corners: readonly Place[]): PolygonArea {
  const [first] = corners;
  return { kind: "polygon", polygons: [[first ? [...corners, first] : []]] };
}

// One of the points that an area is changed by: of a circle its middle or its edge, of a polygon a
// corner of a ring.
export type Handle = "middle" | "edge" | readonly [polygon: number, ring: number, corner: number];

export interface HandlePlace {
  readonly handle: Handle;
  readonly place: Place;
}

const HANDLES_MAX = 200;

// Of shapes with more corners than anybody drags, none.
export function handlesOf(area: Area): HandlePlace[] {
  if (area.kind === "circle") {
    const { east } = boundsOfArea(area) as Bounds;
    return [
      { handle: "middle", place: { lat: area.lat, lng: area.lng } },
      { handle: "edge", place: { lat: area.lat, lng: east } },
    ];
  }
  const found = area.polygons.flatMap((rings, polygon) =>
    // The last corner of a ring is its first one again.
    rings.flatMap((ring, at) => ring.slice(0, -1).map((place, corner): HandlePlace => ({ handle: [polygon, at, corner], place }))),
  );
  return found.length > HANDLES_MAX ? [] : found;
}

function withRing(area: PolygonArea, [polygon, ring]: readonly [number, number, number], corners: readonly Place[]): PolygonArea {
  const closed = corners[0] ? [...corners, corners[0]] : [];
  return {
    kind: "polygon",
    polygons: area.polygons.map((rings, at) => (at === polygon ? rings.map((each, index) => (index === ring ? closed : each)) : rings)),
  };
}

function cornersOf(area: PolygonArea, [polygon, ring]: readonly [number, number, number]): Place[] {
  return area.polygons[polygon]?.[ring]?.slice(0, -1) ?? [];
}

export function moveHandle(area: Area, handle: Handle, place: Place): Area {
  if (area.kind === "circle") return handle === "edge" ? { ...area, radius: Math.max(1, distanceM(area, place)) } : { ...area, ...place };
  if (typeof handle === "string") return area;
  return withRing(area, handle, cornersOf(area, handle).map((each, index) => (index === handle[2] ? place : each)));
}

const CORNERS_MIN = 3;

// Null where a polygon would be left with too few corners.
export function removeHandle(area: Area, handle: Handle): Area | null {
  if (area.kind === "circle" || typeof handle === "string") return null;
  const corners = cornersOf(area, handle);
  return corners.length > CORNERS_MIN ? withRing(area, handle, corners.filter((_, index) => index !== handle[2])) : null;
}

const DEGREE_M = 111_195;

export function boundsOfArea(area: Area): Bounds | null {
  if (area.kind === "polygon") return boundsOf(area.polygons.flatMap((rings) => rings[0] ?? []));
  const height = area.radius / DEGREE_M;
  const width = Math.min(179, height / Math.max(0.01, Math.cos((area.lat * Math.PI) / 180)));
  return { west: area.lng - width, south: Math.max(-90, area.lat - height), east: area.lng + width, north: Math.min(90, area.lat + height) };
}
