import { choiceParam, listParam, textParam, type RawSearch } from "~/search";

export const DEVICE_TABS = ["records", "chart", "map", "configuration", "downlinks", "changes"] as const;
export const KINDS = ["data", "event", "geoloc", "telemetry"] as const;

// A bar for each, or the reading of a counter as a line.
export const PERS = ["hour", "day", "week", "month", "reading"] as const;
export const COMPARED_MAX = 7;

export type Per = (typeof PERS)[number];
export type DeviceTab = (typeof DEVICE_TABS)[number];
export type Kind = (typeof KINDS)[number];

export interface DeviceSearch {
  tab?: DeviceTab | undefined;
  // Without any: all kinds.
  kind?: Kind[] | undefined;
  // An open record.
  record?: string | undefined;
  // Measurements on the chart, the devices beside this one, and what bars are of.
  measurement?: string[] | undefined;
  compare?: string[] | undefined;
  per?: Per | undefined;
  // Numbers on the chart that are no measurements, as kind and JSON pointer: `data/data/celsius`.
  series?: string[] | undefined;
}

export function deviceSearch(search: RawSearch): DeviceSearch {
  const kinds = listParam(search, "kind")?.filter((each): each is Kind => (KINDS as readonly string[]).includes(each));
  return {
    tab: choiceParam(search, "tab", DEVICE_TABS),
    kind: kinds?.length ? kinds : undefined,
    record: textParam(search, "record"),
    measurement: listParam(search, "measurement")?.slice(0, 12),
    compare: listParam(search, "compare")?.slice(0, COMPARED_MAX),
    per: choiceParam(search, "per", PERS),
    series: listParam(search, "series")?.slice(0, 12),
  };
}
