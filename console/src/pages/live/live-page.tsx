// What arrives and what has arrived, as one list: the stream on top, the ledger below.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Guarded } from "~/frame/guarded";
import { useQuery } from "@tanstack/react-query";
import { useMay, useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { CONSOLE_PATH, SERVICE_URL } from "~/base-path";
import { useScope, useZone } from "~/frame/page-state";
import { usePaused, setPaused } from "~/live/pause";
import { KINDS, RATE_SECONDS } from "~/live/rates";
import type { Arrival } from "~/live/protocol";
import { useFeed, useFromFeed, useIsBelow, useLiveSource, useRates, type DeviceSummary, type LiveSource } from "~/live/use-live";
import { formatTime, momentOf } from "~/time";
import { recordCommand } from "~/pages/groups/networks";
import { Button } from "~/ui/button";
import { nameOr } from "~/ui/name";
import { PageHeader } from "~/ui/page";
import { KIND_LABELS, KindLabel } from "~/ui/pill";
import { Series } from "~/ui/series";
import { Empty, ErrorState, Loading, NoMatch, type Chip } from "~/ui/state";
import { Table, type Column } from "~/ui/table";
import { TimeText } from "~/ui/time-text";
import { lastDeliveriesQuery, wentWords, type Went } from "./deliveries";
import { LiveFilters } from "./live-filters";
import { RecordDrawer } from "./record-drawer";
import type { LiveSearch } from "./search";
import { summaryOf } from "./summary";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/live";
import "./live.css";

const route = getRouteApi("/frame/g/$groupId/live");
const READABLE_PER_S = 20;
// Nobody scrolls a list that moves: who begins to, holds it.
const OVERSCAN_MOVING = 2;

export type ChangeSearch = (change: Partial<LiveSearch>, options?: { replace?: boolean }) => void;

function Live() {
  const { groupId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const rights = useRights(groupId);
  const group = useQuery(groupQuery(groupId));
  const change = useCallback<ChangeSearch>(
    (next, { replace = false } = {}) => void navigate({ search: (before) => ({ ...before, ...next }), replace }),
    [navigate],
  );
  const above = group.data?.name ?? undefined;
  if (group.isError && !rights.isOperator) return <ErrorState error={group.error} noun="group" onRetry={() => void group.refetch()} />;
  return (
    <>
      {rights.isKnown ? <Records groupId={groupId} above={above} search={search} change={change} /> : <PageHeader title={t("Live")} above={above} />}
    </>
  );
}

interface PartProps {
  groupId: string;
  search: LiveSearch;
  change: ChangeSearch;
}

// Not rendered when something arrives: only the parts are that show it.
function Records({ groupId, above, search, change }: PartProps & { above: string | undefined }) {
  const isPaused = usePaused();
  const { withBelow } = useScope();
  const selection = { groupId, isOwn: !withBelow, deviceId: search.device, kinds: search.kind, filter: search.filter };
  const source = useLiveSource(selection, search.until ?? null);
  const isHistory = search.until !== undefined;
  return (
    <>
      <PageHeader
        title={t("Live")}
        above={above}
        actions={
          isHistory ? (
            <Button onClick={() => change({ until: undefined })}>{t("ShowWhatArrivesNow")}</Button>
          ) : (
            <Button onClick={() => setPaused(!isPaused)} aria-pressed={isPaused} title="p">
              {isPaused ? t("GoOn") : t("Pause")}
            </Button>
          )
        }
      />
      <LiveFilters groupId={groupId} search={search} change={change} />
      {isHistory ? <HistoryNote until={search.until ?? ""} /> : <RateChart source={source} />}
      <Lists source={source} search={search} change={change} groupId={groupId} />
      {search.record !== undefined && <OpenedRecord source={source} recordId={search.record} onClose={() => change({ record: undefined })} />}
    </>
  );
}

function OpenedRecord({ source, recordId, onClose }: { source: LiveSource; recordId: string; onClose: () => void }) {
  const arrival = useFeed(source).rows.find((each) => each.id === recordId) ?? null;
  return <RecordDrawer recordId={recordId} arrival={arrival} onClose={onClose} />;
}

function HistoryNote({ until }: { until: string }) {
  return (
    <p className="ink-2">
      {t.rich("WhatArrivedBeforeTimeNewestFirst", { time: <TimeText at={until} /> })}
    </p>
  );
}

const RATE_HEIGHT = 104;

function RateChart({ source }: { source: LiveSource }) {
  const rates = useRates(source);
  const series = useMemo(
    () => KINDS.map((kind) => ({ id: kind, label: KIND_LABELS[kind], color: `--kind-${kind}`, values: rates.counts[kind] })),
    [rates],
  );
  return (
    <section className="card live-rates" aria-label={t("RecordsSecond")}>
      <Series label={t("RecordsSecondInLastTwoMinutes")} look="bars" times={rates.times} bucketMs={1_000} series={series} height={RATE_HEIGHT} />
    </section>
  );
}

function rateText(perSecond: number): string {
  return `${perSecond.toLocaleString(LOCALE, { maximumFractionDigits: perSecond < 10 ? 1 : 0 })}/s`;
}

function Lists({ source, search, change, groupId }: PartProps & { source: LiveSource }) {
  const isPaused = usePaused();
  const [isAtTop, setAtTop] = useState(true);
  const [isTouched, setTouched] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const isEmpty = useFromFeed(source, (view) => view.rows.length === 0);
  // Who points at an empty list reads nothing that could move.
  const isRead = isTouched && !isEmpty;
  const isHeld = isPaused || !isAtTop || isRead || search.record !== undefined;
  useEffect(() => source.hold(isHeld), [source, isHeld]);
  const toTop = () => {
    source.release();
    box.current?.querySelector(".table-body")?.scrollTo({ top: 0 });
  };
  const isByDevice = search.view === "devices" && search.until === undefined;
  const hold = {
    onMouseEnter: () => setTouched(true),
    onMouseLeave: () => setTouched(box.current?.contains(document.activeElement) ?? false),
    onFocus: () => setTouched(true),
    onBlur: (event: React.FocusEvent) => setTouched(event.currentTarget.contains(event.relatedTarget)),
  };
  return (
    <>
      {search.until === undefined && <LiveStatus source={source} isByDevice={isByDevice} change={change} toTop={toTop} />}
      <div ref={box} className="live-list" {...hold}>
        {isByDevice ? (
          <DeviceList source={source} change={change} />
        ) : (
          <RecordList source={source} search={search} change={change} groupId={groupId} isHeld={isHeld} onTopChange={setAtTop} />
        )}
      </div>
    </>
  );
}

interface StatusProps {
  source: LiveSource;
  isByDevice: boolean;
  change: ChangeSearch;
  toTop: () => void;
}

function LiveStatus({ source, isByDevice, change, toTop }: StatusProps) {
  const isPaused = usePaused();
  const { perSecond, knownSeconds } = useRates(source);
  const isTooFast = perSecond > READABLE_PER_S && !isByDevice && !isPaused;
  return (
    <div className="live-status">
      <div role="group" aria-label={t("View")} className="live-views">
        <Button look={isByDevice ? "quiet" : "normal"} aria-pressed={!isByDevice} onClick={() => change({ view: undefined })}>
          {t("All")}
        </Button>
        <Button look={isByDevice ? "normal" : "quiet"} aria-pressed={isByDevice} onClick={() => change({ view: "devices" })}>
          {t("ByDevice")}
        </Button>
      </div>
      <span className="number">{rateText(perSecond)}</span>
      <span className="ink-2">{isTooFast ? t("tooFastToReadByDevice") : <LostText source={source} />}</span>
      {knownSeconds < RATE_SECONDS && <span className="ink-3">{t("countedForSeconds", { seconds: knownSeconds })}</span>}
      {!isByDevice && <NewButton source={source} onPress={toTop} />}
    </div>
  );
}

function NewButton({ source, onPress }: { source: LiveSource; onPress: () => void }) {
  const { waiting, hasOverflowed } = useFeed(source);
  if (waiting === 0) return null;
  return (
    <Button className="live-new" onClick={onPress}>
      {hasOverflowed ? t("newOrMore", { count: waiting }) : t("new", { count: waiting })}
    </Button>
  );
}

function LostText({ source }: { source: LiveSource }) {
  const lost = useFromFeed(source, (view) => view.lost);
  if (lost === 0) return <>{t("noneLeftOut")}</>;
  return <>{lost === null ? t("SomeLeftOutByStream") : t("leftOutByStream", { count: lost })}</>;
}

// Rows are rendered many times a second: they subscribe to nothing, and get what they need once.
interface RowContext {
  readonly zone: string;
  readonly today: string;
  readonly openDevice: (deviceId: string) => void;
  // By record; null where it is not shown.
  readonly went: ReadonlyMap<string, Went> | null;
}

// Of the last records of this group's connectors. Faster than one can read it is not asked for.
function useWent(groupId: string, isAsked: boolean): ReadonlyMap<string, Went> | null {
  const may = useMay(groupId, "GET /connector/messages");
  const query = useQuery({ ...lastDeliveriesQuery(groupId), enabled: may && isAsked });
  return may ? (query.data ?? NOWHERE) : null;
}

const NOWHERE: ReadonlyMap<string, Went> = new Map();

function useRowContext(wentByRecord: ReadonlyMap<string, Went> | null): RowContext {
  const zone = useZone();
  const navigate = useNavigate();
  const today = formatTime(Date.now(), zone, "day");
  return useMemo(() => ({ zone, today, openDevice: (deviceId) => void navigate({ to: "/d/$deviceId", params: { deviceId } }), went: wentByRecord }), [zone, today, navigate, wentByRecord]);
}

// The time alone for what is of today, else the day too.
function arrivalTime(at: string, { zone, today }: RowContext) {
  const moment = momentOf(at) ?? 0;
  const day = formatTime(moment, zone, "day");
  return (
    <time dateTime={at} className="time" title={at}>
      {day !== today && <span className="ink-3">{day.replace(/ \d{4}$/, "")} </span>}
      {formatTime(moment, zone, "time")}
    </time>
  );
}

function deviceLink(arrival: Arrival, { openDevice }: RowContext) {
  const { deviceId } = arrival.record;
  return (
    <a
      href={`${CONSOLE_PATH}/d/${deviceId}`}
      tabIndex={-1}
      className="live-device"
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        openDevice(deviceId);
      }}
    >
      {nameOr(arrival.deviceName, deviceId)}
    </a>
  );
}

