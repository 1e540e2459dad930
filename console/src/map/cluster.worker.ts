// Groups points that are near each other, apart from the page: an index of 100,000 takes a while.
import Supercluster, { type PointFeature } from "supercluster";
import { POINT_STATES, type Cluster, type FromWorker, type PointArrays, type ToWorker } from "./clusters";
import { ZOOM_MAX, type Bounds } from "./geometry";

declare const self: DedicatedWorkerGlobalScope;

const RADIUS_PX = 56;
const SILENT = POINT_STATES.indexOf("silent");

interface PointProperties {
  index: number;
  state: number;
}

interface ClusterProperties {
  worst: number;
  silent: number;
}

type Index = Supercluster<PointProperties, ClusterProperties>;

let index: Index | null = null;
let version = 0;
let frame: { bounds: Bounds; zoom: number } | null = null;

function build({ lat, lng, state }: PointArrays): Index {
  const features: PointFeature<PointProperties>[] = Array.from(lat, (each, at) => ({
    type: "Feature",
    geometry: { type: "Point", coordinates: [lng[at] as number, each] },
    properties: { index: at, state: state[at] as number },
  }));
  // One zoom more than the map has: points at the same place never lie on top of each other.
  const found: Index = new Supercluster<PointProperties, ClusterProperties>({
    radius: RADIUS_PX,
    extent: 256,
    maxZoom: ZOOM_MAX + 1,
    map: (point) => ({ worst: point.state, silent: point.state === SILENT ? 1 : 0 }),
    reduce: (sum, each) => {
      sum.worst = Math.max(sum.worst, each.worst);
      sum.silent += each.silent;
    },
  });
  return found.load(features);
}

function clusterOf(feature: ReturnType<Index["getClusters"]>[number]): Cluster {
  const [lng, lat] = feature.geometry.coordinates as [number, number];
  const { properties } = feature;
  if (!("cluster" in properties && properties.cluster)) {
    const { index: at, state } = properties as PointProperties;
    return { lat, lng, count: 1, silent: state === SILENT ? 1 : 0, worst: POINT_STATES[state] ?? "unknown", index: at, id: null };
  }
  const { point_count: count, cluster_id: id, worst, silent } = properties;
  return { lat, lng, count, silent, worst: POINT_STATES[worst] ?? "unknown", index: null, id };
}

function post(message: FromWorker): void {
  self.postMessage(message);
}

function show(): void {
  if (!index || !frame) return;
  const { west, south, east, north } = frame.bounds;
  post({ type: "clusters", version, clusters: index.getClusters([west, south, east, north], frame.zoom).map(clusterOf) });
}

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.type === "points") {
    index = build(data);
    version = data.version;
    show();
  } else if (data.type === "frame") {
    frame = data;
    show();
  } else if (index && data.version === version) {
    const leaves = index.getLeaves(data.id, Infinity);
    post({ type: "opened", version, zoom: index.getClusterExpansionZoom(data.id), indices: leaves.map((each) => each.properties.index) });
  }
};
