// What the device sent, by arrival, newest first: values in a line, the payload, and the way to the trace.
import { useMemo, useState } from "react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "~/api/client";
import { useRange } from "~/frame/page-state";
import type { Span } from "~/time";
import { RecordDrawer } from "~/pages/live/record-drawer";
import { summaryOf } from "~/pages/live/summary";
import { Button } from "~/ui/button";
import { ExportDialog, type ExportSource } from "~/ui/export";
import { Checkbox } from "~/ui/field";
import { KIND_LABELS, KindLabel } from "~/ui/pill";
import { Empty, ErrorState, Loading } from "~/ui/state";
import { Table, type Column } from "~/ui/table";
import { TimeText } from "~/ui/time-text";
import { deviceRecordsQuery, type Device } from "./queries";
import { KINDS, type DeviceSearch, type Kind } from "./search";
import { t } from "~/messages/device";

type Arrival = Schemas["Arrival"];

function rawOf(arrival: Arrival): string | null {
  const raw = (arrival.record as { __raw?: string | null }).__raw;
  return raw || null;
}

const COLUMNS: readonly Column<Arrival>[] = [
  { id: "at", head: t("Timestamp"), width: "188px", card: "line", cell: (arrival) => <TimeText at={arrival.record.timestamp} precision="millisecond" /> },
  { id: "kind", head: t("Kind"), width: "88px", card: "line", cell: (arrival) => <KindLabel kind={arrival.kind} /> },
  { id: "values", head: t("Values"), width: "minmax(160px, 3fr)", card: "wide", cell: (arrival) => <span title={summaryOf(arrival)}>{summaryOf(arrival)}</span> },
  { id: "raw", head: t("Payload"), width: "minmax(72px, 1fr)", cell: (arrival) => (rawOf(arrival) ? <code title={rawOf(arrival) ?? ""}>{rawOf(arrival)}</code> : <span className="ink-3">–</span>) },
  { id: "arrived", head: t("Arrived"), width: "150px", cell: (arrival) => <TimeText at={arrival.arrivedAt} /> },
  { id: "source", head: t("Source"), width: "88px", cell: (arrival) => arrival.source },
  {
    id: "trace",
    head: <span className="visually-hidden">{t("Trace")}</span>,
    width: "64px",
    cell: (arrival) => (
      <Link to="/r/$recordId" params={{ recordId: arrival.id }}>
        {t("Trace")}
      </Link>
    ),
  },
];

// A file has records of one kind, by their timestamps.
function exportSource(device: Device, kinds: readonly Kind[], span: Span): ExportSource {
  return {
    path: "/records/export",
    params: { deviceId: device.deviceId, beginDate: new Date(span.begin).toISOString(), endDate: new Date(span.end).toISOString() },
    name: `${device.name.replace(/[^\w-]+/g, "-").slice(0, 40)}`,
    title: t("ExportRecordsOfName", { name: device.name }),
    choice: { name: "kind", label: t("Kind"), options: kinds.map((kind) => [kind, KIND_LABELS[kind]] as const) },
  };
}

export function RecordsTab({ device, search, set }: { device: Device; search: DeviceSearch; set: (change: Partial<DeviceSearch>) => void }) {
  const { range, span } = useRange();
  const [isExporting, setExporting] = useState(false);
  const query = useInfiniteQuery(deviceRecordsQuery(device, search.kind, range, span));
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const kinds = search.kind ?? [...KINDS];
  const toggle = (kind: Kind) => {
    const next = kinds.includes(kind) ? kinds.filter((each) => each !== kind) : KINDS.filter((each) => each === kind || kinds.includes(each));
    set({ kind: next.length === 0 || next.length === KINDS.length ? undefined : next });
  };
  const looked = query.data?.pages.reduce((sum, page) => sum + page.lookedAt, 0) ?? 0;
  const last = query.data?.pages.at(-1);
  // A page that found little looked at much: the next one is asked for by hand.
  const isSparse = last !== undefined && last.nextToken !== undefined && last.items.length < 20;
  const open = rows.find((each) => each.id === search.record);
  return (
    <>
      <div className="filters" role="group" aria-label={t("KindsOfRecords")}>
        {KINDS.map((kind) => (
          <Checkbox key={kind} label={KIND_LABELS[kind]} checked={kinds.includes(kind)} onChange={() => toggle(kind)} />
        ))}
        <span className="ink-2">{t("byArrivalNewestFirst")}</span>
        <Button onClick={() => setExporting(true)}>{t("Export")}</Button>
      </div>
      {query.data ? (
        rows.length > 0 ? (
          <Table
            label={t("Records")}
            rows={rows}
            columns={COLUMNS}
            rowKey={(arrival) => arrival.id}
            onOpen={(arrival) => set({ record: arrival.id })}
            onEndReached={query.hasNextPage && !query.isFetchingNextPage && !isSparse ? () => void query.fetchNextPage() : undefined}
            isLoadingMore={query.isFetchingNextPage}
          />
        ) : (
          !isSparse && <Empty text={t("NoRecordOfTheseKindsArrived")} action={search.kind && <Button onClick={() => set({ kind: undefined })}>{t("AllKinds")}</Button>} />
        )
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} operation="GET /group/records" groupId={device.groupId} noun={t("device")} />
      ) : (
        <Loading />
      )}
      {isSparse && (
        <p className="ink-2">
          {t("LookedAtLookedRecordsOfGroup", { looked })}{" "}
          <Button onClick={() => void query.fetchNextPage()} disabledReason={query.isFetchingNextPage ? t("Looking") : undefined}>
            {t("LookFurtherBack")}
          </Button>
        </p>
      )}
      {isExporting && <ExportDialog source={exportSource(device, kinds, span)} onClose={() => setExporting(false)} />}
      {search.record && <RecordDrawer recordId={search.record} arrival={open ?? null} onClose={() => set({ record: undefined })} />}
    </>
  );
}
