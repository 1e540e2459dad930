import { textParam, type RawSearch } from "~/search";

export interface GroupsSearch {
  q?: string | undefined;
}

export function groupsSearch(search: RawSearch): GroupsSearch {
  return { q: textParam(search, "q") };
}

export function groupSettingsSearch(_search: RawSearch): Record<never, never> {
  return {};
}
