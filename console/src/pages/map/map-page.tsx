// Where the devices of a group are, beside a list of those that are in the frame.
import { useCallback, useEffect, useMemo, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import type { Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { Guarded } from "~/frame/guarded";
import { boundsOf, formatView, isInBounds, isInside, parseView, type Bounds, type Place, type View } from "~/map/geometry";
import { Lasso } from "~/map/lasso";
import { MapView, boundsInView, useLeaflet } from "~/map/map-view";
import { PointLayer, type MapPoint } from "~/map/point-layer";
import { BulkBar } from "~/pages/devices/bulk-bar";
import { DeviceFilters } from "~/pages/devices/device-filters";
import { NO_FILTER, NoDevice, chipsOf } from "~/pages/devices/no-device";
import type { DevicesSearch } from "~/pages/devices/search";
import { silentSince } from "~/pages/devices/device-state";
import { byName, groupMeasurementsQuery } from "~/measurements/group-measurements";
import { measurementLabel, valueText } from "~/measurements/values";
import { ShareButton } from "~/share/share-dialog";
import { ago, distanceWords } from "~/time";
import { useShortcuts } from "~/ui/keys";
import { nameOr } from "~/ui/name";
import { PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { useSelection } from "~/ui/selection";
import { Empty, ErrorState, Loading, NoMatch } from "~/ui/state";
import { Table, type Column } from "~/ui/table";
import { useNow } from "~/ui/time-text";
import { GroupName } from "~/pages/devices/devices-page";
import { DEVICES_MAX, mapDevicesQuery, positionsQuery } from "./queries";
import { DeviceCard } from "./device-card";
import { Geofences } from "./geofences";
import { place, type LabelOf } from "./points";
import type { MapSearch } from "./search";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/map";
import "~/pages/devices/devices.css";
import "./map-page.css";

type Device = Schemas["Device"];

const route = getRouteApi("/frame/g/$groupId/map");
const NO_DEVICES: readonly Device[] = [];
// In the address; no measurement is called so.
const NO_LABEL = "-";

function filterOnly({ q, type, network, tag, seen, battery, own }: MapSearch): DevicesSearch {
  return { q, type, network, tag, seen, battery, own };
}

function Seen({ device }: { device: Device }) {
  const now = useNow();
  const since = silentSince(device, now);
  if (since !== null) return <Pill tone="warn">{t("silentFor", { time: distanceWords(now - since) })}</Pill>;
  return <span className="ink-2">{device.seenAt ? ago(device.seenAt, now) : t("neverSeen")}</span>;
}

const COLUMNS: readonly Column<Device>[] = [
  {
    id: "name",
    head: t("Device"),
    width: "minmax(0, 1fr)",
    card: "title",
    cell: (device) => (
      <Link to="/d/$deviceId" params={{ deviceId: device.deviceId }} className="row-link" title={device.name}>
        {nameOr(device.name, device.deviceId)}
      </Link>
    ),
  },
  { id: "seen", head: t("LastSeen"), width: "124px", card: "line", cell: (device) => <Seen device={device} /> },
];

// Reports to the page what the map shows, after every move.
function FrameWatch({ onFrame }: { onFrame: (bounds: Bounds) => void }) {
  const map = useLeaflet();
  useEffect(() => {
    const report = () => onFrame(boundsInView(map));
    report();
    map.on("moveend resize", report);
    return () => void map.off("moveend resize", report);
  }, [map, onFrame]);
  return null;
}

function Unplaced({ count, groupId, search }: { count: number; groupId: string; search: DevicesSearch }) {
  if (count === 0) return null;
  return (
    <Link to="/g/$groupId/devices" params={{ groupId }} search={search} className="map-unplaced">
      {t("countDevicesHaveNoPosition", { count })}
    </Link>
  );
}

// The current value below each point, as the device's type has its unit; the name, if nothing else is asked for.
function useLabelOf(groupId: string, label: string | undefined): LabelOf {
  const measured = useQuery({ ...groupMeasurementsQuery(groupId), enabled: label !== undefined && label !== NO_LABEL });
  const known = measured.data;
  return useCallback(
    (device: Device) => {
      if (label === undefined) return nameOr(device.name, device.deviceId);
      const found = device.values?.[label];
      if (found === undefined) return undefined;
      const about = known?.find((each) => each.type === device.type && each.name === label);
      const text = valueText(found.value, about?.decimals);
      return about?.unit ? `${text} ${about.unit}` : text;
    },
    [label, known],
  );
}

function LabelChoice({ groupId, label, onChange }: { groupId: string; label: string | undefined; onChange: (label: string | undefined) => void }) {
  const measured = useQuery(groupMeasurementsQuery(groupId));
  const items = byName(measured.data ?? []).filter((each) => each.devices > 0);
  const isUnknown = label !== undefined && label !== NO_LABEL && !items.some((each) => each.name === label);
  return (
    <select className="input map-label-choice" aria-label={t("BelowPoints")} value={label ?? ""} onChange={(event) => onChange(event.target.value || undefined)}>
      <option value="">{t("Names")}</option>
      {items.map((each) => (
        <option key={each.name} value={each.name}>
          {measurementLabel(each)}
        </option>
      ))}
      {isUnknown && <option value={label}>{label}</option>}
      <option value={NO_LABEL}>{t("NoLabels")}</option>
    </select>
  );
}

function useMapData(groupId: string, search: MapSearch) {
  const filter = useMemo(() => filterOnly(search), [JSON.stringify(filterOnly(search))]); // eslint-disable-line react-hooks/exhaustive-deps
  const positions = useQuery(positionsQuery(groupId, !search.own));
  const isValue = search.label !== undefined && search.label !== NO_LABEL;
  const shown = useMemo(() => (isValue ? { ...filter, values: [search.label as string] } : filter), [filter, isValue, search.label]);
  const devices = useQuery(mapDevicesQuery(groupId, shown));
  const labelOf = useLabelOf(groupId, search.label);
  const known = useMemo(() => (devices.data ? new Map(devices.data.map((each) => [each.deviceId, each])) : null), [devices.data]);
  const isFiltered = [filter.q, filter.type, filter.network, filter.tag, filter.seen, filter.battery].some(Boolean);
  const placed = useMemo(
    () => place(positions.data ?? [], known, isFiltered, Date.now(), labelOf),
    [positions.data, known, isFiltered, labelOf],
  );
  return { filter, positions, devices, known, isFiltered, ...placed };
}

function NothingInFrame(props: { groupId: string; search: MapSearch; set: (change: Partial<DevicesSearch>) => void; hasPoints: boolean; hasDevices: boolean }) {
  const { groupId, search, set } = props;
  const chips = chipsOf(search, set);
  if (props.hasPoints) return <Empty text={t("NoDeviceIsInFrame")} />;
  if (props.hasDevices) return <Empty text={t("NoneOfTheseDevicesHasSent")} />;
  if (chips.length > 0) return <NoMatch chips={chips} onClear={() => set(NO_FILTER)} />;
  return (
    <NoDevice groupId={groupId}>
      <Empty text={t("DevicesAreShownHereWhereThey")} />
    </NoDevice>
  );
}

function Positions() {
  const { groupId } = route.useParams();
  const search = route.useSearch();
  const setSearch = route.useNavigate();
  const navigate = useNavigate();
  const { filter, positions, devices, known, points, unplaced } = useMapData(groupId, search);
  const [frame, setFrame] = useState<Bounds | null>(null);
  const [isDrawing, setDrawing] = useState(false);
  const [held, setHeld] = useState<ReadonlySet<string>>(new Set());
  const selection = useSelection();
  const mayReadValues = useMay(groupId, "GET /group/measurements");
  const mayNotify = useMay(groupId, "POST /notification");
  const [isFencing, setFencing] = useState(false);
  const [card, setCard] = useState<string | null>(null);
  const cardPoint = card === null ? undefined : points.find((each) => each.id === card);
  const cardDevice = card === null ? undefined : known?.get(card);
  const view = useMemo(() => parseView(search.at), [search.at]);
  // What there is when the page is opened; later positions do not move the map.
  const [fit, setFit] = useState<Bounds | null>(null);
  useEffect(() => setFit(null), [groupId]);
  const hasPoints = points.length > 0;
  useEffect(() => {
    if (hasPoints) setFit((before) => before ?? boundsOf(points));
  }, [hasPoints, groupId]); // eslint-disable-line react-hooks/exhaustive-deps

  const set = useCallback(
    (change: Partial<MapSearch>, replace = false) => void setSearch({ search: (before) => ({ ...before, ...change }), replace }),
    [setSearch],
  );
  const onView = useCallback((next: View) => set({ at: formatView(next) }, true), [set]);
  const open = useCallback((deviceId: string) => void navigate({ to: "/d/$deviceId", params: { deviceId } }), [navigate]);
  const { setKeys, clear } = selection;
  const groupName = useQuery(groupQuery(groupId)).data?.name;
  const onLasso = (outline: readonly Place[]) => {
    setDrawing(false);
    setKeys(points.filter((point) => isInside(point, outline)).map((point) => point.id));
  };
  useShortcuts([{ key: "Escape", label: t("ClearSelection"), run: clear }]);

  const selected = useMemo(
    () => (selection.selection.mode === "keys" ? selection.selection.keys : new Set(points.map((point: MapPoint) => point.id))),
    [selection.selection, points],
  );
  const rows = useMemo(() => {
    if (!frame || !known) return NO_DEVICES;
    return points.filter((point) => isInBounds(point, frame)).flatMap((point) => known.get(point.id) ?? []);
  }, [frame, known, points]);
  const knownRef = useMemo(() => ({ current: known ?? new Map<string, Device>(), add: () => {} }), [known]);
  const all = devices.data ?? NO_DEVICES;
  const error = positions.error ?? devices.error;
  if (error && !positions.data)
    return (
      <>
        <PageHeader title={t("Map")} above={<GroupName groupId={groupId} />} />
        <ErrorState error={error} onRetry={() => void Promise.all([positions.refetch(), devices.refetch()])} operation="GET /group/positions" groupId={groupId} noun="group" />
      </>
    );
  return (
    <>
      <PageHeader
        title={t("Map")}
        above={<GroupName groupId={groupId} />}
        actions={
          hasPoints && (
            <ShareButton groupId={groupId} name={groupName ?? t("Map")} about={t("linkToMapOfAllDevices")} view={() => ({ map: { subgroups: !search.own } })} />
          )
        }
        state={
          <>
            {positions.data && <span className="count">{points.length.toLocaleString(LOCALE)}</span>}
            {unplaced !== null && <Unplaced count={unplaced} groupId={groupId} search={filter} />}
            {all.length >= DEVICES_MAX && <span className="ink-2">{t("firstDevicesAreShown", { count: DEVICES_MAX })}</span>}
          </>
        }
      />
      <DeviceFilters search={search} set={set} rows={all} />
      <div className="map-page">
        <MapView
          label={t("MapOfDevices")}
          view={view}
          fit={fit}
          onView={onView}
          controls={
            <>
              <button type="button" className="button button-normal map-lasso-button" aria-pressed={isDrawing} onClick={() => setDrawing(!isDrawing)}>
                {isDrawing ? t("DrawAroundDevices") : t("SelectArea")}
              </button>
              {mayNotify && (
                <button type="button" className="button button-normal" aria-pressed={isFencing} onClick={() => setFencing(!isFencing)}>
                  {t("NewGeofence")}
                </button>
              )}
              {mayReadValues && <LabelChoice groupId={groupId} label={search.label} onChange={(label) => set({ label })} />}
            </>
          }
        >
          <PointLayer points={points} selected={selected} onOpen={setCard} onStack={setKeys} />
          {cardPoint && cardDevice && <DeviceCard key={cardPoint.id} device={cardDevice} place={cardPoint} groupId={groupId} onClose={() => setCard(null)} />}
          <Geofences groupId={groupId} isDrawing={isFencing} onDrawn={() => setFencing(false)} />
          <FrameWatch onFrame={setFrame} />
          {isDrawing && <Lasso onDrawn={onLasso} onCancel={() => setDrawing(false)} />}
        </MapView>
        <section className="map-list" aria-label={t("DevicesInFrame")}>
          <p className="map-list-head" role="status">
            {devices.data && positions.data ? (
              <>
                {t.rich("shownOfCountInFrame", { shown: <strong className="number">{rows.length.toLocaleString(LOCALE)}</strong>, count: points.length })}
              </>
            ) : (
              t("Loading")
            )}
          </p>
          {devices.isError && !devices.data ? (
            <ErrorState error={devices.error} onRetry={() => void devices.refetch()} operation="GET /devices" groupId={groupId} noun="group" />
          ) : !devices.data || !positions.data ? (
            <Loading rows={8} />
          ) : rows.length > 0 ? (
            <Table
              label={t("DevicesInFrame")}
              rows={rows}
              columns={COLUMNS}
              rowKey={(device) => device.deviceId}
              selection={selection}
              onOpen={(device) => open(device.deviceId)}
              rowClass={(device) => (held.has(device.deviceId) ? "row-held" : undefined)}
            />
          ) : (
            <NothingInFrame groupId={groupId} search={search} set={set} hasPoints={points.length > 0} hasDevices={all.length > 0} />
          )}
        </section>
      </div>
      <BulkBar groupId={groupId} search={filter} selection={selection} known={knownRef} total={all.length} totalIsMore={false} rows={rows} held={held} onHeld={setHeld} />
    </>
  );
}

export function MapPage() {
  const { groupId } = route.useParams();
  return (
    <Guarded groupId={groupId} operation="GET /group/positions" title={t("Map")}>
      <Positions />
    </Guarded>
  );
}
