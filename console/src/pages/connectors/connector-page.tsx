import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { mayCall, useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { MessageDrawer } from "~/pages/messages/message-drawer";
import { MessageList } from "~/pages/messages/message-list";
import type { Span } from "~/time";
import { Button } from "~/ui/button";
import { useShortcuts } from "~/ui/keys";
import { Menu } from "~/ui/menu";
import { PageHeader } from "~/ui/page";
import { Loading, QueryView } from "~/ui/state";
import { Tabs } from "~/ui/tabs";
import { hold } from "~/ui/toast";
import { nameOr } from "~/ui/name";
import { Scope, StatePill } from "./connectors-page";
import { ObjectChanges } from "~/pages/audit/object-changes";
import { DeliveriesCard, ResponseTimeCard } from "./deliveries-card";
import { EditTab } from "./edit-tab";
import { FailuresCard } from "./failures-card";
import { destinationOf, keepsSentence, parseParams, retrySentence } from "./params";
import { connectorQuery, type Connector } from "./queries";
import { ReplaysTab } from "./replays";
import type { ConnectorSearch, ConnectorTab } from "./search";
import { StatusCard } from "./status-card";
import { DISABLED_MEANS, useToggle } from "./toggle";
import { t } from "~/messages/connectors";
import "./connectors.css";

const route = getRouteApi("/frame/g/$groupId/connectors/$connectorId");

function HeadActions({ connector, onEdit }: { connector: Connector; onEdit: () => void }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const rights = useRights(connector.groupId);
  const toggle = useToggle(connector);
  const { groupId, id } = connector;
  const isOn = connector.enabled !== false;
  const mayWrite = mayCall(rights, "PUT /connector");
  const remove = () => {
    const name = nameOr(connector.name, id);
    hold(t("nameWillBeDeletedWithIts", { name }), async () => {
      await read(api.DELETE("/connector", { params: { query: { groupId, connectorId: id } } }));
      void client.invalidateQueries({ queryKey: ["connectors", groupId] });
    });
    void navigate({ to: "/g/$groupId/connectors", params: { groupId } });
  };
  useShortcuts(mayWrite ? [{ key: "e", label: t("Edit"), run: onEdit }] : []);
  return (
    <>
      {mayWrite && (
        <Button writes onClick={() => toggle.mutate(!isOn)} title={isOn ? DISABLED_MEANS : undefined}>
          {isOn ? t("Disable") : t("Enable")}
        </Button>
      )}
      {mayWrite && (
        <Button look="primary" onClick={onEdit}>
          {t("Edit")}
        </Button>
      )}
      {mayCall(rights, "DELETE /connector") && <Menu label={<span aria-label={t("MoreActions")}>⋯</span>} items={[{ label: t("Delete"), writes: true, look: "danger", onSelect: remove }]} />}
    </>
  );
}

const TABS: readonly { id: ConnectorTab; label: string }[] = [
  { id: "overview", label: t("Overview") },
  { id: "messages", label: t("Deliveries") },
  { id: "edit", label: t("Edit") },
  { id: "replays", label: t("Replays") },
  { id: "changes", label: t("Changes") },
];

function spanFrom(search: ConnectorSearch): Span | null {
  const [begin, end] = [Date.parse(search.replayFrom ?? ""), Date.parse(search.replayTo ?? "")];
  return begin < end ? { begin, end } : null;
}

export function ConnectorPage() {
  const { groupId, connectorId } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const rights = useRights(groupId);
  const group = useQuery(groupQuery(groupId));
  const query = useQuery(connectorQuery(groupId, connectorId));
  const set = (change: ConnectorSearch): void => void navigate({ to: ".", search: (before: object) => ({ ...before, ...change }), resetScroll: false } as never);
  const onSpan = (span: Span | null) =>
    set({ replayFrom: span ? new Date(span.begin).toISOString() : undefined, replayTo: span ? new Date(span.end).toISOString() : undefined });
  const edit = () => set({ tab: "edit" });
  const tab = search.tab ?? "overview";
  const tabs = TABS.filter((each) => each.id !== "changes" || mayCall(rights, "GET /group/audit"));
  const maySeeMetrics = mayCall(rights, "GET /connector/metrics");
  return (
    <QueryView query={query} operation="GET /connector" groupId={groupId} noun={t("connector")}>
      {(connector) => {
        const name = nameOr(connector.name, connector.id);
        const facts = [connector.type, destinationOf(connector.type, parseParams(connector.params)), connector.format ?? "json", retrySentence(connector.retryPolicy), keepsSentence(connector.dataFailurePolicy?.storingDuration)];
        return (
          <div className="connector-page">
            <PageHeader
              title={name}
              above={
                <>
                  {group.data?.name} /{" "}
                  <Link to="/g/$groupId/connectors" params={{ groupId }}>
                    {t("Connectors")}
                  </Link>
                </>
              }
              state={<StatePill connector={connector} />}
              below={
                <>
                  <Scope connector={connector} groupName={group.data?.name ?? t("thisGroup")} />
                  <span className="connector-facts">{facts.join(" · ")}</span>
                </>
              }
              actions={<HeadActions connector={connector} onEdit={edit} />}
            />
            {rights.isPending ? (
              <Loading rows={6} />
            ) : (
              <Tabs tabs={tabs} current={tab} onChoose={(id) => set({ tab: id === "overview" ? undefined : id })} label={t("AboutThisConnector")}>
                {tab === "overview" && (
                  <div className="connector-overview">
                    <StatusCard connector={connector} />
                    <FailuresCard connector={connector} onMessage={(message) => set({ message })} />
                    {maySeeMetrics && (
                      <div className="connector-top">
                        <DeliveriesCard connector={connector} span={spanFrom(search)} onSpan={onSpan} />
                        <ResponseTimeCard connector={connector} />
                      </div>
                    )}
                  </div>
                )}
                {tab === "messages" && (
                  <div className="connector-messages">
                    <MessageList groupId={groupId} filter={{ connectorId }} connectors={[connector]} onOpen={(message) => set({ message })} chips={[]} onClear={() => {}} />
                  </div>
                )}
                {tab === "edit" && <EditTab connector={connector} />}
                {tab === "replays" && <ReplaysTab connector={connector} />}
                {tab === "changes" && <ObjectChanges groupId={connector.groupId} objectId={connector.id} noun={t("connector")} />}
              </Tabs>
            )}
            {search.message && <MessageDrawer id={search.message} connectorName={() => name} onClose={() => set({ message: undefined })} />}
          </div>
        );
      }}
    </QueryView>
  );
}
