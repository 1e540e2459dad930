// What the page and the worker that groups points say to each other.
import type { Bounds, Place } from "./geometry";

// In the order of how bad they are. `unknown` is shown as such, not as fine.
export const POINT_STATES = ["unknown", "fine", "silent", "low"] as const;
export type PointState = (typeof POINT_STATES)[number];

export interface Cluster extends Place {
  readonly count: number;
  readonly silent: number;
  readonly worst: PointState;
  // Of one point: its place in the list of points.
  readonly index: number | null;
  // Of several: by which the worker finds them again.
  readonly id: number | null;
}

export interface PointArrays {
  readonly lat: Float64Array<ArrayBuffer>;
  readonly lng: Float64Array<ArrayBuffer>;
  readonly state: Uint8Array<ArrayBuffer>;
}

export type ToWorker =
  | ({ readonly type: "points"; readonly version: number } & PointArrays)
  | { readonly type: "frame"; readonly bounds: Bounds; readonly zoom: number }
  | { readonly type: "open"; readonly id: number; readonly version: number };

export type FromWorker =
  | { readonly type: "clusters"; readonly version: number; readonly clusters: readonly Cluster[] }
  // The zoom at which a cluster falls apart, and what is in it.
  | { readonly type: "opened"; readonly version: number; readonly zoom: number; readonly indices: readonly number[] };
