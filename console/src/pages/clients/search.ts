import type { RawSearch } from "~/search";

export function appClientsSearch(_search: RawSearch): Record<never, never> {
  return {};
}
