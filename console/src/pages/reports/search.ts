import { textParam, type RawSearch } from "~/search";

export interface ReportsSearch {
  q?: string | undefined;
}

export function reportsSearch(search: RawSearch): ReportsSearch {
  return { q: textParam(search, "q") };
}

export function newReportSearch(_search: RawSearch): Record<never, never> {
  return {};
}

export function reportSearch(_search: RawSearch): Record<never, never> {
  return {};
}
