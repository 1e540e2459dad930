import type { RawSearch } from "~/search";

export function recordTraceSearch(_search: RawSearch): Record<never, never> {
  return {};
}

export function messageTraceSearch(_search: RawSearch): Record<never, never> {
  return {};
}
