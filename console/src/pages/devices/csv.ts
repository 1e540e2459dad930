// CSV as spreadsheets write and read it: RFC 4180, with a mark that says it is UTF-8. A text that
// a spreadsheet would run as a formula gets an apostrophe in front, as in `api/csv_cells.py`.
import type { Schemas } from "~/api/client";

const IGNORED = String.raw`[\x00-\x08\x0b\x0c\x0e-\x20\x22\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]*`;
const SIGN = String.raw`[=+\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u2212]`;
const NUMBER = String.raw`[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?`;
const FORMULA = new RegExp(String.raw`(^|[;\t\r\n])(?='*${IGNORED}${SIGN})(?!'*${IGNORED}${NUMBER}${IGNORED}(?:[;\t\r\n]|$))`, "g");

export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
  const divided = text.replace(FORMULA, "$1'");
  const safe = /^'*[\t\r\n]/.test(text) ? `'${divided}` : divided;
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const DEVICE_COLUMNS = [
  "deviceId",
  "groupId",
  "name",
  "type",
  "network",
  "originalId",
  "battery",
  "seenAt",
  "createdAt",
  "updatedAt",
  "tags",
  "configuration",
] as const satisfies readonly (keyof Schemas["Device"])[];

function tagsCell(tags: readonly string[] | null | undefined): string {
  const given = tags ?? [];
  const isPlain = given.every((tag) => !tag.includes("|") && !tag.startsWith("[") && tag === tag.trim());
  return isPlain ? given.join("|") : JSON.stringify(given);
}

// A file that can be imported again.
export function devicesCsv(devices: readonly Schemas["Device"][]): string {
  const lines = devices.map((device) =>
    DEVICE_COLUMNS.map((name) => csvCell(name === "tags" ? tagsCell(device.tags) : device[name])).join(","),
  );
  return `\ufeff${[DEVICE_COLUMNS.join(","), ...lines].join("\r\n")}\r\n`;
}

export interface CsvLine {
  // Where it begins in the file; the header is 1.
  readonly line: number;
  readonly cells: readonly string[];
}

// Lines and cells of a file with commas, semicolons or tabs; what is quoted may span lines.
export function parseCsv(given: string): CsvLine[] {
  const text = given.replace(/^\ufeff/, "");
  const head = text.split(/\r?\n/, 1)[0] ?? "";
  const separator = [",", ";", "\t"].reduce((best, each) => (head.split(each).length > head.split(best).length ? each : best), ",");
  const lines: CsvLine[] = [];
  let cells: string[] = [];
  let cell = "";
  let isQuoted = false;
  let line = 1;
  let start = 1;
  const endCell = () => {
    cells.push(cell);
    cell = "";
  };
  const endLine = () => {
    endCell();
    if (cells.length > 1 || cells[0] !== "") lines.push({ line: start, cells });
    cells = [];
    start = line;
  };
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? "";
    if (char === "\n") line += 1;
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (char === '"' && cell === "") isQuoted = true;
    else if (char === separator) endCell();
    else if (char === "\n") endLine();
    else if (char !== "\r" || text[at + 1] !== "\n") cell += char;
  }
  if (cell !== "" || cells.length > 0) endLine();
  return lines;
}
