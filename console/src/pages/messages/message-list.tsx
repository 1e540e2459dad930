// Messages by day, with what can be done with many: used for a group and for one connector.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { mayCall, useRights } from "~/api/may";
import { SERVICE_URL } from "~/base-path";
import { useRange, useZone } from "~/frame/page-state";
import { rangeLabel } from "~/time";
import { usePageActions } from "~/ui/actions";
import { Button } from "~/ui/button";
import { KindLabel, Pill } from "~/ui/pill";
import { useSelection } from "~/ui/selection";
import { Empty, NoMatch, QueryView, type Chip } from "~/ui/state";
import { Table, type Column } from "~/ui/table";
import { TimeText } from "~/ui/time-text";
import { hold, showToast } from "~/ui/toast";
import { nameOr } from "~/ui/name";
import { useRefreshMessages } from "./attempts";
import { changeMessages, resultWords, type BulkResult, type BulkTarget, type Verb } from "./bulk";
import { dayCounts, groupByDay, type DayRow } from "./days";
import { DeviceName } from "./device-name";
import { messagesQuery, type MessageFilter } from "./queries";
import { statsWords, statusWords } from "./words";
import { t } from "~/messages/messages";

export interface MessageListProps {
  groupId: string;
  // With those of the groups below.
  subgroups?: boolean;
  filter: MessageFilter;
  // Connectors that it is about, for their names, their groups and for "all that match".
  connectors: readonly { readonly id: string; readonly groupId: string; readonly name?: string | null | undefined }[];
  onOpen: (id: string) => void;
  chips: readonly Chip[];
  onClear: () => void;
}

// What is sent at once is about messages of one group.
interface GroupTarget {
  readonly groupId: string;
  readonly target: BulkTarget;
}

function byGroup(items: readonly (readonly [groupId: string, id: string])[]): (readonly [groupId: string, ids: string[]])[] {
  const found = new Map<string, string[]>();
  for (const [groupId, id] of items) found.set(groupId, [...(found.get(groupId) ?? []), id]);
  return [...found];
}

function useBulk() {
  const [progress, setProgress] = useState<BulkResult | null>(null);
  const stopped = useRef(false);
  const refresh = useRefreshMessages();
  const run = async (verb: Verb, targets: readonly GroupTarget[]) => {
    stopped.current = false;
    let done: BulkResult = { changed: 0, skipped: 0, isStopped: false };
    setProgress(done);
    try {
      for (const { groupId, target } of targets) {
        const before = done;
        const add = (now: BulkResult) => ({ changed: before.changed + now.changed, skipped: before.skipped + now.skipped, isStopped: now.isStopped });
        done = add(await changeMessages(verb, groupId, target, (now) => setProgress(add(now)), () => stopped.current));
        if (done.isStopped) break;
      }
      showToast(resultWords(verb, done));
    } catch (error) {
      showToast(error instanceof Error ? error.message : String(error), { tone: "bad" });
    } finally {
      setProgress(null);
      refresh();
    }
  };
  return { progress, run, stop: () => (stopped.current = true) };
}

function useColumns({ connectors, filter }: MessageListProps): Column<DayRow>[] {
  return useMemo(() => {
    const names = new Map(connectors.map((each) => [each.id, nameOr(each.name, each.id)]));
    type Event = Extract<DayRow, { type: "message" }>["event"];
    const cell = (show: (event: Event) => React.ReactNode) => (row: DayRow) => (row.type === "message" ? show(row.event) : null);
    const columns: Column<DayRow>[] = [
      { id: "time", head: t("LastChange"), width: "112px", card: "line", cell: cell((event) => <TimeText at={event.timestamp} precision="time" />) },
      {
        id: "status",
        head: t("Status"),
        width: "100px",
        card: "line",
        cell: cell((event) => {
          const words = statusWords(event);
          return <Pill tone={words.tone}>{words.label}</Pill>;
        }),
      },
      { id: "device", head: t("Device"), width: "minmax(110px, 1fr)", card: "title", cell: cell((event) => event.deviceId && <DeviceName deviceId={event.deviceId} />) },
      { id: "kind", head: t("Kind"), width: "92px", cell: cell((event) => <KindLabel kind={event.kind ?? ""} />) },
      { id: "attempts", head: t("Attempts"), width: "76px", align: "end", cell: cell((event) => event.attempts ?? 0) },
      { id: "error", head: t("LastError"), width: "minmax(120px, 1.4fr)", cell: cell((event) => <span className="ink-2">{event.message ?? ""}</span>) },
    ];
    if (!filter.connectorId)
      columns.splice(2, 0, {
        id: "connector",
        head: t("Connector"),
        width: "minmax(110px, 1fr)",
        card: "wide",
        cell: cell((event) => names.get(event.connectorId) ?? event.connectorId),
      });
    return columns;
  }, [connectors, filter.connectorId]);
}

const rowKey = (row: DayRow) => (row.type === "day" ? row.day : (row.event.id ?? ""));
const rowHead = (row: DayRow) =>
  row.type === "day" ? (
    <span className="day-head">
      <strong>{row.day}</strong> <span className="ink-2">{dayCounts(row)}</span>
    </span>
  ) : undefined;

