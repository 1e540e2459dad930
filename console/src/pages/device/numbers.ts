// The numbers that a device sends, by where they are: a kind of record and a JSON pointer in it.

export interface NumberSeries {
  // As in the address: `data/data/celsius`.
  readonly id: string;
  readonly kind: string;
  readonly path: string;
  readonly label: string;
}

export interface DataOf {
  readonly data: string;
  readonly decodedNames?: readonly string[] | null | undefined;
}

const LABELS: Readonly<Record<string, string>> = { "telemetry/score": "signal score", "telemetry/nbBS": "stations" };
const DEPTH_MAX = 6;
const FOUND_MAX = 40;

function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function unescapePointer(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

export function seriesOf(id: string): NumberSeries | null {
  const found = /^([a-z]+)(\/.*)$/.exec(id);
  if (!found) return null;
  const [, kind = "", path = ""] = found;
  const parts = path.split("/").slice(1).map(unescapePointer);
  const named = kind === "data" && parts[0] === "data" && parts.length > 1 ? parts.slice(1) : parts;
  return { id, kind, path, label: LABELS[id] ?? named.join(".") };
}

function collect(value: unknown, path: string, depth: number, found: Set<string>): void {
  if (found.size >= FOUND_MAX || depth > DEPTH_MAX) return;
  if (typeof value === "number" || typeof value === "boolean") found.add(path);
  else if (value !== null && typeof value === "object")
    for (const [name, each] of Object.entries(value)) collect(each, `${path}/${escapePointer(name)}`, depth + 1, found);
}

// What can be drawn of these records: every number and every yes or no in `data`, in the order in
// which they first appear, what a decoder has added first and what the network says of the
// transmission last; of telemetry its score and the number of stations.
export function findNumbers(data: readonly DataOf[], telemetry: readonly Record<string, unknown>[]): NumberSeries[] {
  const all = new Set<string>();
  const decoded = new Set<string>();
  for (const record of data) {
    for (const name of record.decodedNames ?? []) decoded.add(escapePointer(name));
    try {
      collect(JSON.parse(record.data), "data/data", 0, all);
    } catch {
      // Data may be any text.
    }
  }
  const nameOf = (id: string) => id.split("/")[2] ?? "";
  const rank = (id: string) => (decoded.has(nameOf(id)) ? 0 : nameOf(id) === "radio" ? 2 : 1);
  const found = new Set([...all].toSorted((a, b) => rank(a) - rank(b)));
  for (const name of ["score", "nbBS"]) if (telemetry.some((each) => typeof each[name] === "number")) found.add(`telemetry/${name}`);
  return [...found].flatMap((id) => seriesOf(id) ?? []);
}

// The value at a JSON pointer; undefined where there is none.
export function valueAt(object: unknown, pointer: string): unknown {
  let value = object;
  for (const part of pointer.split("/").slice(1)) {
    if (value === null || typeof value !== "object") return undefined;
    value = (value as Record<string, unknown>)[unescapePointer(part)];
  }
  return value;
}
