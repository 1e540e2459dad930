// What the device measures over time: each measurement has a chart and a scale of its own, in which
// other devices can stand beside this one.
import { useMemo, useState, type FormEvent } from "react";
import { useQuery } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { useRange } from "~/frame/page-state";
import { DevicesField, useDeviceNames } from "~/pages/devices/device-picker";
import { momentOf, spanOf } from "~/time";
import { Button } from "~/ui/button";
import { Checkbox, Select, TextField } from "~/ui/field";
import type { SeriesMark } from "~/ui/series";
import { Empty, QueryView } from "~/ui/state";
import { MeasurementChart, PathChart } from "./measurement-chart";
import { seriesOf } from "./numbers";
import type { Device } from "./queries";
import { COMPARED_MAX, KINDS, PERS, type DeviceSearch, type Per } from "./search";
import { deviceValuesQuery, measurementLabel } from "./values";

const TICKED_FIRST = 2;
const EVENTS_MAX = 500;
const DAY_MS = 86_400_000;
const NO_MARKS: readonly SeriesMark[] = [];
const RANGES = [
  ["Day", "now-24h"],
  ["Week", "now-7d"],
  ["Month", "now-30d"],
  ["Year", "now-365d"],
] as const;
const PER_LABELS: Record<Per, string> = { hour: "each hour", day: "each day", week: "each week", month: "each month", reading: "the meter reading" };

// Events of the range, as marks on every chart: a gap in a line often has its reason there.
function useEventMarks(device: Device): readonly SeriesMark[] {
  const { range } = useRange();
  const mayRead = useMay(device.groupId, "GET /device/event");
  const query = useQuery({
    queryKey: ["device-records", device.deviceId, "marks", range],
    queryFn: async ({ signal }) => {
      const { begin, end } = spanOf(range, Date.now());
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

function RangeButtons() {
  const { range, setRange } = useRange();
  return (
    <div className="chart-ranges" role="group" aria-label="Range">
      {RANGES.map(([label, from]) => (
        <Button key={from} aria-pressed={range.to === "now" && range.from === from} onClick={() => setRange({ from, to: "now" })}>
          {label}
        </Button>
      ))}
    </div>
  );
}

// So many bars are told apart; by default there are a few dozen.
function usePer(chosen: Per | undefined): { per: Per; options: readonly (readonly [Per, string])[] } {
  const { span } = useRange();
  const days = (span.end - span.begin) / DAY_MS;
  const options = PERS.filter((each) => each !== "hour" || days <= 14).map((each) => [each, PER_LABELS[each]] as const);
  const usual = days <= 2 ? "hour" : days <= 62 ? "day" : "month";
  return { per: options.some(([each]) => each === chosen) && chosen ? chosen : usual, options };
}

// For numbers that are no measurements: in lists, or deeper in the data.
function OtherPath({ onAdd }: { onAdd: (id: string) => void }) {
  const [path, setPath] = useState("");
  const [kind, setKind] = useState("data");
  const [error, setError] = useState<string | undefined>();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!path.trim().startsWith("/")) return setError("A path begins with a slash, as /data/soil/water does.");
    onAdd(kind + path.trim());
    setPath("");
    setError(undefined);
  };
  return (
    <details className="more-fields">
      <summary>Other path</summary>
      <form className="chart-path" onSubmit={submit}>
        <Select label="In records of" options={KINDS.map((each) => [each, each === "geoloc" ? "geolocation" : each] as const)} value={kind} onChange={(event) => setKind(event.target.value)} />
        <TextField label="JSON pointer to a number" placeholder="/data/channels/0" value={path} error={error} onChange={(event) => setPath(event.target.value)} />
        <Button type="submit">Add a chart</Button>
      </form>
    </details>
  );
}

export function ChartTab({ device, search, set }: { device: Device; search: DeviceSearch; set: (change: Partial<DeviceSearch>) => void }) {
  const values = useQuery(deviceValuesQuery(device.deviceId));
  const marks = useEventMarks(device);
  const compared = search.compare ?? [];
  const names = useDeviceNames(device.groupId, compared);
  const { per, options } = usePer(search.per);
  const devices = useMemo(
    () => [{ id: device.deviceId, name: device.name }, ...compared.map((id, index) => ({ id, name: names[index] ?? id }))],
    [device.deviceId, device.name, compared.join(" "), names.join(" ")],
  );
  const paths = (search.series ?? []).flatMap((id) => seriesOf(id) ?? []);
  const setPaths = (ids: string[]) => set({ series: ids.length > 0 ? ids : undefined });
  return (
    <QueryView query={values} operation="GET /device/values" groupId={device.groupId} noun="device">
      {(items) => {
        const numbers = items.filter((each) => each.class !== "state");
        const chosen = search.measurement ?? (paths.length > 0 ? [] : numbers.slice(0, TICKED_FIRST).map((each) => each.name));
        const shown = numbers.filter((each) => chosen.includes(each.name));
        const toggle = (name: string) => {
          const next = chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name];
          set({ measurement: next.length > 0 ? next : undefined });
        };
        const isBars = shown.some((each) => each.class !== "gauge");
        return (
          <>
            <div className="chart-head">
              <RangeButtons />
              {isBars && <Select label="Consumption" options={options} value={per} onChange={(event) => set({ per: event.target.value as Per })} />}
              <DevicesField
                groupId={device.groupId}
                label="Compare with"
                error={undefined}
                ids={compared}
                max={COMPARED_MAX}
                onChange={(ids) => set({ compare: ids.length > 0 ? [...ids] : undefined })}
              />
            </div>
            {numbers.length > 0 && (
              <div className="filters" role="group" aria-label="Measurements on the chart">
                {numbers.map((each) => (
                  <Checkbox key={each.name} label={measurementLabel(each)} checked={chosen.includes(each.name)} onChange={() => toggle(each.name)} />
                ))}
              </div>
            )}
            {numbers.length === 0 && paths.length === 0 && <Empty text="This device has no measurement with numbers yet." />}
            {shown.map((each) => (
              <MeasurementChart key={each.name} groupId={device.groupId} item={each} devices={devices} per={per} marks={marks} />
            ))}
            {paths.map((each) => (
              <PathChart key={each.id} groupId={device.groupId} number={each} devices={devices} marks={marks} onRemove={() => setPaths((search.series ?? []).filter((id) => id !== each.id))} />
            ))}
            <OtherPath onAdd={(id) => setPaths([...new Set([...(search.series ?? []), id])])} />
          </>
        );
      }}
    </QueryView>
  );
}