function went(arrival: Arrival, { went: known }: RowContext) {
  const found = known?.get(arrival.id);
  if (!found) return null;
  const words = wentWords(found);
  return (
    <span role="img" aria-label={words} title={words} className="live-row-went">
      {found.delivered > 0 && <span className="ink-2">✓ {found.delivered}</span>}
      {found.waiting > 0 && <span className="ink-3">… {found.waiting}</span>}
      {found.failed > 0 && <span className="figure-bad">▲ {found.failed}</span>}
    </span>
  );
}

const values = (arrival: Arrival) => <span className="live-values">{summaryOf(arrival)}</span>;

function recordColumns(context: RowContext): Column<Arrival>[] {
  return [
    { id: "time", head: t("Arrived"), width: "148px", cell: (row) => arrivalTime(row.arrivedAt, context), card: "line" },
    { id: "kind", head: t("Kind"), width: "88px", cell: (row) => <KindLabel kind={row.kind} />, card: "line" },
    { id: "device", head: t("Device"), width: "minmax(120px, 1fr)", cell: (row) => deviceLink(row, context), card: "title" },
    { id: "values", head: t("Values"), width: "minmax(160px, 3fr)", cell: values, card: "line" },
    ...(context.went ? [{ id: "went", head: t("Connectors"), width: "104px", cell: (row: Arrival) => went(row, context) }] : []),
    { id: "source", head: t("Source"), width: "96px", cell: (row) => <span className="ink-2">{row.source}</span> },
  ];
}

