// Numbers by where they are: a kind of record and a JSON pointer in it.

export interface NumberSeries {
  // As in the address: `data/data/celsius`.
  readonly id: string;
  readonly kind: string;
  readonly path: string;
  readonly label: string;
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
  return { id, kind, path, label: named.join(".") };
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
