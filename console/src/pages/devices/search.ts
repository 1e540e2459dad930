import { choiceParam, flagParam, listParam, textParam, type RawSearch } from "~/search";
import type { Schemas } from "~/api/client";
import { parseMoment } from "~/time";

export const SEEN_CHOICES = ["hour", "day", "week", "longer", "never", "silent"] as const;
export const SORT_CHOICES = ["name", "seenAt", "battery"] as const;
export const BATTERY_CHOICES = ["10", "20", "50"] as const;

export type Seen = (typeof SEEN_CHOICES)[number];
// By a column, or by the current value of a measurement.
export type Sort = (typeof SORT_CHOICES)[number] | `value:${string}`;

export const VALUES_MAX = 8;
export const WHERE_MAX = 10;

// Without `sort`: in the order of their creation.
export interface DevicesSearch {
  q?: string | undefined;
  type?: string | undefined;
  network?: string | undefined;
  tag?: string | undefined;
  seen?: Seen | undefined;
  battery?: (typeof BATTERY_CHOICES)[number] | undefined;
  // Only those of the group itself.
  own?: true | undefined;
  // Measurements that are shown as columns, and comparisons of current values as the API has them; of an age
  // with a relative moment: `moisture@<now-1d`.
  values?: string[] | undefined;
  where?: string[] | undefined;
  sort?: Sort | undefined;
  order?: "asc" | "desc" | undefined;
}

function isValueSort(sort: string | undefined): sort is `value:${string}` {
  return sort !== undefined && /^value:./.test(sort);
}

export function devicesSearch(search: RawSearch): DevicesSearch {
  const sort = textParam(search, "sort");
  return {
    q: textParam(search, "q"),
    type: textParam(search, "type"),
    network: textParam(search, "network"),
    tag: textParam(search, "tag"),
    seen: choiceParam(search, "seen", SEEN_CHOICES),
    battery: choiceParam(search, "battery", BATTERY_CHOICES),
    own: flagParam(search, "own") ? true : undefined,
    values: listParam(search, "values")?.slice(0, VALUES_MAX),
    where: listParam(search, "where")?.slice(0, WHERE_MAX),
    sort: isValueSort(sort) ? sort : choiceParam(search, "sort", SORT_CHOICES),
    order: choiceParam(search, "order", ["asc", "desc"]),
  };
}

export interface DeviceFilter {
  q?: string | undefined;
  type?: string | undefined;
  network?: string | undefined;
  tag?: string | undefined;
  seen?: Seen | undefined;
  batteryBelow?: number | undefined;
  subgroups?: boolean | undefined;
}

// The same filter for lists, exports and jobs.
export function filterOf(search: DevicesSearch): DeviceFilter {
  return {
    q: search.q,
    type: search.type,
    network: search.network,
    tag: search.tag,
    seen: search.seen,
    batteryBelow: search.battery === undefined ? undefined : Number(search.battery),
    subgroups: search.own ? undefined : true,
  };
}

// The columns, comparisons and order by values, for lists and exports; jobs know nothing of values.
export function valuesOf({ values, where, sort, order }: DevicesSearch, now: number) {
  return {
    values: values?.join(",") || undefined,
    where: where?.map((each) => absoluteComparison(each, now)),
    ...(isValueSort(sort) ? { order: sort, descending: order === "desc" } : {}),
  };
}

// The list with its columns, filters and order, for a link.
export function sharedList(search: DevicesSearch, now: number): Schemas["SharedList"] {
  const { values: _, ...compared } = valuesOf(search, now);
  const { sort, order } = search;
  const sorted = sort === undefined || isValueSort(sort) ? {} : { sort, ascending: (order ?? firstOrder(sort)) === "asc" };
  return { ...filterOf(search), ...compared, ...sorted, values: search.values };
}

// "Older than" is about now, whenever somebody opens the link.
function absoluteComparison(comparison: string, now: number): string {
  const found = /^(.*@[<>]=?)(now.*)$/.exec(comparison);
  const moment = found && parseMoment(found[2] ?? "", now);
  return found && moment !== null ? found[1] + new Date(moment).toISOString() : comparison;
}

function firstOrder(column: Sort): "asc" | "desc" {
  return column === "seenAt" ? "desc" : "asc";
}

// The order in which a column is sorted: as is useful first, then the other way, then not.
export function nextSort(search: DevicesSearch, column: Sort): Pick<DevicesSearch, "sort" | "order"> {
  const first = firstOrder(column);
  if (search.sort !== column) return { sort: column, order: first };
  if ((search.order ?? first) === first) return { sort: column, order: first === "asc" ? "desc" : "asc" };
  return { sort: undefined, order: undefined };
}

export function orderOf(search: DevicesSearch, column: Sort): "ascending" | "descending" | null {
  if (search.sort !== column) return null;
  return (search.order ?? firstOrder(column)) === "asc" ? "ascending" : "descending";
}

export interface DeviceImportSearch {
  type?: string | undefined;
  network?: string | undefined;
}

export function deviceImportSearch(search: RawSearch): DeviceImportSearch {
  return { type: textParam(search, "type"), network: textParam(search, "network") };
}
