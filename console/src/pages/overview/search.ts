import type { RawSearch } from "~/search";

export function overviewSearch(_search: RawSearch): Record<never, never> {
  return {};
}
