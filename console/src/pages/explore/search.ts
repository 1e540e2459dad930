import { choiceParam, listParam, textParam, type RawSearch } from "~/search";

export const MEASUREMENTS_MAX = 6;
export const DEVICES_MAX = 20;
export const OFS = ["mean", "min", "max", "last"] as const;
export const SPANS = ["hour", "day", "week", "month"] as const;
export const COMBINATIONS = ["sum", "mean", "min", "max"] as const;

export interface ExploreSearch {
  // Without any: the one that says most of the group.
  measurement?: string[] | undefined;
  // Without any: all devices of the group and below, as one.
  device?: string[] | undefined;
  type?: string | undefined;
  // What of each device's values, by which spans, and how devices become one; by default as fits the measurement.
  of?: (typeof OFS)[number] | undefined;
  per?: (typeof SPANS)[number] | undefined;
  combine?: (typeof COMBINATIONS)[number] | undefined;
}

export function exploreSearch(search: RawSearch): ExploreSearch {
  return {
    measurement: listParam(search, "measurement")?.slice(0, MEASUREMENTS_MAX),
    device: listParam(search, "device")?.slice(0, DEVICES_MAX),
    type: textParam(search, "type"),
    of: choiceParam(search, "of", OFS),
    per: choiceParam(search, "per", SPANS),
    combine: choiceParam(search, "combine", COMBINATIONS),
  };
}
