import type { RawSearch } from "~/search";

export function typesSearch(_search: RawSearch): Record<never, never> {
  return {};
}

export function typeSearch(_search: RawSearch): Record<never, never> {
  return {};
}
