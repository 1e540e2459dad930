import type { RawSearch } from "~/search";

export function deviceSearch(_search: RawSearch): Record<never, never> {
  return {};
}
