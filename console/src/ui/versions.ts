// Two versions of one form: what differs, and both in one.
export interface VersionRow {
  readonly label: string;
  readonly mine: string;
  readonly theirs: string;
}

export function differing(rows: readonly VersionRow[]): VersionRow[] {
  return rows.filter((each) => each.mine.trim() !== each.theirs.trim());
}

// Fields that I changed stay mine; of all others the newer version is taken. A field may have fields itself.
export function mergeForms<Form extends object>(base: Form, mine: Form, theirs: Form): Form {
  const merged = { ...theirs };
  for (const name of Object.keys(mine) as (keyof Form)[]) {
    const value = mine[name];
    // Not changed by me: theirs, which may not have it any more.
    if (JSON.stringify(value) === JSON.stringify(base[name])) continue;
    if (typeof value === "object" && value !== null) merged[name] = mergeForms((base[name] ?? {}) as object, value, (theirs[name] ?? {}) as object) as typeof value;
    else if ((value ?? "") !== (base[name] ?? "")) merged[name] = value;
  }
  return merged;
}