export function MessageList(props: MessageListProps) {
  const { groupId, subgroups = false, filter, connectors, onOpen, chips, onClear } = props;
  const zone = useZone();
  const { range } = useRange();
  const rights = useRights(groupId);
  const mayChange = mayCall(rights, "POST /connector/messages/retry");
  const query = useInfiniteQuery(messagesQuery(groupId, filter, range, subgroups));
  const selection = useSelection();
  const bulk = useBulk();
  const columns = useColumns(props);
  const pages = query.data?.pages;
  const rows = useMemo(() => groupByDay(pages?.flatMap((page) => page.items) ?? [], zone, query.hasNextPage), [pages, zone, query.hasNextPage]);
  const stats = pages?.[0]?.stats;
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = query;
  const onEndReached = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetchingNextPage]);
  const groupOf = (connectorId: string) => connectors.find((each) => each.id === connectorId)?.groupId ?? groupId;
  // A selected message may have left the list meanwhile.
  const seen = useRef(new Map<string, string>());
  useEffect(() => {
    for (const row of rows) if (row.type === "message") seen.current.set(row.event.id ?? "", row.event.connectorId);
  }, [rows]);
  const keys = selection.selection.mode === "keys" ? [...selection.selection.keys] : [];
  const chosen = byGroup(keys.map((id) => [groupOf(seen.current.get(id) ?? ""), id])).map(([group, ids]): GroupTarget => ({ groupId: group, target: { ids } }));
  const connectorIds = filter.connectorId ? [filter.connectorId] : connectors.map((each) => each.id);
  const matching = byGroup(connectorIds.map((id) => [groupOf(id), id])).map(([group, ids]): GroupTarget => ({ groupId: group, target: { filter, range, connectorIds: ids } }));
  const runAll = (verb: Verb) => {
    selection.clear();
    if (verb === "retry") return void bulk.run(verb, matching);
    hold(t("AllQueuedDeliveriesThatMatchWill"), () => bulk.run(verb, matching));
  };
  const runChosen = (verb: Verb) => {
    const target = chosen;
    const count = selection.count;
    selection.clear();
    if (verb === "retry") return void bulk.run(verb, target);
    hold(t("countValueWillNotBeSent", { count, value: t("deliveries", { count }) }), () => bulk.run(verb, target));
  };
  const chosenWords = t("countMessages", { count: selection.count });
  const offered = [
    { id: "retry-messages", label: t("RetryChosenWords", { chosenWords }), run: () => runChosen("retry") },
    { id: "cancel-messages", label: t("CancelChosenWords", { chosenWords }), run: () => runChosen("cancel") },
  ];
  usePageActions(mayChange && selection.count > 0 ? offered : []);
  return (
    <QueryView query={query} operation="GET /connector/messages" groupId={groupId} noun={t("group")}>
      {() => {
        if (rows.length === 0 && !hasNextPage)
          return chips.length ? (
            <NoMatch chips={chips} onClear={onClear} />
          ) : (
            <Empty
              text={t("NoDeliveryChangedInThisRange", { range: rangeLabel(range, zone) })}
              curl={`curl -H "Authorization: Bearer $TOKEN" \\
  "${SERVICE_URL}/connector/messages?groupId=${groupId}"`}
            />
          );
        return (
          <>
            <div className="messages-stats ink-2">
              {stats && <span>{t("InThisRangeStats", { stats: statsWords(stats) })}</span>}
              {mayChange && !bulk.progress && filter.status === "failed" && (
                <Button look="quiet" writes onClick={() => runAll("retry")}>
                  {t("RetryAllThatMatch")}
                </Button>
              )}
              {mayChange && !bulk.progress && filter.status === "processing" && (
                <>
                  <Button look="quiet" writes onClick={() => runAll("retry")}>
                    {t("RetryAllThatMatchNow")}
                  </Button>
                  <Button look="quiet" writes onClick={() => runAll("cancel")}>
                    {t("CancelAllThatMatch")}
                  </Button>
                </>
              )}
              {bulk.progress && (
                <span role="status">
                  {t("changedDone", { changed: bulk.progress.changed })}{" "}<Button onClick={bulk.stop}>{t("Stop")}</Button>
                </span>
              )}
            </div>
            <Table
              label={t("Deliveries")}
              rows={rows}
              columns={columns}
              rowKey={rowKey}
              rowHead={rowHead}
              selection={mayChange ? selection : undefined}
              onOpen={(row) => row.type === "message" && onOpen(row.event.id ?? "")}
              onEndReached={onEndReached}
              isLoadingMore={isFetchingNextPage}
            />
            {selection.count > 0 && (
              <div className="selection-bar" role="region" aria-label={t("SelectedDeliveries")}>
                <strong>{t("countSelected", { count: selection.count })}</strong>
                <Button writes onClick={() => runChosen("retry")}>{t("Retry")}</Button>
                <Button writes onClick={() => runChosen("cancel")}>{t("CancelDeliveries")}</Button>
                <Button look="quiet" onClick={selection.clear}>
                  {t("Clear")}
                </Button>
              </div>
            )}
          </>
        );
      }}
    </QueryView>
  );
}
