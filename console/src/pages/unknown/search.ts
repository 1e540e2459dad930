import type { RawSearch } from "~/search";

export function unknownDevicesSearch(_search: RawSearch): Record<never, never> {
  return {};
}
