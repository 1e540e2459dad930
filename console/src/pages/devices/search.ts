import { choiceParam, flagParam, textParam, type RawSearch } from "~/search";

export const SEEN_CHOICES = ["hour", "day", "week", "longer", "never", "silent"] as const;
export const SORT_CHOICES = ["name", "seenAt", "battery"] as const;
export const BATTERY_CHOICES = ["10", "20", "50"] as const;

export type Seen = (typeof SEEN_CHOICES)[number];
export type Sort = (typeof SORT_CHOICES)[number];

// Without `sort`: in the order of their creation.
export interface DevicesSearch {
  q?: string | undefined;
  type?: string | undefined;
  network?: string | undefined;
  tag?: string | undefined;
  seen?: Seen | undefined;
  battery?: (typeof BATTERY_CHOICES)[number] | undefined;
  below?: true | undefined;
  sort?: Sort | undefined;
  order?: "asc" | "desc" | undefined;
}

export function devicesSearch(search: RawSearch): DevicesSearch {
  return {
    q: textParam(search, "q"),
    type: textParam(search, "type"),
    network: textParam(search, "network"),
    tag: textParam(search, "tag"),
    seen: choiceParam(search, "seen", SEEN_CHOICES),
    battery: choiceParam(search, "battery", BATTERY_CHOICES),
    below: flagParam(search, "below") ? true : undefined,
    sort: choiceParam(search, "sort", SORT_CHOICES),
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
    subgroups: search.below,
  };
}

const FIRST_ORDER: Record<Sort, "asc" | "desc"> = { name: "asc", seenAt: "desc", battery: "asc" };

// The order in which a column is sorted: as is useful first, then the other way, then not.
export function nextSort(search: DevicesSearch, column: Sort): Pick<DevicesSearch, "sort" | "order"> {
  const first = FIRST_ORDER[column];
  if (search.sort !== column) return { sort: column, order: first };
  if ((search.order ?? first) === first) return { sort: column, order: first === "asc" ? "desc" : "asc" };
  return { sort: undefined, order: undefined };
}

export function orderOf(search: DevicesSearch, column: Sort): "ascending" | "descending" | null {
  if (search.sort !== column) return null;
  return (search.order ?? FIRST_ORDER[column]) === "asc" ? "ascending" : "descending";
}

export interface DeviceImportSearch {
  type?: string | undefined;
  network?: string | undefined;
}

export function deviceImportSearch(search: RawSearch): DeviceImportSearch {
  return { type: textParam(search, "type"), network: textParam(search, "network") };
}
