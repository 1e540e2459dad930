import type { RawSearch } from "~/search";

export function groupSettingsSearch(_search: RawSearch): Record<never, never> {
  return {};
}

export function groupsSearch(_search: RawSearch): Record<never, never> {
  return {};
}
