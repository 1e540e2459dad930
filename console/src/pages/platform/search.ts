import type { RawSearch } from "~/search";

export function platformSearch(_search: RawSearch): Record<never, never> {
  return {};
}
