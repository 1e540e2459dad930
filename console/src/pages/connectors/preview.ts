// What a preview says: how many records pass, what changes against the saved connector, and where
// in an expression a mistake is.
import type { Schemas } from "~/api/client";
import type { Tone } from "~/ui/pill";
import { t } from "~/messages/connectors";

export type PreviewItem = Schemas["PreviewItem"];
export type PreviewRequest = Schemas["PreviewRequest"];

export interface Verdict {
  readonly tone: Tone;
  readonly label: "yes" | "now" | "no" | "no longer";
}

export function verdictOf(item: Pick<PreviewItem, "matches" | "matchedBefore">): Verdict {
  const { matches, matchedBefore } = item;
  if (matchedBefore === null || matchedBefore === undefined || matchedBefore === matches)
    return matches ? { tone: "good", label: "yes" } : { tone: "idle", label: "no" };
  return matches ? { tone: "good", label: "now" } : { tone: "warn", label: "no longer" };
}

export interface PreviewCounts {
  readonly total: number;
  readonly pass: number;
  // Null where there is no saved connector to compare with.
  readonly passedBefore: number | null;
  // Records that the filter could not be evaluated for, by reason, most first.
  readonly errors: readonly (readonly [string, number])[];
  // Records that lack a field, for which the filter is therefore false, by the field.
  readonly missing: readonly (readonly [string, number])[];
}

export function countPreview(items: readonly PreviewItem[]): PreviewCounts {
  const isCompared = items.some((each) => each.matchedBefore !== null && each.matchedBefore !== undefined);
  const failed = items.filter((each) => each.code === "filter_failed").map((each) => each.reason);
  return {
    total: items.length,
    pass: items.filter((each) => each.matches).length,
    passedBefore: isCompared ? items.filter((each) => each.matchedBefore).length : null,
    errors: tally(failed),
    missing: tally(items.flatMap((each) => each.missingField ?? [])),
  };
}

// How often each is there, most first.
function tally(texts: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

export interface Mistake {
  readonly line: number;
  readonly column: number;
  readonly text: string;
  // The line that it is in, divided at the place.
  readonly before: string;
  readonly at: string;
  readonly after: string;
}

// "line 1, column 14: exists() is not available": null for a message without a place.
export function mistakeIn(expression: string, message: string | undefined): Mistake | null {
  const found = /^line (\d+), column (\d+): ([\s\S]*)$/.exec(message ?? "");
  if (!found) return null;
  const line = Number(found[1]);
  const column = Number(found[2]);
  const shown = expression.split("\n")[line - 1] ?? "";
  const word = /^\w+|^./.exec(shown.slice(column - 1))?.[0] ?? "";
  return {
    line,
    column,
    text: found[3] ?? "",
    before: shown.slice(0, column - 1),
    at: word || " ",
    after: shown.slice(column - 1 + word.length),
  };
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

// A command that sends the same; null for what is no HTTP.
export function curlOfRequest(request: PreviewRequest): string | null {
  if (!/^https?:/.test(request.url)) return null;
  const headers = Object.entries(request.headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  return [`curl -X ${request.method} ${quoted(request.url)}`, ...headers, `--data-binary ${quoted(request.body)}`].join(" \\\n  ");
}

export function requestText(request: PreviewRequest): string {
  let target = request.url;
  let host = "";
  try {
    const url = new URL(request.url);
    if (url.protocol.startsWith("http")) {
      target = `${url.pathname}${url.search}`;
      host = url.host;
    }
  } catch {
    // Brokers have addresses of their own.
  }
  const head = host ? [t("methodTargetHTTP11", { method: request.method, target }), t("HostHost", { host })] : [`${request.method} ${target}`];
  return [...head, ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`), "", request.body].join("\n");
}
