// Search parameters as plain text: `?type=tracker&tag=port&tag=dairy`, nothing quoted, nothing
// that is empty. What a screen makes of them is its own validateSearch.

export type RawSearch = Record<string, unknown>;

export function parseSearch(text: string): RawSearch {
  const found: Record<string, string | string[]> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const known = found[name];
    if (known === undefined) found[name] = value;
    else if (Array.isArray(known)) known.push(value);
    else found[name] = [known, value];
  }
  return found;
}

export function stringifySearch(search: RawSearch): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(search))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined && each !== null && each !== "" && each !== false) parameters.append(name, String(each));
  const text = parameters.toString();
  return text ? `?${text}` : "";
}

export function textParam(search: RawSearch, name: string): string | undefined {
  const value = search[name];
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return first === undefined || first === null || first === "" ? undefined : String(first);
}

export function listParam(search: RawSearch, name: string): string[] | undefined {
  const value = search[name];
  if (value === undefined || value === null || value === "") return undefined;
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

export function flagParam(search: RawSearch, name: string): boolean | undefined {
  const value = search[name];
  return value === true || value === "true" || value === "1" ? true : undefined;
}

export function choiceParam<T extends string>(search: RawSearch, name: string, choices: readonly T[]): T | undefined {
  const value = textParam(search, name);
  return choices.find((each) => each === value);
}
