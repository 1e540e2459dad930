import type { RawSearch } from "~/search";

export function messagesSearch(_search: RawSearch): Record<never, never> {
  return {};
}
