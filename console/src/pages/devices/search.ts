import type { RawSearch } from "~/search";

export function devicesSearch(_search: RawSearch): Record<never, never> {
  return {};
}

export function deviceImportSearch(_search: RawSearch): Record<never, never> {
  return {};
}
