import type { RawSearch } from "~/search";

export function liveSearch(_search: RawSearch): Record<never, never> {
  return {};
}
