import { textParam, type RawSearch } from "~/search";

export interface ContactPointsSearch {
  q?: string | undefined;
}

export function contactPointsSearch(search: RawSearch): ContactPointsSearch {
  return { q: textParam(search, "q") };
}

export interface NewContactPointSearch {
  type?: string | undefined;
}

export function newContactPointSearch(search: RawSearch): NewContactPointSearch {
  return { type: textParam(search, "type") };
}

export function contactPointSearch(_search: RawSearch): Record<never, never> {
  return {};
}
