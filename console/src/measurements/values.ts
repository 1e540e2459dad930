// What devices measure: asked for, kept up to date, and put into words.
import { useEffect } from "react";
import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { listen } from "~/live/connection";
import { onPaused, paused } from "~/live/pause";
import { formatValue } from "~/ui/series";
import { LOCALE } from "~/i18n";

export type DeviceValue = Schemas["DeviceValue"];

// What is declared first, since somebody cared for it; last what telemetry says of the transmission.
export function sortMeasurements<Item extends { readonly name: string; readonly isDeclared: boolean }>(items: readonly Item[]): Item[] {
  const rank = (each: Item) => (each.isDeclared ? 0 : each.name.startsWith("telemetry.") ? 2 : 1);
  return [...items].sort((a, b) => rank(a) - rank(b));
}

export function deviceValuesQuery(deviceId: string) {
  return queryOptions({
    queryKey: ["device-values", deviceId],
    queryFn: async ({ signal }) => sortMeasurements((await read(api.GET("/device/values", { params: { query: { deviceId } }, signal }))).items),
    refetchInterval: 30_000,
  });
}

export function measurementLabel({ name, label }: { readonly name: string; readonly label?: string | undefined }): string {
  return label || name;
}

// With as many decimals as are declared; a yes or no as a word. The unit stands apart.
export function valueText(value: number | string | boolean | undefined, decimals?: number | undefined): string {
  if (value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  if (decimals === undefined) return formatValue(value);
  return value.toLocaleString(LOCALE, { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

const REFRESH_MS = 1_000;
const FOLLOWING = new Set(["records", "lost", "fresh"]);

// Calls back as records of a device arrive: at once, then at most once a second, and not while the
// page is paused.
function followRecords(groupId: string, deviceId: string, onArrival: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isDue = false;
  const run = () => {
    if (!isDue || timer !== undefined || paused()) return;
    isDue = false;
    onArrival();
    timer = setTimeout(() => {
      timer = undefined;
      run();
    }, REFRESH_MS);
  };
  const stop = listen({ groupId, deviceId }, true, (event) => {
    if (!FOLLOWING.has(event.type)) return;
    isDue = true;
    run();
  });
  const stopWatching = onPaused(run);
  return () => {
    stop();
    stopWatching();
    clearTimeout(timer);
  };
}

// Current values, and when the device was seen, follow its records.
export function useLiveValues(groupId: string, deviceId: string, isEnabled: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!isEnabled) return;
    return followRecords(groupId, deviceId, () => {
      for (const key of ["device-values", "device"]) void client.invalidateQueries({ queryKey: [key, deviceId] });
    });
  }, [groupId, deviceId, isEnabled, client]);
}

const STEP_MS = 1_800_000;
const STEPS = 48;

export interface DayPoint {
  readonly at: number;
  readonly value: number;
}

export interface ValueDays {
  readonly begin: number;
  readonly end: number;
  readonly points: ReadonlyMap<string, readonly DayPoint[]>;
}

// The last day of some measurements, by name: of a counter what was added in each half hour, of amounts
// their sum, else the mean. Spans without values have no point.
export function valueDaysQuery(deviceId: string, items: readonly DeviceValue[]) {
  const classes = new Map(items.map((each) => [each.name, each.class]));
  const measurement = [...classes.keys()];
  return queryOptions({
    queryKey: ["device-value-days", deviceId, measurement],
    queryFn: async ({ signal }): Promise<ValueDays> => {
      const end = Math.ceil(Date.now() / STEP_MS) * STEP_MS;
      const begin = end - STEPS * STEP_MS;
      const query = { deviceId: [deviceId], measurement, beginDate: new Date(begin).toISOString(), endDate: new Date(end).toISOString(), timeSpan: STEP_MS / 1_000 };
      const answer = await read(api.GET("/device/series", { params: { query }, signal }));
      const found = typeof answer === "object" && !Array.isArray(answer) ? answer.items : [];
      const points = found.map((each) => {
        const name = each.measurement ?? measurement[0] ?? "";
        const kind = classes.get(name);
        const valueOf = (point: Schemas["SeriesPoint"]) => (kind === "counter" ? (point.increase ?? 0) : kind === "amount" ? point.sum : point.mean);
        return [name, each.points.map((point) => ({ at: Date.parse(point.timestamp), value: valueOf(point) }))] as const;
      });
      return { begin, end, points: new Map(points) };
    },
    enabled: measurement.length > 0,
    // Those that are shown already stay while more are asked for.
    placeholderData: (before, query): ValueDays | undefined => (query?.queryKey[1] === deviceId ? before : undefined),
    staleTime: 240_000,
    refetchInterval: 300_000,
  });
}
