import type { RawSearch } from "~/search";

export function rolesSearch(_search: RawSearch): Record<never, never> {
  return {};
}
