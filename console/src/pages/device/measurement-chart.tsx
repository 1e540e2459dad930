// One measurement of some devices over time: a line for each, or bars of what was added.
import { useMemo, type ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { useRange, useZone } from "~/frame/page-state";
import { stringifySearch } from "~/search";
import { formatTime, momentOf, spanOf, zoneLabel, type Span } from "~/time";
import { calendarTimes, joinSeries, seriesStyle, type CalendarSpan } from "~/ui/chart-data";
import { download } from "~/ui/export";
import { Card } from "~/ui/page";
import { Series, type SeriesMark, type SeriesProps } from "~/ui/series";
import { ErrorState } from "~/ui/state";
import type { NumberSeries } from "./numbers";
import type { Per } from "./search";
import { measurementLabel, valueText, type DeviceValue } from "./values";

type Answer = Schemas["Series"];
type Point = Schemas["SeriesPoint"];

interface ChartDevice {
  readonly id: string;
  readonly name: string;
}

interface SeriesQuery {
  deviceId: string[];
  measurement?: string;
  path?: string;
  kind?: Schemas["RecordKind"];
  beginDate: string;
  endDate: string;
  calendarSpan?: CalendarSpan;
  timezone?: string;
}

interface Found {
  readonly query: SeriesQuery;
  readonly span: Span;
  // The begins of bars.
  readonly times: readonly number[];
  readonly answer: Answer;
}

const LATE_MS = 60_000;
// More than a month.
const LONGEST_SPAN_MS = 40 * 86_400_000;

// Spans of lines are chosen by the service, so that they begin at round times. Bars begin with a whole
// hour, day, week or month.
function useSeries(what: Pick<SeriesQuery, "measurement" | "path" | "kind">, devices: readonly ChartDevice[], calendarSpan: CalendarSpan | null, zone: string) {
  const { range } = useRange();
  const deviceId = devices.map((each) => each.id);
  return useQuery({
    queryKey: ["device-series", what, deviceId, range, calendarSpan, zone],
    queryFn: async ({ signal }): Promise<Found> => {
      const span = spanOf(range, Date.now());
      const times = calendarSpan ? calendarTimes(span.begin, span.end, calendarSpan, zone) : [];
      const query: SeriesQuery = {
        deviceId,
        ...what,
        beginDate: new Date(times[0] ?? span.begin).toISOString(),
        endDate: new Date(span.end).toISOString(),
        ...(calendarSpan ? { calendarSpan, timezone: zoneLabel(zone) } : {}),
      };
      const answer = await read(api.GET("/device/series", { params: { query }, signal }));
      if (typeof answer !== "object" || Array.isArray(answer)) throw new Error("The service answered in another format.");
      return { query, span, times, answer };
    },
    refetchInterval: 60_000,
  });
}

type Drawing = Pick<SeriesProps, "times" | "series" | "ends" | "look" | "title" | "isWhole">;

function pointsOf({ answer }: Found, { id }: ChartDevice): Point[] {
  return answer.items.find((each) => each.deviceId === id)?.points ?? [];
}

// The mean of each span; of a single device the smallest and the largest value as well.
function drawLines(found: Found, devices: readonly ChartDevice[], valueOf: (point: Point) => number): Drawing {
  const all = devices.map((device) => pointsOf(found, device).map((point) => ({ at: momentOf(point.timestamp) ?? 0, point })));
  const { times, columns } = joinSeries(all, (found.answer.timeSpan ?? 0) * 1_000);
  const hasBand = devices.length === 1 && all[0]?.some(({ point }) => point.min !== point.max);
  const series = devices.map((device, index) => {
    const column = columns[index] ?? [];
    const pick = (value: (point: Point) => number) => column.map((each) => (each ? value(each.point) : each));
    const band = hasBand ? { low: pick((each) => each.min), high: pick((each) => each.max) } : {};
    return { id: device.id, label: device.name, ...seriesStyle(index), values: pick(valueOf), ...band };
  });
  return { look: "lines", times, series };
}

const TITLES: Record<CalendarSpan, (begin: number, zone: string) => string> = {
  hour: (begin, zone) => formatTime(begin, zone, "minute"),
  day: (begin, zone) => formatTime(begin, zone, "day"),
  week: (begin, zone) => `week from ${formatTime(begin, zone, "day")}`,
  month: (begin, zone) => formatTime(begin, zone, "day").replace(/^\d+ /, ""),
};

// A span without values has no bar, which differs from a bar of zero.
function drawBars(found: Found, devices: readonly ChartDevice[], calendarSpan: CalendarSpan, zone: string, valueOf: (point: Point) => number): Drawing {
  const { times } = found;
  const last = times[times.length - 1] ?? 0;
  const next = calendarTimes(last, last + LONGEST_SPAN_MS, calendarSpan, zone)[1] ?? last;
  const series = devices.map((device, index) => {
    const values = new Map(pointsOf(found, device).map((each) => [momentOf(each.timestamp), valueOf(each)]));
    return { id: device.id, label: device.name, ...seriesStyle(index), values: times.map((each) => values.get(each) ?? null) };
  });
  return { look: "bars", times, ends: [...times.slice(1), next], series, isWhole: false, title: (begin) => TITLES[calendarSpan](begin, zone) };
}

// What must be known to read the figures right.
function notesOf({ answer, span }: Found, drawing: Drawing, devices: readonly ChartDevice[], unit: string | undefined, text: (value: number) => string): string[] {
  const isBars = drawing.look === "bars";
  const shown = answer.items.filter((each) => devices.some(({ id }) => id === each.deviceId));
  const total = drawing.series.flatMap((each) => each.values).reduce<number>((sum, each) => sum + (each ?? 0), 0);
  const gaps = isBars ? shown.flatMap((each) => each.points).filter((each) => each.hasGap).length : 0;
  const completeUntil = momentOf(answer.completeUntil);
  const sampled = shown.find((each) => each.isSampled);
  return [
    isBars && drawing.series.some((each) => each.values.some((value) => value !== null)) && `${text(total)}${unit ? ` ${unit}` : ""} in all`,
    drawing.series.some((each) => each.low) && "mean, with the smallest and the largest of each span",
    gaps > 0 && `${gaps === 1 ? "1 bar includes" : `${gaps.toLocaleString("en")} bars include`} what was added while no values arrived`,
    completeUntil !== null && completeUntil < span.end - LATE_MS && `counted until ${new Date(completeUntil).toISOString()}`,
    sampled && `a sample: ${(sampled.lookedAt ?? 0).toLocaleString("en")} records were read`,
  ].filter((each) => typeof each === "string");
}

function ChartCard({
  title,
  groupId,
  query,
  drawing,
  unit,
  format,
  devices,
  marks,
  actions,
}: {
  title: string;
  groupId: string;
  query: ReturnType<typeof useSeries>;
  drawing: Drawing;
  unit?: string | undefined;
  format?: ((value: number) => string) | undefined;
  devices: readonly ChartDevice[];
  marks: readonly SeriesMark[];
  actions?: ReactNode;
}) {
  const { setRange } = useRange();
  const notes = query.data ? notesOf(query.data, drawing, devices, unit, format ?? valueText) : [];
  const save = () => {
    if (query.data) download(`/device/series${stringifySearch({ ...query.data.query, format: "csv" })}`);
  };
  return (
    <Card
      title={title}
      note={
        <>
          {notes.join("; ")}{" "}
          <button type="button" className="link" aria-label={`Download CSV of ${title}`} onClick={save}>
            Download CSV
          </button>{" "}
          {actions}
        </>
      }
    >
      {query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} operation="GET /device/series" groupId={groupId} />
      ) : (
        <Series
          {...drawing}
          label={title}
          span={query.data?.span}
          isLoading={query.isPending}
          height={drawing.look === "bars" ? 180 : 150}
          unit={unit}
          format={format}
          marks={marks}
          onRange={(next) => setRange({ from: new Date(next.begin).toISOString(), to: new Date(next.end).toISOString() })}
          onBack={() => history.back()}
        />
      )}
    </Card>
  );
}

