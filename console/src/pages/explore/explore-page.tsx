// Values of a whole group as one, or of some devices side by side, over any time.
import { useCallback, useMemo, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { Guarded } from "~/frame/guarded";
import { GroupLine } from "~/frame/group-name";
import { useRange, useScope, useZone } from "~/frame/page-state";
import { ChartCard } from "~/measurements/chart-card";
import { calendarSpans, SPAN_WORDS } from "~/measurements/drawing";
import { groupMeasurementsQuery, type NamedMeasurement } from "~/measurements/group-measurements";
import { MeasurementsChoice } from "~/measurements/picker";
import { RangeButtons } from "~/measurements/range-buttons";
import { StateHistory } from "~/measurements/state-history";
import { measurementLabel } from "~/measurements/values";
import { DevicesField, useDeviceNames } from "~/pages/devices/device-picker";
import { ShareButton } from "~/share/share-dialog";
import { isRelative, spanOf } from "~/time";
import type { CalendarSpan } from "~/ui/chart-data";
import { copyText } from "~/ui/copy";
import { Button } from "~/ui/button";
import { Select } from "~/ui/field";
import { Card, PageHeader } from "~/ui/page";
import { Empty, QueryView } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { Contributions } from "./contributions";
import { chosenOf, isAdded, sharedChart, useExplored, type ExploreDevice } from "./queries";
import { COMBINATIONS, DEVICES_MAX, MEASUREMENTS_MAX, OFS, type ExploreSearch } from "./search";
import { ViewsMenu } from "./views-menu";
import { t } from "~/messages/explore";
import "./explore.css";

const route = getRouteApi("/frame/g/$groupId/explore");

const OF_LABELS: Record<(typeof OFS)[number], string> = { mean: t("Mean"), min: t("Smallest"), max: t("Largest"), last: t("Last") };
const COMBINE_LABELS: Record<(typeof COMBINATIONS)[number], string> = { sum: t("Sum"), mean: t("Mean"), min: t("Smallest"), max: t("Largest") };
const COMBINE_WORDS: Readonly<Record<string, (count: number) => string>> = {
  sum: (count) => t("sumOfCountDevices", { count }),
  mean: (count) => t("meanOfCountDevices", { count }),
  min: (count) => t("smallestOfCountDevices", { count }),
  max: (count) => t("largestOfCountDevices", { count }),
};
const OF_WORDS: Readonly<Record<string, string>> = { min: t("smallestValue"), max: t("largestValue"), last: t("lastValue") };

type SetSearch = (change: Partial<ExploreSearch>) => void;

function usual<Key extends string>(label: string, keys: readonly Key[], labels: Record<Key, string>): readonly (readonly [string, string])[] {
  return [["", label] as const, ...keys.map((each) => [each, labels[each]] as const)];
}

// "sum of 5 devices", where it is of more than one.
function groupNote(combine: string, points: readonly { devices: number }[]): string | undefined {
  const devices = Math.max(0, ...points.map((each) => each.devices));
  if (devices === 0) return undefined;
  return COMBINE_WORDS[combine]?.(devices) ?? t("ofCountDevices", { count: devices });
}

function ExploreChart({
  groupId,
  groupName,
  item,
  devices,
  search,
  set,
}: {
  groupId: string;
  groupName: string;
  item: NamedMeasurement;
  devices: readonly ExploreDevice[];
  search: ExploreSearch;
  set: SetSearch;
}) {
  const { span } = useRange();
  const { usual: usualSpan, possible } = calendarSpans(span.end - span.begin);
  const isBars = isAdded(item, search);
  const wanted = search.per && possible.includes(search.per) ? search.per : undefined;
  const calendarSpan: CalendarSpan | null = wanted ?? (isBars ? usualSpan : null);
  const query = useExplored(groupId, groupName, item, devices, search, calendarSpan);
  const { data } = query;
  const isGroup = devices.length === 0;
  const isSum = isBars && (!isGroup || data?.answer.combine === "sum");
  const words = [item.unit, search.of && OF_WORDS[search.of], calendarSpan && SPAN_WORDS[calendarSpan]].filter(Boolean);
  const title = [measurementLabel(item), ...words].join(", ");
  const note = data && isGroup ? groupNote(data.answer.combine, data.answer.points ?? []) : undefined;
  return (
    <ChartCard title={title} groupId={groupId} operation="GET /group/series" query={query} unit={item.unit} decimals={item.decimals} isTotal={isSum} note={note} hasTable>
      {isGroup && <Contributions item={item} query={data?.query} isSum={isSum} onDraw={(device) => set({ device })} />}
    </ChartCard>
  );
}

// States do not add up: some of the devices that have them are drawn instead.
function StatesOfGroup({ groupId, item, type, onDraw }: { groupId: string; item: NamedMeasurement; type: string | undefined; onDraw: (ids: string[]) => void }) {
  const mayList = useMay(groupId, "GET /devices");
  const { withBelow } = useScope();
  const draw = async () => {
    const query = { groupId, subgroups: withBelow, type, where: [`${item.name}!=null`], sort: "name" as const, limit: DEVICES_MAX };
    const { items } = await read(api.GET("/devices", { params: { query } }));
    if (items.length > 0) onDraw(items.map((each) => each.deviceId));
    else showToast(t("NoDeviceHereHasValueOf", { item: measurementLabel(item) }));
  };
  const failed = (error: unknown) => void showToast(error instanceof Error ? error.message : String(error), { tone: "bad" });
  return (
    <Card title={measurementLabel(item)}>
      <Empty text={t("StatesAreShownDeviceByDevice")} action={mayList && <Button onClick={() => void draw().catch(failed)}>{t("DrawUpToCountDevices", { count: DEVICES_MAX })}</Button>} />
    </Card>
  );
}

function Charts({ items, chosen, search, set, groupId }: { items: readonly NamedMeasurement[]; chosen: readonly string[]; search: ExploreSearch; set: SetSearch; groupId: string }) {
  const group = useQuery(groupQuery(groupId));
  const ids = search.device ?? [];
  const names = useDeviceNames(groupId, ids);
  const devices = useMemo(() => ids.map((id, index) => ({ id, name: names[index] ?? id })), [ids.join(" "), names.join(" ")]);
  const known = new Map(items.map((each) => [each.name, each]));
  if (items.length === 0) return <Empty text={t("devicesOfThisGroupHaveMeasured")} />;
  return (
    <>
      {chosen.map((name) => {
        const item = known.get(name);
        if (!item)
          return (
            <Card key={name} title={name}>
              <Empty text={t("NoDeviceHereHasMeasurementName", { name })} />
            </Card>
          );
        if (item.class !== "state") return <ExploreChart key={name} groupId={groupId} groupName={group.data?.name ?? ""} item={item} devices={devices} search={search} set={set} />;
        if (devices.length > 0) return <StateHistory key={name} groupId={groupId} item={item} devices={devices} />;
        return <StatesOfGroup key={name} groupId={groupId} item={item} type={search.type} onDraw={(device) => set({ device })} />;
      })}
    </>
  );
}

function Explore() {
  const { groupId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { range, span, setRange } = useRange();
  const { possible } = calendarSpans(span.end - span.begin);
  const { withBelow } = useScope();
  const query = useQuery(groupMeasurementsQuery(groupId, withBelow));
  const set = useCallback<SetSearch>((change) => void navigate({ search: (before) => ({ ...before, ...change }) }), [navigate]);
  const zone = useZone();
  const groupName = useQuery(groupQuery(groupId)).data?.name;
  const [isCopied, setCopied] = useState(false);
  const copyLink = async () => {
    if (!(await copyText(window.location.href))) return void showToast(t("ThisBrowserDoesNotLetPages"), { tone: "bad" });
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  const freeze = () => {
    const { begin, end } = spanOf(range, Date.now());
    setRange({ from: new Date(begin).toISOString(), to: new Date(end).toISOString() });
  };
  return (
    <>
      <PageHeader
        title={t("Explore")}
        above={<GroupLine groupId={groupId} />}
        actions={
          <>
            {isRelative(range) && (
              <Button onClick={freeze} title={t("KeepsTheseTimesInsteadOfMoving")}>
                {t("FreezeRange")}
              </Button>
            )}
            <Button onClick={() => void copyLink()}>
              <span aria-live="polite">{isCopied ? t("Copied") : t("CopyLink")}</span>
            </Button>
            <ViewsMenu groupId={groupId} />
            {query.data && query.data.length > 0 && (
              <ShareButton groupId={groupId} name={t("groupValues", { group: groupName ?? t("Group") })} about={t("linkToTheseChartsWhichAlways")} view={() => ({ chart: sharedChart(search, query.data, range, zone, withBelow) })} />
            )}
          </>
        }
      />
      <QueryView query={query} operation="GET /group/measurements" groupId={groupId} noun="group">
        {(all) => {
          const isGroup = !search.device;
          const { items, chosen } = chosenOf(search, all);
          const types = [...new Set(all.map((each) => each.type))].sort();
          return (
            <>
              <div className="chart-head explore-controls">
                <MeasurementsChoice
                  groupId={groupId}
                  type={isGroup ? search.type : undefined}
                  label={t("Measurements")}
                  chosen={chosen}
                  max={MEASUREMENTS_MAX}
                  onChange={(names) => set({ measurement: names.length > 0 ? names : undefined })}
                />
                <DevicesField
                  groupId={groupId}
                  label={t("Devices")}
                  noneLabel={t("AllAsOne")}
                  error={undefined}
                  ids={search.device ?? []}
                  max={DEVICES_MAX}
                  onChange={(ids) => set({ device: ids.length > 0 ? [...ids] : undefined })}
                />
                <RangeButtons />
                {isGroup && types.length > 1 && <Select label={t("Type")} options={[["", t("AnyType")], ...types.map((each) => [each, each] as const)]} value={search.type ?? ""} onChange={(event) => set({ type: event.target.value || undefined })} />}
                <Select label={t("Spans")} options={usual(t("AsFits"), possible, SPAN_WORDS)} value={search.per && possible.includes(search.per) ? search.per : ""} onChange={(event) => set({ per: (event.target.value || undefined) as ExploreSearch["per"] })} />
                <Select label={t("Value")} options={usual(t("AsFits"), OFS, OF_LABELS)} value={search.of ?? ""} onChange={(event) => set({ of: (event.target.value || undefined) as ExploreSearch["of"] })} />
                {isGroup && (
                  <Select label={t("Together")} options={usual(t("AsFits"), COMBINATIONS, COMBINE_LABELS)} value={search.combine ?? ""} onChange={(event) => set({ combine: (event.target.value || undefined) as ExploreSearch["combine"] })} />
                )}
              </div>
              <Charts items={items} chosen={chosen} search={search} set={set} groupId={groupId} />
            </>
          );
        }}
      </QueryView>
    </>
  );
}

export function ExplorePage() {
  const { groupId } = route.useParams();
  return (
    <Guarded groupId={groupId} operation="GET /group/series" title={t("Explore")}>
      <Explore key={groupId} />
    </Guarded>
  );
}
