// A record in one line, and its values by name.
import type { Arrival } from "~/live/protocol";

export type NamedValue = readonly [string, string];

const VALUES_MAX = 200;
// A row shows a line of it; what a device sends can have megabytes.
const SUMMARY_CHARS = 500;
const DEPTH_MAX = 4;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string {
  if (typeof value === "number") return String(Math.round(value * 1e6) / 1e6);
  return typeof value === "string" ? value : JSON.stringify(value);
}

// Nested names are joined by dots.
export function flatten(value: unknown, prefix = "", depth = 0): NamedValue[] {
  if (!isObject(value)) return [[prefix || "value", textOf(value)]];
  return Object.entries(value)
    .flatMap(([name, each]): NamedValue[] => {
      const path = prefix ? `${prefix}.${name}` : name;
      return isObject(each) && depth < DEPTH_MAX ? flatten(each, path, depth + 1) : [[path, textOf(each)]];
    })
    .slice(0, VALUES_MAX);
}

// Data of devices is text that is JSON as a rule, and anything otherwise.
export function parseData(text: string | null | undefined): unknown {
  if (!text) return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

// What a device measured comes before what its network says of the transmission. Older records have
// that at the top of their data.
function valuesFirst(values: NamedValue[], decodedNames: unknown): NamedValue[] {
  const names: unknown[] = Array.isArray(decodedNames) ? decodedNames : [];
  const isDecoded = ([name]: NamedValue) => names.some((each) => name === each || name.startsWith(`${String(each)}.`));
  const isRadio = ([name]: NamedValue) => name === "radio" || name.startsWith("radio.");
  const rank = (each: NamedValue) => (isDecoded(each) ? 0 : isRadio(each) ? 2 : 1);
  return values.toSorted((a, b) => rank(a) - rank(b));
}

export function valuesOf({ kind, record }: Arrival): NamedValue[] {
  const values: NamedValue[] = [];
  const fields = record as unknown as Record<string, unknown>;
  const take = (name: string, label = name, unit = "") => {
    const value = fields[name];
    if (value !== null && value !== undefined && value !== "") values.push([label, `${textOf(value)}${unit}`]);
  };
  if (kind === "event") {
    take("type");
    take("severity");
    take("message");
  } else if (kind === "geoloc") {
    take("lat");
    take("lng");
    take("radius", "radius", " m");
  } else if (kind === "telemetry") {
    take("score");
    take("nbBS", "stations");
    take("rc");
  }
  const data = parseData(fields.data as string | null | undefined);
  if (data !== null) values.push(...valuesFirst(flatten(data), fields.decodedNames));
  return values;
}

const known = new WeakMap<Arrival, string>();

export function summaryOf(arrival: Arrival): string {
  let text = known.get(arrival);
  if (text === undefined) {
    // The type of an event and its message speak for themselves.
    const isPlain = (index: number, name: string) => arrival.kind === "event" && index < 3 && (name === "type" || name === "message");
    text = valuesOf(arrival).map(([name, value], index) => (isPlain(index, name) ? value : `${name} ${value}`)).join("  ").slice(0, SUMMARY_CHARS);
    known.set(arrival, text);
  }
  return text;
}
