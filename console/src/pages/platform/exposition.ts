// The text that Prometheus reads, as samples.

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

function unescape(text: string): string {
  return text.replace(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter));
}

export function parseExposition(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    const found = line.startsWith("#") ? null : LINE.exec(line);
    if (!found) continue;
    const labels: Record<string, string> = {};
    for (const [, name, value] of (found[2] ?? "").matchAll(LABEL)) labels[name ?? ""] = unescape(value ?? "");
    samples.push({ name: found[1] ?? "", labels, value: Number(found[3]) });
  }
  return samples;
}

// The sum over all label values; null where the service exports no such metric.
export function total(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}): number | null {
  const found = samples.filter((each) => each.name === name && Object.entries(labels).every(([key, value]) => each.labels[key] === value));
  return found.length === 0 ? null : found.reduce((sum, each) => sum + each.value, 0);
}

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

export function bytes(value: number): string {
  let size = value;
  let unit = 0;
  while (size >= 1_000 && unit < UNITS.length - 1) {
    size /= 1_000;
    unit += 1;
  }
  return `${size >= 100 || unit === 0 ? Math.round(size) : size.toFixed(1)} ${UNITS[unit]}`;
}
