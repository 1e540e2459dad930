import type { RawSearch } from "~/search";

export function mapSearch(_search: RawSearch): Record<never, never> {
  return {};
}
