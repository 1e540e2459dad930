import type { RawSearch } from "~/search";

export function jobsSearch(_search: RawSearch): Record<never, never> {
  return {};
}

export function jobSearch(_search: RawSearch): Record<never, never> {
  return {};
}
