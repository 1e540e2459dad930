// The devices of a group: found, filtered, sorted, selected, and changed many at a time.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { Guarded } from "~/frame/guarded";
import { useMay } from "~/api/may";
import { groupQuery, overviewQuery } from "~/api/queries";
import type { Schemas } from "~/api/client";
import { GroupName } from "~/frame/group-name";
import { useScope, useZone } from "~/frame/page-state";
import { byName, groupMeasurementsQuery, type GroupMeasurement } from "~/measurements/group-measurements";
import { measurementLabel, valueText } from "~/measurements/values";
import { SERVICE_URL } from "~/base-path";
import { ShareButton } from "~/share/share-dialog";
import { usePageActions } from "~/ui/actions";
import { Button } from "~/ui/button";
import { useShortcuts } from "~/ui/keys";
import { nameOr } from "~/ui/name";
import { PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { useSelection } from "~/ui/selection";
import { Empty, ErrorState, Loading, NoMatch } from "~/ui/state";
import { Table, type Column } from "~/ui/table";
import { TimeText, useNow } from "~/ui/time-text";
import { Locked } from "~/ui/why";
import { distanceWords, formatTime, momentOf } from "~/time";
import { BulkBar } from "./bulk-bar";
import { BATTERY_LOW_PERCENT, batteryPercent, silentSince } from "./device-state";
import { DeviceFilters } from "./device-filters";
import { DevicesExportDialog } from "./export-dialog";
import { NewDeviceDialog } from "./new-device-dialog";
import { NO_FILTER, NoDevice, chipsOf } from "./no-device";
import { devicesQuery, type Device } from "./queries";
import { nextSort, orderOf, sharedList, type DevicesSearch, type Sort } from "./search";
import { ValueFilters } from "./value-filters";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/devices";
import "./devices.css";

const route = getRouteApi("/frame/g/$groupId/devices");
const NONE: readonly GroupMeasurement[] = [];
const LEFT_OUT = new Set(["originalId", "tags"]);

type TimedValue = Schemas["TimedValue"];

export { GroupName };

export function BatteryText({ battery }: { battery: string | null | undefined }) {
  const percent = batteryPercent(battery);
  if (percent === null) return <span className="ink-3">{battery || "–"}</span>;
  if (percent >= BATTERY_LOW_PERCENT) return <>{Math.floor(percent)} %</>;
  return (
    <span className="battery-low">
      <span aria-hidden="true">▲</span> {Math.floor(percent)} % <span className="visually-hidden">{t("low")}</span>
    </span>
  );
}

export function LastSeen({ device }: { device: Device }) {
  const now = useNow();
  const since = silentSince(device, now);
  if (since === null)
    return (
      <span className="last-seen">
        <TimeText at={device.seenAt} withAgo precision="minute" none={t("never")} />
      </span>
    );
  return (
    <span className="last-seen">
      <Pill tone="warn">{t("silentFor", { length: distanceWords(now - since) })}</Pill>{" "}
      {device.seenAt ? <TimeText at={device.seenAt} precision="minute" /> : <span className="ink-3">{t("neverSeen")}</span>}
    </span>
  );
}

function Tags({ tags }: { tags: readonly string[] | null | undefined }) {
  if (!tags?.length) return <span className="ink-3">–</span>;
  return (
    <span title={tags.join(", ")}>
      {tags.map((tag) => (
        <span key={tag} className="tag">
          {tag}
        </span>
      ))}
    </span>
  );
}

// A current value with its unit and its age; a dash where there is none.
function CurrentValue({ item, value }: { item: Pick<GroupMeasurement, "name" | "label" | "unit" | "decimals">; value: TimedValue | undefined }) {
  const now = useNow();
  const zone = useZone();
  const moment = momentOf(value?.timestamp);
  return (
    <>
      <span className="value-label">{measurementLabel(item)} </span>
      {value === undefined ? (
        <span className="ink-3">–</span>
      ) : (
        <>
          {valueText(value.value, item.decimals)}
          {item.unit && <span className="ink-2"> {item.unit}</span>}
          {moment !== null && (
            <span className="value-age ink-3" title={formatTime(moment, zone)}>
              {distanceWords(Math.abs(now - moment))}
            </span>
          )}
        </>
      )}
    </>
  );
}

// Of the group and below, where values are shown or compared.
function useKnownMeasurements(groupId: string, { values, where }: DevicesSearch): readonly GroupMeasurement[] {
  const isWanted = values !== undefined || where !== undefined;
  return useQuery({ ...groupMeasurementsQuery(groupId), enabled: isWanted }).data ?? NONE;
}

// Each with what it is called and measured in for the devices of a type, which may differ.
function valueColumns(search: DevicesSearch, known: readonly GroupMeasurement[], sort: (column: Sort) => NonNullable<Column<Device>["sort"]>): Column<Device>[] {
  const first = new Map(byName(known).map((each) => [each.name, each]));
  const ofType = new Map(known.map((each) => [`${each.type} ${each.name}`, each]));
  return (search.values ?? []).map((name) => ({
    id: `value:${name}`,
    head: measurementLabel(first.get(name) ?? { name }),
    width: "minmax(116px, 1fr)",
    align: "end" as const,
    card: "line" as const,
    sort: sort(`value:${name}`),
    cell: (device) => <CurrentValue item={ofType.get(`${device.type} ${name}`) ?? first.get(name) ?? { name }} value={device.values?.[name]} />,
  }));
}

function useColumns(search: DevicesSearch, known: readonly GroupMeasurement[], onSort: (column: Sort) => void): readonly Column<Device>[] {
  return useMemo(() => {
    const sort = (column: Sort) => ({ order: orderOf(search, column), onSort: () => onSort(column) });
    const values = valueColumns(search, known, sort);
    const hasValues = values.length > 0;
    const columns: Column<Device>[] = [
      {
        id: "name",
        head: t("Name"),
        width: "minmax(130px, 2fr)",
        card: "title",
        sort: sort("name"),
        cell: (device) => (
          <Link to="/d/$deviceId" params={{ deviceId: device.deviceId }} className="row-link" title={device.name}>
            {nameOr(device.name, device.deviceId)}
          </Link>
        ),
      },
      { id: "originalId", head: t("OriginalId"), width: "minmax(120px, 1.4fr)", card: "line", cell: (device) => <code title={device.originalId}>{device.originalId}</code> },
      { id: "type", head: t("Type"), width: "minmax(90px, 1fr)", cell: (device) => device.type },
      { id: "group", head: t("Group"), width: "minmax(80px, 1fr)", cell: (device) => <GroupName groupId={device.groupId} /> },
      { id: "tags", head: t("Tags"), width: "minmax(100px, 1.6fr)", cell: (device) => <Tags tags={device.tags} /> },
      ...values,
      { id: "battery", head: t("Battery"), width: "72px", align: "end", sort: sort("battery"), cell: (device) => <BatteryText battery={device.battery} /> },
      { id: "seenAt", head: t("LastSeen"), width: "264px", card: "line", sort: sort("seenAt"), cell: (device) => <LastSeen device={device} /> },
    ];
    // Values need the room of what is the same for years.
    return columns.filter((each) => !hasValues || !LEFT_OUT.has(each.id));
  }, [search, known, onSort]);
}

// What needs attention among the devices that the page is about, each a way to those it counts.
function Attention({ groupId }: { groupId: string }) {
  const maySee = useMay(groupId, "GET /group/overview");
  const { withBelow } = useScope();
  const overview = useQuery({ ...overviewQuery(groupId, withBelow), enabled: maySee });
  const counts = overview.data?.devices;
  if (!counts) return null;
  const filters: readonly (readonly [number | null | undefined, string, DevicesSearch])[] = [
    [counts.silent, t("countSilent", { count: counts.silent ?? 0 }), { seen: "silent" }],
    [counts.batteryLow, t("countWithLowBattery", { count: counts.batteryLow ?? 0 }), { battery: "20" }],
    [counts.never, t("countNeverSeen", { count: counts.never ?? 0 }), { seen: "never" }],
  ];
  return (
    <div className="attention">
      {filters.map(
        ([count, words, search]) =>
          !!count && (
            <Link key={words} to="/g/$groupId/devices" params={{ groupId }} search={search}>
              {words}
            </Link>
          ),
      )}
      {!!overview.data?.unknownDevices && (
        <Link to="/g/$groupId/unknown-devices" params={{ groupId }}>
          {t("unknownDevicesReported", { count: overview.data.unknownDevices })}
        </Link>
      )}
      {!!counts.drifting && (
        <Link to="/g/$groupId/drift" params={{ groupId }}>
          {t("countWithConfigurationDrift", { count: counts.drifting })}
        </Link>
      )}
    </div>
  );
}

// Every device that was loaded, so that a selection is named and undone after scrolling on.
function useKnown(rows: readonly Device[]): { readonly current: ReadonlyMap<string, Device>; add: (devices: readonly Device[]) => void } {
  const known = useRef(new Map<string, Device>());
  const add = useCallback((devices: readonly Device[]) => {
    for (const each of devices) known.current.set(each.deviceId, each);
  }, []);
  useEffect(() => add(rows), [rows, add]);
  return useMemo(() => ({ get current() { return known.current; }, add }), [add]);
}

function Devices() {
  const { groupId } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const setSearch = route.useNavigate();
  const query = useInfiniteQuery(devicesQuery(groupId, search));
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const known = useKnown(rows);
  const selection = useSelection();
  const [held, setHeld] = useState<ReadonlySet<string>>(new Set());
  const [dialog, setDialog] = useState<"new" | "export" | null>(null);
  const groupName = useQuery(groupQuery(groupId)).data?.name;
  const mayCreate = useMay(groupId, "POST /device");
  const mayExport = useMay(groupId, "GET /devices/export");
  const maySeeValues = useMay(groupId, "GET /group/measurements");
  const measurements = useKnownMeasurements(groupId, search);
  const named = useMemo(() => new Map(byName(measurements).map((each) => [each.name, each])), [measurements]);

  const set = useCallback(
    (change: Partial<DevicesSearch>, replace = false) =>
      void setSearch({ search: (before) => ({ ...before, ...change }), replace }),
    [setSearch],
  );
  const onSort = useCallback((column: Sort) => set(nextSort(search, column)), [set, search]);
  const columns = useColumns(search, measurements, onSort);
  const chips = chipsOf(search, set);
  const first = query.data?.pages[0];
  const total = first?.total ?? 0;
  const isMore = first?.totalIsMore ?? false;
  const totalText = `${total.toLocaleString(LOCALE)}${isMore ? "+" : ""}`;

  const { clear } = selection;
  const filterKey = JSON.stringify([groupId, search.q, search.type, search.network, search.tag, search.seen, search.battery, search.own, search.where]);
  useEffect(() => {
    // "All that match" is about the filter it was chosen with.
    if (selection.selection.mode === "all") clear();
  }, [filterKey]); // eslint-disable-line react-hooks/exhaustive-deps
  useShortcuts([{ key: "Escape", label: t("ClearSelection"), run: clear }]);
  usePageActions(mayCreate ? [{ id: "new-device", label: t("NewDevice"), run: () => setDialog("new") }] : []);

  const isFirst = first !== undefined && total === 0 && chips.length === 0;
  return (
    <>
      <PageHeader
        title={t("Devices")}
        above={<GroupName groupId={groupId} />}
        below={<Attention groupId={groupId} />}
        state={first && <span className="count" title={isMore ? t("MoreThanAreCounted") : undefined}>{totalText}</span>}
        actions={
          <>
            {total > 0 && <ShareButton groupId={groupId} name={groupName ?? t("Devices")} about={t("linkToThisListWithIts")} view={() => ({ list: sharedList(search, Date.now()) })} />}
            {mayExport && total > 0 && <Button onClick={() => setDialog("export")}>{t("Export")}</Button>}
            {mayCreate && (
              <>
                <Link to="/g/$groupId/devices/import" params={{ groupId }} className="button button-normal">
                  {t("Import")}
                </Link>
                <Button look="primary" onClick={() => setDialog("new")}>
                  {t("NewDevice")}
                </Button>
              </>
            )}
          </>
        }
      />
      <DeviceFilters search={search} set={set} rows={rows}>
        {maySeeValues && <ValueFilters groupId={groupId} known={named} search={search} set={set} />}
      </DeviceFilters>
      {query.isFetching && !query.isPending && <div className="refreshing" aria-hidden="true" />}
      {query.data ? (
        rows.length > 0 ? (
          <Table
            label={t("Devices")}
            rows={rows}
            columns={columns}
            rowKey={(device) => device.deviceId}
            selection={selection}
            total={total}
            onOpen={(device) => void navigate({ to: "/d/$deviceId", params: { deviceId: device.deviceId } })}
            onEndReached={query.hasNextPage && !query.isFetchingNextPage ? () => void query.fetchNextPage() : undefined}
            isLoadingMore={query.isFetchingNextPage}
            rowClass={(device) => (held.has(device.deviceId) ? "row-held" : undefined)}
          />
        ) : isFirst ? (
          <NoDevice groupId={groupId}>
            <Empty
              text={t("DevicesOfThisGroupAreListed")}
              action={
                mayCreate ? (
                  <Button look="primary" onClick={() => setDialog("new")}>
                    {t("NewDevice")}
                  </Button>
                ) : (
                  <Locked label={t("NewDevice")} operation="POST /device" groupId={groupId} />
                )
              }
              curl={`curl -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"groupId":"${groupId}","name":"Cold room","type":"temperature","originalId":"70B3D57ED0041A2B","network":"chirpstack"}' \\
  "${SERVICE_URL}/device"`}
            />
          </NoDevice>
        ) : (
          <NoMatch chips={chips} onClear={() => set(NO_FILTER)} />
        )
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} operation="GET /devices" groupId={groupId} noun="group" />
      ) : (
        <Loading rows={12} />
      )}
      <BulkBar groupId={groupId} search={search} selection={selection} known={known} total={total} totalIsMore={isMore} rows={rows} onHeld={setHeld} held={held} />
      {dialog === "new" && <NewDeviceDialog groupId={groupId} onClose={() => setDialog(null)} />}
      {dialog === "export" && <DevicesExportDialog groupId={groupId} search={search} total={total} totalIsMore={isMore} onClose={() => setDialog(null)} />}
    </>
  );
}

export function DevicesPage() {
  const { groupId } = route.useParams();
  return (
    <Guarded groupId={groupId} operation="GET /devices" title={t("Devices")}>
      <Devices />
    </Guarded>
  );
}
