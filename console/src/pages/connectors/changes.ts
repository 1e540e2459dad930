// What one entry of the audit log changed, member by member.
export interface Change {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

function shown(value: unknown): string | null {
  if (value === undefined || value === null || value === "") return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

// Parameters are JSON in a string: their members are compared one by one.
function flat(object: Readonly<Record<string, unknown>> | null | undefined): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const [name, value] of Object.entries(object ?? {})) {
    if (name === "params" && typeof value === "string") {
      try {
        for (const [member, each] of Object.entries(JSON.parse(value) as object)) found.set(`params.${member}`, each);
        continue;
      } catch {
        // Shown as it is.
      }
    }
    found.set(name, value);
  }
  return found;
}

export function changesOf(
  before: Readonly<Record<string, unknown>> | null | undefined,
  after: Readonly<Record<string, unknown>> | null | undefined,
): Change[] {
  const [old, now] = [flat(before), flat(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])];
  return names
    .map((name) => ({ name, before: shown(old.get(name)), after: shown(now.get(name)) }))
    .filter((each) => each.before !== each.after);
}
