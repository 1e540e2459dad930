// What the device measures over time: each measurement has a chart and a scale of its own, in which
// other devices can stand beside this one.
import { useMemo, useState, type FormEvent } from "react";
import { useQuery } from "@tanstack/react-query";
import { alarmBandsQuery } from "~/alarms/queries";
import { SEVERITY_TONES, alarmWords, type Alarm, type FindMeasurement, type Severity } from "~/alarms/words";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { useRange } from "~/frame/page-state";
import { calendarSpans, SPAN_WORDS } from "~/measurements/drawing";
import { RangeButtons } from "~/measurements/range-buttons";
import { StateHistory } from "~/measurements/state-history";
import { deviceValuesQuery, measurementLabel, type DeviceValue } from "~/measurements/values";
import { DevicesField, useDeviceNames } from "~/pages/devices/device-picker";
import { momentOf, spanOf } from "~/time";
import { Button } from "~/ui/button";
import { Checkbox, Select, TextField } from "~/ui/field";
import type { SeriesBand, SeriesMark, SeriesProps } from "~/ui/series";
import { Empty, QueryView } from "~/ui/state";
import { MeasurementChart, PathChart } from "./measurement-chart";
import { seriesOf } from "./numbers";
import type { Device } from "./queries";
import { COMPARED_MAX, KINDS, type DeviceSearch, type Per } from "./search";
import { t } from "~/messages/device";

const TICKED_FIRST = 2;
const EVENTS_MAX = 500;
const NO_VALUES: readonly DeviceValue[] = [];
const NO_MARKS: readonly SeriesMark[] = [];
const PER_LABELS: Record<Per, string> = { ...SPAN_WORDS, reading: t("meterReading") };

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

const ALARM_NOUNS = ["alarm", "alarms"] as const;

function bandOf(alarm: Alarm, find: FindMeasurement): SeriesBand {
  const tone = SEVERITY_TONES[alarm.severity as Severity];
  return { begin: momentOf(alarm.raisedAt) ?? 0, end: momentOf(alarm.resolvedAt), label: alarmWords(alarm, find), tone: tone === "bad" || tone === "warn" ? tone : "idle" };
}

// The alarms of the range on the chart of what they are about; those about no measurement on each.
function useAlarmBands(device: Device, items: readonly DeviceValue[]): (name: string) => SeriesProps["bands"] {
  const { range } = useRange();
  const mayRead = useMay(device.groupId, "GET /group/alarms");
  const query = useQuery({ ...alarmBandsQuery(device.groupId, device.deviceId, range), enabled: mayRead });
  return useMemo(() => {
    const known = new Map(items.map((each) => [each.name, each]));
    const alarms = query.data ?? [];
    const bandsOf = (name: string) => alarms.filter((each) => !each.measurement || each.measurement === name).map((each) => bandOf(each, (wanted) => known.get(wanted)));
    const charts = new Map(items.map(({ name }) => [name, { nouns: ALARM_NOUNS, items: bandsOf(name) }]));
    return (name) => charts.get(name);
  }, [items, query.data]);
}

// Bars that a chart can show; by default there are a few dozen.
function usePer(chosen: Per | undefined): { per: Per; options: readonly (readonly [Per, string])[] } {
  const { span } = useRange();
  const { usual, possible } = calendarSpans(span.end - span.begin);
  const options = [...possible, "reading" as const].map((each) => [each, PER_LABELS[each]] as const);
  return { per: options.some(([each]) => each === chosen) && chosen ? chosen : usual, options };
}

// For numbers that are no measurements: in lists, or deeper in the data.
function OtherPath({ onAdd }: { onAdd: (id: string) => void }) {
  const [path, setPath] = useState("");
  const [kind, setKind] = useState("data");
  const [error, setError] = useState<string | undefined>();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!path.trim().startsWith("/")) return setError(t("pathBeginsWithSlashAsData"));
    onAdd(kind + path.trim());
    setPath("");
    setError(undefined);
  };
  return (
    <details className="more-fields">
      <summary>{t("OtherPath")}</summary>
      <form className="chart-path" onSubmit={submit}>
        <Select label={t("InRecordsOf")} options={KINDS.map((each) => [each, each === "geoloc" ? "geolocation" : each] as const)} value={kind} onChange={(event) => setKind(event.target.value)} />
        <TextField label={t("JSONPointerToNumber")} placeholder="/data/channels/0" value={path} error={error} onChange={(event) => setPath(event.target.value)} />
        <Button type="submit">{t("AddChart")}</Button>
      </form>
    </details>
  );
}

export function ChartTab({ device, search, set }: { device: Device; search: DeviceSearch; set: (change: Partial<DeviceSearch>) => void }) {
  const values = useQuery(deviceValuesQuery(device.deviceId));
  const marks = useEventMarks(device);
  const bandsOf = useAlarmBands(device, values.data ?? NO_VALUES);
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
    <QueryView query={values} operation="GET /device/values" groupId={device.groupId} noun={t("device")}>
      {(items) => {
        const chosen = search.measurement ?? (paths.length > 0 ? [] : items.slice(0, TICKED_FIRST).map((each) => each.name));
        const shown = items.filter((each) => chosen.includes(each.name));
        const toggle = (name: string) => {
          const next = chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name];
          set({ measurement: next.length > 0 ? next : undefined });
        };
        const isBars = shown.some((each) => each.class === "counter" || each.class === "amount");
        return (
          <>
            <div className="chart-head">
              <RangeButtons />
              {isBars && <Select label={t("Consumption")} options={options} value={per} onChange={(event) => set({ per: event.target.value as Per })} />}
              <DevicesField
                groupId={device.groupId}
                label={t("CompareWith")}
                error={undefined}
                ids={compared}
                max={COMPARED_MAX}
                onChange={(ids) => set({ compare: ids.length > 0 ? [...ids] : undefined })}
              />
            </div>
            {items.length > 0 && (
              <div className="filters" role="group" aria-label={t("MeasurementsOnChart")}>
                {items.map((each) => (
                  <Checkbox key={each.name} label={measurementLabel(each)} checked={chosen.includes(each.name)} onChange={() => toggle(each.name)} />
                ))}
              </div>
            )}
            {items.length === 0 && paths.length === 0 && <Empty text={t("ThisDeviceHasMeasuredNothingYet")} />}
            {shown.map((each) =>
              each.class === "state" ? (
                <StateHistory key={each.name} groupId={device.groupId} item={each} devices={devices} />
              ) : (
                <MeasurementChart key={each.name} groupId={device.groupId} item={each} devices={devices} per={per} marks={marks} bands={bandsOf(each.name)} />
              ),
            )}
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
