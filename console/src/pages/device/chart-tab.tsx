// Every number that the device sends, as a series to tick; each has a chart and a scale of its own.
import { useMemo } from "react";
import { useQuery } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { useRange } from "~/frame/page-state";
import { bucketSeconds, momentOf } from "~/time";
import { Checkbox } from "~/ui/field";
import { seriesStyle, usualStep } from "~/ui/chart-data";
import { Card } from "~/ui/page";
import { Series, type SeriesMark } from "~/ui/series";
import { Empty, ErrorState, QueryView } from "~/ui/state";
import { findNumbers, seriesOf, type NumberSeries } from "./numbers";
import type { Device } from "./queries";
import type { DeviceSearch } from "./search";

const SAMPLE_ITEMS = 100;
const TICKED_FIRST = 2;

function useNumbers(device: Device, begin: number, end: number) {
  return useQuery({
    queryKey: ["device-numbers", device.deviceId, begin, end],
    queryFn: async ({ signal }) => {
      const query = {
        deviceId: device.deviceId,
        beginDate: new Date(begin).toISOString(),
        endDate: new Date(end).toISOString(),
        ascending: false,
        limit: SAMPLE_ITEMS,
      };
      const [data, telemetry] = await Promise.all([
        read(api.GET("/device/data", { params: { query }, signal })),
        read(api.GET("/device/telemetry", { params: { query }, signal })),
      ]);
      return findNumbers(data.items, telemetry.items);
    },
    staleTime: 60_000,
  });
}

const EVENTS_MAX = 500;
const NO_MARKS: readonly SeriesMark[] = [];

// Events of the range, as marks on every chart: a gap in a line often has its reason there.
function useEventMarks(device: Device, begin: number, end: number): readonly SeriesMark[] {
  const mayRead = useMay(device.groupId, "GET /device/event");
  const query = useQuery({
    queryKey: ["device-records", device.deviceId, "marks", begin, end],
    queryFn: async ({ signal }) => {
      const period = { beginDate: new Date(begin).toISOString(), endDate: new Date(end).toISOString() };
      const { items } = await read(api.GET("/device/event", { params: { query: { deviceId: device.deviceId, ...period, ascending: false, limit: EVENTS_MAX } }, signal }));
      return items.flatMap((each) => {
        const at = momentOf(each.timestamp);
        return at === null ? [] : [{ at, label: each.type }];
      });
    },
    enabled: mayRead,
    staleTime: 60_000,
  });
  return query.data ?? NO_MARKS;
}

function NumberChart({ device, number, index, marks }: { device: Device; number: NumberSeries; index: number; marks: readonly SeriesMark[] }) {
  const { span, setRange } = useRange();
  const timeSpan = bucketSeconds(span);
  const query = useQuery({
    queryKey: ["device-series", device.deviceId, number.id, span.begin, span.end],
    queryFn: async ({ signal }) => {
      const found = await read(
        api.GET("/device/series", {
          params: {
            query: {
              deviceId: [device.deviceId],
              path: number.path,
              kind: number.kind as Schemas["RecordKind"], // the service refuses others
              beginDate: new Date(span.begin).toISOString(),
              endDate: new Date(span.end).toISOString(),
              timeSpan,
            },
          },
          signal,
        }),
      );
      return found as Schemas["Series"]; // without a format it is JSON
    },
    refetchInterval: 60_000,
  });
  const answer = query.data;
  const found = typeof answer === "object" && !Array.isArray(answer) ? answer.items[0] : undefined;
  const line = useMemo(() => {
    const points = found?.points ?? [];
    const isBand = points.some((each) => each.min !== each.max);
    return {
      times: points.map((each) => momentOf(each.timestamp) ?? 0),
      values: points.map((each) => each.mean),
      band: isBand ? { low: points.map((each) => each.min), high: points.map((each) => each.max) } : {},
      isBand,
    };
  }, [found]);
  const style = seriesStyle(index);
  const note = [
    line.isBand && "mean, with the smallest and the largest of each span",
    found?.isSampled && `a sample: ${(found.lookedAt ?? 0).toLocaleString("en")} records were read`,
  ]
    .filter(Boolean)
    .join("; ");
  return (
    <Card title={number.label} note={note || undefined}>
      {query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} operation="GET /device/series" groupId={device.groupId} />
      ) : (
        <Series
          label={number.label}
          look="lines"
          times={line.times}
          bucketMs={usualStep(line.times, timeSpan * 1_000)}
          span={span}
          isLoading={query.isPending}
          height={150}
          marks={marks}
          series={[{ id: number.id, label: number.label, color: style.color, dash: style.dash, values: line.values, ...line.band }]}
          onRange={(next) => setRange({ from: new Date(next.begin).toISOString(), to: new Date(next.end).toISOString() })}
          onBack={() => history.back()}
        />
      )}
    </Card>
  );
}

export function ChartTab({ device, search, set }: { device: Device; search: DeviceSearch; set: (change: Partial<DeviceSearch>) => void }) {
  const { span } = useRange();
  const numbers = useNumbers(device, span.begin, span.end);
  const marks = useEventMarks(device, span.begin, span.end);
  return (
    <QueryView query={numbers} operation="GET /device/data" groupId={device.groupId} noun="device">
      {(found) => {
        const chosen = search.series ?? found.slice(0, TICKED_FIRST).map((each) => each.id);
        const shown = chosen.flatMap((id) => found.find((each) => each.id === id) ?? seriesOf(id) ?? []);
        const all = [...found, ...shown.filter((each) => !found.some((known) => known.id === each.id))];
        const toggle = (id: string) => {
          const next = chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id];
          set({ series: next.length > 0 ? next : undefined });
        };
        if (all.length === 0) return <Empty text="No number was found in the data of this range. Choose a longer one above." />;
        return (
          <>
            <div className="filters" role="group" aria-label="Numbers on the chart">
              {all.map((each) => (
                <Checkbox key={each.id} label={each.label} checked={chosen.includes(each.id)} onChange={() => toggle(each.id)} />
              ))}
            </div>
            {shown.map((each) => (
              <NumberChart key={each.id} device={device} number={each} index={all.findIndex((known) => known.id === each.id)} marks={marks} />
            ))}
          </>
        );
      }}
    </QueryView>
  );
}
