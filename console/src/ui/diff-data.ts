// What differs between two versions of an object, field by field. JSON that is kept as text is
// compared member by member, lists of words word by word.

export interface Difference {
  // The path of the field: `name`, `params.url`.
  readonly field: string;
  // Null is "not there", so that it differs from an empty text.
  readonly before: string | null;
  readonly after: string | null;
}

export type Fields = Readonly<Record<string, unknown>>;

// Fields whose text is JSON, where it is an object.
const JSON_FIELDS = new Set(["params", "configuration", "schedule"]);

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectOf(value: unknown): Fields | null {
  if (isObject(value)) return value;
  if (typeof value !== "string") return null;
  try {
    const parsed: unknown = JSON.parse(value);
    return isObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isWords(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

function wordsOf(words: readonly string[]): string | null {
  return words.length > 0 ? words.join(", ") : null;
}

// Only what came and what went; a changed order is shown as a whole.
function compareWords(field: string, before: readonly string[], after: readonly string[]): Difference[] {
  const gone = before.filter((each) => !after.includes(each));
  const added = after.filter((each) => !before.includes(each));
  if (gone.length === 0 && added.length === 0) return before.join() === after.join() ? [] : [{ field, before: wordsOf(before), after: wordsOf(after) }];
  return [{ field, before: wordsOf(gone), after: wordsOf(added) }];
}

function compare(field: string, before: unknown, after: unknown, mayBeJson: boolean): Difference[] {
  const [old, now] = mayBeJson ? [objectOf(before), objectOf(after)] : [isObject(before) ? before : null, isObject(after) ? after : null];
  const isNested = (old ?? now) !== null && (old !== null || before === null || before === undefined) && (now !== null || after === null || after === undefined);
  if (isNested) return compareFields(old ?? {}, now ?? {}, `${field}.`);
  if ((isWords(before) || before === undefined || before === null) && (isWords(after) || after === undefined || after === null) && (before ?? after))
    return compareWords(field, (before as string[] | null | undefined) ?? [], (after as string[] | null | undefined) ?? []);
  const difference = { field, before: textOf(before), after: textOf(after) };
  return difference.before === difference.after ? [] : [difference];
}

function compareFields(before: Fields, after: Fields, prefix: string): Difference[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => compare(`${prefix}${name}`, before[name], after[name], prefix === "" && JSON_FIELDS.has(name)));
}

export function differencesOf(before: Fields | null | undefined, after: Fields | null | undefined): Difference[] {
  return compareFields(before ?? {}, after ?? {}, "");
}

// Whether two values mean the same: JSON in a text however it is spaced, and nothing however it is written.
export function isSame(left: unknown, right: unknown): boolean {
  return compare("value", left ?? null, right ?? null, true).length === 0;
}
