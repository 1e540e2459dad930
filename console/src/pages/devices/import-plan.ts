// A file of devices as the service takes it: in steps of 1,000 lines, of which each is checked, and
// then created as a whole. Lines keep the numbers that they have in the file.
import type { Schemas } from "~/api/client";
import { parseCsv, type CsvLine } from "./csv";
import { t } from "~/messages/devices";

export const STEP_LINES = 1_000;

export interface ImportStep {
  readonly text: string;
  // Where each line of `text` begins in the file.
  readonly lineOf: ReadonlyMap<number, number>;
}

export interface ImportPlan {
  readonly header: readonly string[];
  readonly lines: readonly CsvLine[];
  readonly steps: readonly ImportStep[];
}

export interface LineState {
  readonly status: "created" | "existing" | null;
  readonly deviceId: string | null;
  readonly errors: readonly { readonly column: string; readonly message: string }[];
}

function encode(cells: readonly string[]): string {
  return cells.map((cell) => (/[",\r\n]/.test(cell) || cell !== cell.trim() ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",");
}

function stepOf(header: readonly string[], lines: readonly CsvLine[]): ImportStep {
  const rows = [encode(header)];
  const lineOf = new Map<number, number>([[1, 1]]);
  let next = 1 + (rows[0]?.split("\n").length ?? 1);
  for (const { line, cells } of lines) {
    const row = encode(cells);
    lineOf.set(next, line);
    next += row.split("\n").length;
    rows.push(row);
  }
  return { text: `${rows.join("\n")}\n`, lineOf };
}

export function planImport(text: string, size = STEP_LINES): ImportPlan {
  const [head, ...lines] = parseCsv(text);
  const header = head?.cells ?? [];
  const steps = Array.from({ length: Math.max(1, Math.ceil(lines.length / size)) }, (_, index) => stepOf(header, lines.slice(index * size, (index + 1) * size)));
  return { header, lines, steps: head ? steps : [] };
}

// The name of a column as the service knows it: case, spaces, - and _ do not matter.
export function columnName(head: string): string {
  const plain = head.toLowerCase().replace(/[\s_-]/g, "");
  return plain === "originalid" ? "originalId" : plain;
}

export type LineStates = ReadonlyMap<number, LineState>;

const UNKNOWN: LineState = { status: null, deviceId: null, errors: [] };

// What the answer about a step says of the lines of the file, added to what is known.
export function withAnswer(states: LineStates, step: ImportStep, answer: Pick<Schemas["ImportReturn"], "items" | "errors">): LineStates {
  const next = new Map(states);
  const at = (line: number) => step.lineOf.get(line) ?? line;
  for (const item of answer.items)
    next.set(at(item.line), { ...UNKNOWN, status: item.status === "existing" ? "existing" : "created", deviceId: item.deviceId ?? null });
  for (const { line, column, message } of answer.errors) {
    const known = next.get(at(line)) ?? UNKNOWN;
    next.set(at(line), { ...UNKNOWN, errors: [...known.errors, { column, message }] });
  }
  return next;
}

// The service finds an id that is twice within a step; across steps it is found here.
export function withDuplicates(states: LineStates, plan: ImportPlan, network: string, size = STEP_LINES): LineStates {
  if (plan.steps.length < 2) return states;
  const names = plan.header.map(columnName);
  const [idAt, networkAt] = [names.indexOf("originalId"), names.indexOf("network")];
  const first = new Map<string, { line: number; step: number }>();
  const next = new Map(states);
  plan.lines.forEach(({ line, cells }, index) => {
    const id = (cells[idAt] ?? "").trim().toLowerCase();
    if (!id) return;
    const key = `${(cells[networkAt] ?? "").trim() || network}\n${id}`;
    const step = Math.floor(index / size);
    const known = first.get(key);
    if (!known) first.set(key, { line, step });
    else if (known.step !== step)
      next.set(line, { ...UNKNOWN, errors: [...(next.get(line)?.errors ?? []), { column: "originalId", message: t("isThatOfLineLine", { line: known.line }) }] });
  });
  return next;
}

export interface ImportSummary {
  readonly created: number;
  readonly existing: number;
  readonly wrong: number;
}

export function summaryOf(states: LineStates): ImportSummary {
  const all = [...states.values()];
  return {
    created: all.filter((each) => each.status === "created").length,
    existing: all.filter((each) => each.status === "existing").length,
    wrong: all.filter((each) => each.errors.length > 0).length,
  };
}
