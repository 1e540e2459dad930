import type { RawSearch } from "~/search";

export function accountSearch(_search: RawSearch): Record<never, never> {
  return {};
}