function chipsOf(search: LiveSearch, change: ChangeSearch): Chip[] {
  const chips: Chip[] = [];
  if (search.kind) chips.push({ label: t("kindsKinds", { kinds: search.kind.map((each) => KIND_LABELS[each as keyof typeof KIND_LABELS]).join(", ") }), onRemove: () => change({ kind: undefined }) });
  if (search.device) chips.push({ label: t("deviceDevice", { device: search.device }), onRemove: () => change({ device: undefined }) });
  if (search.filter) chips.push({ label: t("filterFilter", { filter: search.filter }), onRemove: () => change({ filter: undefined }) });
  return chips;
}

interface RecordListProps extends PartProps {
  source: LiveSource;
  isHeld: boolean;
  onTopChange: (isAtTop: boolean) => void;
}

function RecordList({ source, search, change, groupId, isHeld, onTopChange }: RecordListProps) {
  const { rows, isComplete } = useFeed(source);
  const loadOlder = useCallback(() => void source.loadOlder(), [source]);
  const isReadable = useIsBelow(source, READABLE_PER_S);
  const context = useRowContext(useWent(groupId, isReadable));
  const columns = useMemo(() => recordColumns(context), [context]);
  if (rows.length === 0) {
    if (source.error !== null) return <ErrorState error={source.error} onRetry={loadOlder} operation="GET /group/records" groupId={groupId} />;
    if (!isComplete) return <Loading rows={12} />;
    const chips = chipsOf(search, change);
    if (chips.length > 0) return <NoMatch chips={chips} onClear={() => change({ kind: undefined, device: undefined, filter: undefined })} />;
    return (
      <Empty
        text={t("NothingHasArrivedYetWhatDevices")}
        curl={recordCommand(SERVICE_URL)}
      />
    );
  }
  return (
    <>
      <Table
        label={t("Records")}
        rows={rows}
        columns={columns}
        rowKey={(row) => row.id}
        onOpen={(row) => change({ record: row.id })}
        onEndReached={isComplete || source.error !== null ? undefined : loadOlder}
        onTopChange={onTopChange}
        isLoadingMore={source.isLoading}
        isByPlace
        overscan={isHeld ? undefined : OVERSCAN_MOVING}
      />
      {source.error !== null && <ErrorState error={source.error} onRetry={loadOlder} />}
    </>
  );
}

