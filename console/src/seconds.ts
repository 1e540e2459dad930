// Seconds of the API as people say and type them.
const DAY_S = 86_400;
const HOUR_S = 3_600;
const MINUTE_S = 60;

const WORDS = [
  [DAY_S, "day", "days"],
  [HOUR_S, "hour", "hours"],
  [MINUTE_S, "minute", "minutes"],
] as const;

// 21600 is "6 hours", and 5400 is "90 minutes": in the largest unit that fits.
export function secondsWords(value: number): string {
  const [size, one, many] = WORDS.find(([each]) => value >= each && value % each === 0) ?? ([1, "second", "seconds"] as const);
  return `${value / size} ${value === size ? one : many}`;
}

export const UNITS = [
  ["1", "seconds"],
  ["60", "minutes"],
  ["3600", "hours"],
  ["86400", "days"],
] as const;

// For a field and its unit: 5400 is 90 minutes.
export function splitSeconds(text: string): { count: string; unit: string } {
  const value = Number(text);
  if (!text.trim() || !Number.isInteger(value)) return { count: text, unit: "60" };
  const unit = [...UNITS].reverse().find(([size]) => value % Number(size) === 0 && value >= Number(size))?.[0] ?? "1";
  return { count: String(value / Number(unit)), unit };
}

// What is no number stays as it was typed: the service says what is wrong with it.
export function joinSeconds(count: string, unit: string): string {
  const value = count.trim() === "" ? NaN : Number(count);
  return Number.isFinite(value) ? String(Number((value * Number(unit)).toPrecision(12))) : count;
}
