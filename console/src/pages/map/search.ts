import { devicesSearch, type DevicesSearch } from "~/pages/devices/search";
import { formatView, parseView } from "~/map/geometry";
import { textParam, type RawSearch } from "~/search";

export interface MapSearch extends DevicesSearch {
  // `at=51.95,4.14,9`: what is in the middle, and the zoom.
  at?: string | undefined;
  // What is written below points: a measurement, or nothing; without it, names.
  label?: string | undefined;
}

export function mapSearch(search: RawSearch): MapSearch {
  const view = parseView(textParam(search, "at"));
  return { ...devicesSearch(search), at: view ? formatView(view) : undefined, label: textParam(search, "label") };
}
