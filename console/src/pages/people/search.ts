import type { RawSearch } from "~/search";

export function peopleSearch(_search: RawSearch): Record<never, never> {
  return {};
}
