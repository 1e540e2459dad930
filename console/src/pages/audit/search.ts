import type { RawSearch } from "~/search";

export function auditSearch(_search: RawSearch): Record<never, never> {
  return {};
}
