// States as bands: from when to when each of them held, and which colour it has.
import { momentOf } from "~/time";
import { seriesStyle } from "~/ui/chart-data";

export interface Band {
  readonly begin: number;
  readonly end: number;
  readonly text: string;
}

export interface StateRow {
  readonly id: string;
  readonly name: string;
  readonly bands: readonly Band[];
}

interface Change {
  readonly timestamp: string;
  readonly value: number | string | boolean;
}

export function bandsOf(changes: readonly Change[], end: number, textOf: (value: Change["value"]) => string): Band[] {
  return changes.flatMap(({ timestamp, value }, index) => {
    const begin = momentOf(timestamp) ?? 0;
    const until = Math.min(end, momentOf(changes[index + 1]?.timestamp) ?? end);
    return until > begin ? [{ begin, end: until, text: textOf(value) }] : [];
  });
}

// A colour for each state but the most usual one, which is grey: what happens now and then is seen.
export function coloursOf(rows: readonly StateRow[]): Map<string, string | undefined> {
  const held = new Map<string, number>();
  for (const { bands } of rows) for (const { text, begin, end } of bands) held.set(text, (held.get(text) ?? 0) + end - begin);
  const usual = [...held].sort((a, b) => b[1] - a[1]);
  return new Map(usual.map(([text], index) => [text, index === 0 ? undefined : seriesStyle(index - 1).color]));
}
