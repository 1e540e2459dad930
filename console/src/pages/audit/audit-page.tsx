// Who changed what, when and from where, newest first; a change that still stands can be undone.
import { useCallback, useMemo } from "react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Guarded } from "~/frame/guarded";
import { mayCall, useRights } from "~/api/may";
import { groupQuery, sessionQuery } from "~/api/queries";
import { SERVICE_URL } from "~/base-path";
import { useRange, useZone } from "~/frame/page-state";
import { Typed } from "~/pages/devices/device-filters";
import { present } from "~/pages/messages/queries";
import { rangeLabel } from "~/time";
import { download } from "~/ui/export";
import { Menu } from "~/ui/menu";
import { PageHeader } from "~/ui/page";
import { differencesOf } from "~/ui/diff-data";
import { Empty, NoMatch, QueryView, type Chip } from "~/ui/state";
import { Table, type Column } from "~/ui/table";
import { TimeText } from "~/ui/time-text";
import { Why } from "~/ui/why";
import { ACTIONS, actionWords } from "./actions";
import { EntryDrawer } from "./entry-drawer";
import { ObjectLink } from "./object-link";
import { auditQuery, periodOf } from "./queries";
import { filterOf, type AuditSearch } from "./search";
import type { AuditEntry } from "./undo";
import { t } from "~/messages/audit";
import "./audit.css";

const route = getRouteApi("/frame/g/$groupId/audit");

type Set = (change: Partial<AuditSearch>, replace?: boolean) => void;

function summaryOf(entry: AuditEntry): string {
  if (!entry.before && !entry.after) return entry.detail ?? "";
  if (!entry.before || !entry.after) return "";
  return differencesOf(entry.before, entry.after)
    .map((each) => `${each.field}: ${each.before || "–"} → ${each.after || "–"}`)
    .join("; ");
}

function peopleOf(entries: readonly AuditEntry[], chosen: string | undefined): [string, string][] {
  const people = new Map<string, string>();
  for (const entry of entries) people.set(entry.actorId, entry.actorName ?? entry.actorId);
  if (chosen && !people.has(chosen)) people.set(chosen, chosen);
  return [...people].sort((one, other) => one[1].localeCompare(other[1]));
}