function deviceColumns(context: RowContext): Column<DeviceSummary>[] {
  return [
    { id: "device", head: t("Device"), width: "minmax(120px, 1fr)", cell: (row) => deviceLink(row.last, context), card: "title" },
    { id: "count", head: t("Records"), width: "80px", align: "end", cell: (row) => row.count.toLocaleString(LOCALE), card: "line" },
    { id: "kind", head: t("Kind"), width: "88px", cell: (row) => <KindLabel kind={row.last.kind} />, card: "line" },
    { id: "values", head: t("LastValues"), width: "minmax(160px, 3fr)", cell: (row) => values(row.last), card: "line" },
    { id: "time", head: t("Arrived"), width: "148px", cell: (row) => arrivalTime(row.last.arrivedAt, context) },
  ];
}

function DeviceList({ source, change }: { source: LiveSource; change: ChangeSearch }) {
  useFeed(source);
  const devices = [...source.devices.values()];
  const context = useRowContext(null);
  const columns = useMemo(() => deviceColumns(context), [context]);
  if (devices.length === 0) return <Empty text={t("NothingHasArrivedSinceYouOpened")} />;
  return (
    <Table
      label={t("DevicesThatSend")}
      rows={devices}
      columns={columns}
      rowKey={(row) => row.deviceId}
      onOpen={(row) => change({ device: row.deviceId, view: undefined })}
    />
  );
}

export function LivePage() {
  const { groupId } = route.useParams();
  return (
    <Guarded groupId={groupId} operation="GET /live" title={t("Live")}>
      <Live />
    </Guarded>
  );
}
