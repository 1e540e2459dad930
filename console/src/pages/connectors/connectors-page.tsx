import { useMemo } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { mayCall, useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { SERVICE_URL } from "~/base-path";
import { GroupName } from "~/frame/group-name";
import { useScope } from "~/frame/page-state";
import { useDeviceNames } from "~/pages/devices/device-picker";
import { Button } from "~/ui/button";
import { useShortcuts } from "~/ui/keys";
import { PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { Sparkline } from "~/ui/sparkline";
import { SearchedList } from "~/ui/searched-list";
import { Empty, QueryView } from "~/ui/state";
import type { Column } from "~/ui/table";
import { Locked } from "~/ui/why";
import { duration } from "~/time";
import { nameOr } from "~/ui/name";
import { countText, percent, stateOf, totalsOf } from "./health";
import { CONNECTORS_MAX, connectorsQuery, dayQuery, healthQuery, type Connector } from "./queries";
import { namedKinds } from "./kinds";
import { parseParams, takesSubgroups } from "./params";
import { NAMED_MAX, scopeSentence } from "./scope";
import { DISABLED_MEANS, Switch, useToggle } from "./toggle";
import { t } from "~/messages/connectors";
import "./connectors.css";

const route = getRouteApi("/frame/g/$groupId/connectors");

export function Scope({ connector, groupName }: { connector: Connector; groupName: string }) {
  const devices = connector.deviceIds ?? [];
  // Where there are many, the sentence has their number alone.
  const names = useDeviceNames(connector.groupId, devices.length > NAMED_MAX ? [] : devices);
  const scope = scopeSentence({
    groupName,
    withSubgroups: takesSubgroups(parseParams(connector.params)),
    kinds: namedKinds(parseParams(connector.params)),
    deviceTypes: connector.deviceTypes ?? [],
    devices: names.length > 0 ? names : devices,
    filter: connector.messageFilter ?? "",
  });
  return (
    <span className="scope" title={scope}>
      {scope}
    </span>
  );
}

function useDay(connector: Connector) {
  const rights = useRights(connector.groupId);
  return useQuery({ ...dayQuery(connector.groupId, connector.id), enabled: rights.isKnown && mayCall(rights, "GET /connector/metrics") });
}

function DaySparkline({ connector }: { connector: Connector }) {
  const { data } = useDay(connector);
  if (!data) return <span className="ink-3">–</span>;
  const totals = totalsOf(data.hours);
  const label = t("Last24HoursSucceededDeliveredFailed", { succeeded: totals.succeeded, failed: totals.failed });
  return <Sparkline points={data.hours.map((each) => ({ ok: each.succeeded ?? 0, failed: each.failed ?? 0 }))} label={label} />;
}

function Delivered({ connector }: { connector: Connector }) {
  const { data } = useDay(connector);
  const share = data ? totalsOf(data.hours).delivered : null;
  return <span className={share !== null && share < 1 ? "figure-bad" : undefined}>{percent(share)}</span>;
}

function P95({ connector }: { connector: Connector }) {
  const { data } = useDay(connector);
  return <>{data?.day?.ms ? duration(data.day.ms.p95) : "–"}</>;
}

function useHealth(connector: Connector) {
  return useQuery(healthQuery(connector.groupId, connector.id)).data;
}

function Waiting({ connector }: { connector: Connector }) {
  const health = useHealth(connector);
  return <>{health ? countText(health.waiting) : "–"}</>;
}

function DeadLetters({ connector }: { connector: Connector }) {
  const health = useHealth(connector);
  if (!health) return <>–</>;
  if (health.deadLetters === 0) return <span className="ink-3">0</span>;
  return (
    <Link
      to="/g/$groupId/messages"
      params={{ groupId: connector.groupId }}
      search={{ connector: connector.id, status: "failed" }}
      className="figure-bad"
    >
      {countText(health.deadLetters)}
    </Link>
  );
}

export function StatePill({ connector }: { connector: Connector }) {
  const health = useHealth(connector);
  const state = stateOf(connector, health);
  return (
    <Pill tone={state.tone} title={state.detail || undefined}>
      {state.label}
    </Pill>
  );
}

function RowSwitch({ connector }: { connector: Connector }) {
  const toggle = useToggle(connector);
  const isOn = connector.enabled !== false;
  return (
    <Switch
      isOn={isOn}
      label={t("ForwardThroughName", { name: nameOr(connector.name, connector.id) })}
      title={isOn ? t("DisableDISABLEDMEANS", { DISABLED_MEANS }) : t("EnableReplayFetchesWhatArrivedMeanwhile")}
      onChange={(enabled) => toggle.mutate(enabled)}
    />
  );
}

function useColumns(groupId: string, groupName: string, hasGroups: boolean): Column<Connector>[] {
  const rights = useRights(groupId);
  const mayWrite = mayCall(rights, "PUT /connector");
  return useMemo(() => {
    const columns: Column<Connector>[] = [
      {
        id: "name",
        head: t("Name"),
        width: "minmax(140px, 1.2fr)",
        card: "title",
        cell: (row) => (
          <>
            <Link to="/g/$groupId/connectors/$connectorId" params={{ groupId: row.groupId, connectorId: row.id }} className="row-name">
              {nameOr(row.name, row.id)}
            </Link>
            <span className="row-type">{row.type}</span>
          </>
        ),
      },
      { id: "scope", head: t("Filter"), width: "minmax(160px, 1.8fr)", card: "wide", cell: (row) => <Scope connector={row} groupName={row.groupId === groupId ? groupName : t("itsGroup")} /> },
      { id: "day", head: "24 h", width: "104px", cell: (row) => <DaySparkline connector={row} /> },
      { id: "delivered", head: t("Delivered"), width: "72px", align: "end", card: "line", cell: (row) => <Delivered connector={row} /> },
      { id: "p95", head: "p95", width: "60px", align: "end", cell: (row) => <P95 connector={row} /> },
      { id: "waiting", head: t("Waiting"), width: "60px", align: "end", cell: (row) => <Waiting connector={row} /> },
      { id: "dead", head: t("DeadLetters"), width: "92px", align: "end", cell: (row) => <DeadLetters connector={row} /> },
      { id: "state", head: t("State"), width: "172px", card: "line", cell: (row) => <StatePill connector={row} /> },
    ];
    if (hasGroups) columns.splice(1, 0, { id: "group", head: t("Group"), width: "minmax(80px, 0.7fr)", card: "line", cell: (row) => <GroupName groupId={row.groupId} /> });
    if (mayWrite) columns.push({ id: "switch", head: t("On"), width: "44px", card: "line", cell: (row) => <RowSwitch connector={row} /> });
    return columns;
  }, [groupId, groupName, mayWrite, hasGroups]);
}

export function ConnectorsPage() {
  const { groupId } = route.useParams();
  const { q } = route.useSearch();
  const navigate = useNavigate();
  const rights = useRights(groupId);
  const group = useQuery(groupQuery(groupId));
  const { withBelow } = useScope();
  const query = useQuery(connectorsQuery(groupId, withBelow));
  const hasGroups = query.data?.some((each) => each.groupId !== groupId) ?? false;
  const columns = useColumns(groupId, group.data?.name ?? t("thisGroup"), hasGroups);
  const mayCreate = mayCall(rights, "POST /connector");
  const setQ = (text: string) => void navigate({ to: ".", search: (before: object) => ({ ...before, q: text || undefined }), replace: true } as never);
  const create = () => void navigate({ to: "/g/$groupId/connectors/new", params: { groupId } });
  useShortcuts(mayCreate ? [{ key: "n", label: t("NewConnector"), run: create }] : []);
  return (
    <>
      <PageHeader
        title={t("Connectors")}
        above={group.data?.name}
        actions={
          rights.isKnown &&
          (mayCreate ? (
            <Button look="primary" onClick={create}>
              {t("NewConnector")}
            </Button>
          ) : (
            <Locked label={t("NewConnector")} operation="POST /connector" groupId={groupId} />
          ))
        }
      />
      <QueryView query={query} operation="GET /connector/connectors" groupId={groupId} noun={t("group")}>
        {(all) => {
          if (all.length === 0)
            return (
              <Empty
                text={t("connectorForwardsEveryRecordOfThis")}
                action={mayCreate && <Button writes onClick={create}>{t("CreateFirstConnector")}</Button>}
                curl={`curl -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"groupId":"${groupId}","type":"http","name":"To my service","params":"{\\"url\\":\\"https://example.com/hook\\"}"}' \\
  "${SERVICE_URL}/connector"`}
              />
            );
          return (
            <SearchedList
              all={all}
              isCapped={all.length >= CONNECTORS_MAX}
              nouns={["connector", "connectors"]}
              columns={columns}
              textOf={(each) => `${each.name ?? ""} ${each.id} ${each.type} ${each.params}`}
              placeholder={t("NameTypeOrDestination")}
              q={q ?? ""}
              onQ={setQ}
              rowHeight={56}
              onOpen={(row) => void navigate({ to: "/g/$groupId/connectors/$connectorId", params: { groupId: row.groupId, connectorId: row.id } })}
            />
          );
        }}
      </QueryView>
    </>
  );
}