function Filters({ search, set, entries }: { search: AuditSearch; set: Set; entries: readonly AuditEntry[] }) {
  const actions = Object.keys(ACTIONS);
  if (search.action && !actions.includes(search.action)) actions.push(search.action);
  return (
    <div className="filters" role="search" aria-label={t("FilterAuditLog")}>
      <select className="input" aria-label={t("Person")} value={search.who ?? ""} onChange={(event) => set({ who: event.target.value || undefined })}>
        <option value="">{t("Anybody")}</option>
        {peopleOf(entries, search.who).map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      <select className="input" aria-label={t("Action")} value={search.action ?? ""} onChange={(event) => set({ action: event.target.value || undefined })}>
        <option value="">{t("AnyAction")}</option>
        {actions.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
      <Typed className="audit-id" label={t("IdOfObject")} value={search.thing} onType={(thing) => set({ thing }, true)} />
      <Typed className="audit-id" label={t("RequestId")} value={search.request} onType={(request) => set({ request }, true)} />
    </div>
  );
}

function chipsOf(search: AuditSearch, set: Set, entries: readonly AuditEntry[]): Chip[] {
  const who = entries.find((each) => each.actorId === search.who)?.actorName ?? search.who;
  const given: (Chip | undefined | "")[] = [
    search.who && { label: t("byWho", { who }), onRemove: () => set({ who: undefined }) },
    search.action && { label: t("actionAction", { action: search.action }), onRemove: () => set({ action: undefined }) },
    search.thing && { label: t("thingThing", { thing: search.thing }), onRemove: () => set({ thing: undefined }) },
    search.request && { label: t("requestRequest", { request: search.request }), onRemove: () => set({ request: undefined }) },
  ];
  return given.filter((each): each is Chip => typeof each === "object");
}

function useColumns(): Column<AuditEntry>[] {
  const isOperator = useQuery(sessionQuery).data?.isOperator ?? false;
  return useMemo(() => {
    const columns: Column<AuditEntry>[] = [
      { id: "time", head: t("When"), width: "152px", card: "line", cell: (entry) => <TimeText at={entry.timestamp} /> },
      { id: "who", head: t("Who"), width: "minmax(110px, 1fr)", card: "line", cell: (entry) => <span title={entry.actorId}>{entry.actorName ?? (entry.actorKind === "system" ? t("service") : entry.actorId)}</span> },
      {
        id: "what",
        head: t("What"),
        width: "minmax(200px, 2fr)",
        card: "title",
        cell: (entry) => (
          <span>
            {t.rich("actionOnObject", { action: actionWords(entry.action), object: <ObjectLink entry={entry} /> })}
          </span>
        ),
      },
      { id: "change", head: t("Change"), width: "minmax(140px, 2fr)", cell: (entry) => <span className="ink-2 audit-change" title={summaryOf(entry)}>{summaryOf(entry)}</span> },
    ];
    if (isOperator) columns.push({ id: "from", head: t("From"), width: "112px", cell: (entry) => <code>{entry.address ?? ""}</code> });
    return columns;
  }, [isOperator]);
}

function Entries({ groupId, search, set }: { groupId: string; search: AuditSearch; set: Set }) {
  const zone = useZone();
  const { range } = useRange();
  const filter = useMemo(() => filterOf(search), [search.who, search.thing, search.action, search.request, search.own]);
  const query = useInfiniteQuery(auditQuery(groupId, filter, range));
  const columns = useColumns();
  const entries = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = query;
  const onEndReached = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetchingNextPage]);
  const chips = chipsOf(search, set, entries);
  const open = entries.find((each) => each.id === search.entry);
  return (
    <>
      <Filters search={search} set={set} entries={entries} />
      <QueryView query={query} operation="GET /group/audit" groupId={groupId} noun="group">
        {() => {
          if (entries.length > 0 || hasNextPage)
            return (
              <Table
                label={t("AuditLog")}
                rows={entries}
                columns={columns}
                rowKey={(entry) => entry.id}
                onOpen={(entry) => set({ entry: entry.id })}
                onEndReached={onEndReached}
                isLoadingMore={isFetchingNextPage}
              />
            );
          if (chips.length > 0) return <NoMatch chips={chips} onClear={() => set({ who: undefined, thing: undefined, action: undefined, request: undefined })} />;
          return (
            <Empty
              text={t("NobodyChangedAnythingInThisRange", { range: rangeLabel(range, zone) })}
              curl={`curl -H "Authorization: Bearer $TOKEN" \\
  "${SERVICE_URL}/group/audit?groupId=${groupId}"`}
            />
          );
        }}
      </QueryView>
      {open && <EntryDrawer entry={open} set={set} onClose={() => set({ entry: undefined })} />}
    </>
  );
}

function AuditLog() {
  const { groupId } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const { range } = useRange();
  const rights = useRights(groupId);
  const group = useQuery(groupQuery(groupId));
  const set: Set = (change, replace = false) => void navigate({ to: ".", search: (before: object) => ({ ...before, ...change }), replace } as never);
  const above = group.data?.name ?? undefined;
  if (rights.isKnown && !mayCall(rights, "GET /group/audit"))
    return (
      <>
        <PageHeader title={t("AuditLog")} above={above} />
        <div className="state">
          <p>
            {t.rich("YouSeeAboveButNotWho", { group: above ?? t("thisGroup"), why: <Why operation="GET /group/audit" groupId={groupId} /> })}
          </p>
        </div>
      </>
    );
  const exportAs = (format: string) => {
    const filter = filterOf(search);
    const query = present({ groupId, ...filter, subgroups: filter.subgroups ? "true" : undefined, ...periodOf(filter, range), format });
    download(`/group/audit/export?${new URLSearchParams(query as Record<string, string>).toString()}`);
  };
  return (
    <>
      <PageHeader
        title={t("AuditLog")}
        above={above}
        actions={
          <Menu
            label={t("Export")}
            items={[
              { label: t("CSVAllThatMatch"), writes: false, onSelect: () => exportAs("csv") },
              { label: t("NDJSONAllThatMatch"), writes: false, onSelect: () => exportAs("ndjson") },
            ]}
          />
        }
      />
      {rights.isKnown && <Entries groupId={groupId} search={search} set={set} />}
    </>
  );
}

export function AuditPage() {
  const { groupId } = route.useParams();
  return (
    <Guarded groupId={groupId} operation="GET /group/audit" title={t("AuditLog")}>
      <AuditLog />
    </Guarded>
  );
}