const NOTHING: Drawing = { look: "lines", times: [], series: [] };

export function MeasurementChart({
  groupId,
  item,
  devices,
  per,
  marks,
}: {
  groupId: string;
  item: DeviceValue;
  devices: readonly ChartDevice[];
  per: Per;
  marks: readonly SeriesMark[];
}) {
  const zone = useZone();
  const { name, unit, decimals, class: kind } = item;
  const calendarSpan = kind === "gauge" || per === "reading" ? null : per;
  const query = useSeries({ measurement: name }, devices, calendarSpan, zone);
  const found = query.data;
  const drawing = useMemo(() => {
    if (!found) return NOTHING;
    if (calendarSpan) return drawBars(found, devices, calendarSpan, zone, (each) => (kind === "counter" ? (each.increase ?? 0) : each.sum));
    return drawLines(found, devices, (each) => (kind === "counter" ? each.last : each.mean));
  }, [found, devices, calendarSpan, zone, kind]);
  const words = { hour: "each hour", day: "each day", week: "each week", month: "each month" };
  const title = measurementLabel(item) + (unit ? `, ${unit}` : "") + (calendarSpan ? `, ${words[calendarSpan]}` : "");
  const format = useMemo(() => (decimals === undefined ? undefined : (value: number) => valueText(value, decimals)), [decimals]);
  return <ChartCard title={title} groupId={groupId} query={query} drawing={drawing} unit={unit} format={format} devices={devices} marks={marks} />;
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
  const zone = useZone();
  const what = { path: number.path, kind: number.kind as Schemas["RecordKind"] }; // the service refuses others
  const query = useSeries(what, devices, null, zone);
  const found = query.data;
  const drawing = useMemo(() => (found ? drawLines(found, devices, (each) => each.mean) : NOTHING), [found, devices]);
  const remove = (
    <button type="button" className="link" aria-label={`Remove ${number.label}`} onClick={onRemove}>
      Remove
    </button>
  );
  return <ChartCard title={number.label} groupId={groupId} query={query} drawing={drawing} devices={devices} marks={marks} actions={remove} />;
}
