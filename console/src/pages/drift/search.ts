import type { RawSearch } from "~/search";

export function driftSearch(_search: RawSearch): Record<never, never> {
  return {};
}
