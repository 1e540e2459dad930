import { choiceParam, listParam, textParam, type RawSearch } from "~/search";

export const DEVICE_TABS = ["records", "chart", "map", "configuration", "downlinks", "changes"] as const;
export const KINDS = ["data", "event", "geoloc", "telemetry"] as const;

export type DeviceTab = (typeof DEVICE_TABS)[number];
export type Kind = (typeof KINDS)[number];

export interface DeviceSearch {
  tab?: DeviceTab | undefined;
  // Without any: all kinds.
  kind?: Kind[] | undefined;
  // An open record.
  record?: string | undefined;
  // Numbers on the chart, as kind and JSON pointer: `data/data/celsius`.
  series?: string[] | undefined;
}

export function deviceSearch(search: RawSearch): DeviceSearch {
  const kinds = listParam(search, "kind")?.filter((each): each is Kind => (KINDS as readonly string[]).includes(each));
  return {
    tab: choiceParam(search, "tab", DEVICE_TABS),
    kind: kinds?.length ? kinds : undefined,
    record: textParam(search, "record"),
    series: listParam(search, "series")?.slice(0, 12),
  };
}
