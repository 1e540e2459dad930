// One measurement of some devices over time: a line for each, bars of what was added, or bands of states.
import { useCallback, useMemo } from "react";
import { useQuery } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { useRange, useZone } from "~/frame/page-state";
import { askedRange, ChartCard, type AskedRange } from "~/measurements/chart-card";
import { drawBars, drawLines, SPAN_WORDS, type ChartSource } from "~/measurements/drawing";
import { measurementLabel, type DeviceValue } from "~/measurements/values";
import { momentOf, zoneLabel } from "~/time";
import type { CalendarSpan } from "~/ui/chart-data";
import type { SeriesMark, SeriesProps } from "~/ui/series";
import type { NumberSeries } from "./numbers";
import type { Per } from "./search";
import { t } from "~/messages/device";

type Point = Schemas["SeriesPoint"];
interface Answered {
  readonly query: object;
  readonly asked: AskedRange;
  readonly answer: Schemas["Series"];
}

type What = { measurement: string[] } | { path: string; kind: Schemas["RecordKind"] };

export interface ChartDevice {
  readonly id: string;
  readonly name: string;
}

function useSeries(what: What, devices: readonly ChartDevice[], calendarSpan: CalendarSpan | null, valueOf: (point: Point) => number) {
  const zone = useZone();
  const { range } = useRange();
  const deviceId = devices.map((each) => each.id);
  const select = useCallback(
    ({ query, asked, answer }: Answered) => {
      const sources: ChartSource[] = devices.map(({ id, name }) => {
        const points = answer.items.find((each) => each.deviceId === id)?.points ?? [];
        return { id, name, points: points.map((each) => ({ at: momentOf(each.timestamp) ?? 0, value: valueOf(each), low: each.min, high: each.max, hasGap: each.hasGap })) };
      });
      const sampled = answer.items.find((each) => each.isSampled);
      const drawing = calendarSpan ? drawBars(sources, asked.times, calendarSpan, zone) : drawLines(sources, (answer.timeSpan ?? 0) * 1_000);
      return { query, asked, sources, drawing, completeUntil: answer.completeUntil, sampledFrom: sampled && (sampled.lookedAt ?? 0) };
    },
    [devices, valueOf, calendarSpan, zone],
  );
  return useQuery({
    queryKey: ["device-series", what, deviceId, range, calendarSpan, zone],
    queryFn: async ({ signal }): Promise<Answered> => {
      const asked = askedRange(range, calendarSpan, zone);
      const { beginDate, endDate } = asked;
      const query = { deviceId, ...what, beginDate, endDate, ...(calendarSpan ? { calendarSpan, timezone: zoneLabel(zone) } : {}) };
      const answer = await read(api.GET("/device/series", { params: { query }, signal }));
      if (typeof answer !== "object" || Array.isArray(answer)) throw new Error("The service answered in another format.");
      return { query, asked, answer };
    },
    select,
    refetchInterval: 60_000,
  });
}

const VALUES = {
  increase: (each: Point) => each.increase ?? 0,
  sum: (each: Point) => each.sum,
  last: (each: Point) => each.last,
  mean: (each: Point) => each.mean,
};

export function MeasurementChart({
  groupId,
  item,
  devices,
  per,
  marks,
  bands,
}: {
  groupId: string;
  item: DeviceValue;
  devices: readonly ChartDevice[];
  per: Per;
  marks: readonly SeriesMark[];
  bands: SeriesProps["bands"];
}) {
  const { name, unit, decimals, class: kind } = item;
  const calendarSpan = kind === "gauge" || per === "reading" ? null : per;
  const valueOf = kind === "counter" ? (calendarSpan ? VALUES.increase : VALUES.last) : calendarSpan ? VALUES.sum : VALUES.mean;
  const what = useMemo(() => ({ measurement: [name] }), [name]);
  const query = useSeries(what, devices, calendarSpan, valueOf);
  const title = measurementLabel(item) + (unit ? `, ${unit}` : "") + (calendarSpan ? `, ${SPAN_WORDS[calendarSpan]}` : "");
  return <ChartCard title={title} groupId={groupId} operation="GET /device/series" query={query} unit={unit} decimals={decimals} marks={marks} bands={bands} />;
}

export function PathChart({
  groupId,
  number,
  devices,
  marks,
  onRemove,
}: {
  groupId: string;
  number: NumberSeries;
  devices: readonly ChartDevice[];
  marks: readonly SeriesMark[];
  onRemove: () => void;
}) {
  const { path, kind } = number;
  const what = useMemo(() => ({ path, kind: kind as Schemas["RecordKind"] }), [path, kind]); // the service refuses others
  const query = useSeries(what, devices, null, VALUES.mean);
  const remove = (
    <button type="button" className="link" aria-label={t("RemoveLabel", { label: number.label })} onClick={onRemove}>
      {t("Remove")}
    </button>
  );
  return <ChartCard title={number.label} groupId={groupId} operation="GET /device/series" query={query} marks={marks} actions={remove} />;
}
