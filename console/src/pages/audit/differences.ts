// What a change did, field by field.

export interface Difference {
  readonly field: string;
  readonly before: string | null;
  readonly after: string | null;
}

function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

// Fields that differ; null is "not there", so that an empty text can be told from it.
export function differencesOf(
  before: Record<string, unknown> | null | undefined,
  after: Record<string, unknown> | null | undefined,
): Difference[] {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...fields]
    .map((field) => ({ field, before: textOf(before?.[field]), after: textOf(after?.[field]) }))
    .filter((each) => each.before !== each.after);
}
