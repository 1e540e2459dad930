import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { mayCall, useMay, useRights } from "~/api/may";
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
import { hold, showToast } from "~/ui/toast";
import { TimeText } from "~/ui/time-text";
import { nameOr } from "~/ui/name";
import { Scope, StatePill } from "./connectors-page";
import { ObjectChanges } from "~/pages/audit/object-changes";
import { DeliveriesCard, ResponseTimeCard } from "./deliveries-card";
import { EditTab } from "./edit-tab";
import { FilterEditor } from "./filter-editor";
import { countText } from "./health";
import { destinationOf, keepsSentence, parseParams, retrySentence } from "./params";
import { connectorQuery, healthQuery, refreshConnector, type Connector } from "./queries";
import { ReplaysTab } from "./replays";
import type { ConnectorSearch, ConnectorTab } from "./search";
import { DISABLED_MEANS, useToggle } from "./toggle";
import "./connectors.css";

const route = getRouteApi("/frame/g/$groupId/connectors/$connectorId");

function ResendButton({ connector }: { connector: Connector }) {
  const client = useQueryClient();
  const health = useQuery(healthQuery(connector.groupId, connector.id)).data;
  const mayResend = useMay(connector.groupId, "POST /connector/resendData");
  const resend = useMutation({
    mutationFn: () => read(api.POST("/connector/resendData", { body: { groupId: connector.groupId, connectorId: connector.id } })),
    onSuccess: (changed) => {
      refreshConnector(client, changed);
      void client.invalidateQueries({ queryKey: ["messages"] });
      showToast("Dead letters are being sent again, oldest first.");
    },
    onError: (error) => showToast(error.message, { tone: "bad" }),
  });
  // How many there are comes later than that there are some; the button has its place from the beginning.
  const isAny = health ? health.deadLetters > 0 : connector.dataFailurePolicy?.hasData === true;
  if (!mayResend || !isAny) return null;
  const isResending = connector.dataFailurePolicy?.resending === true;
  const waits = isResending ? "It is being done." : health ? undefined : "They are being counted.";
  return (
    <Button writes onClick={() => resend.mutate()} disabledReason={waits} disabled={resend.isPending}>
      {isResending ? (
        "Resending…"
      ) : (
        <span>
          Resend {health ? countText(health.deadLetters) : "…"}
          <span className="if-wide"> {health?.deadLetters === 1 ? "dead letter" : "dead letters"}</span>
        </span>
      )}
    </Button>
  );
}

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
    hold(`${name} will be deleted, with its queue and its history.`, async () => {
      await read(api.DELETE("/connector", { params: { query: { groupId, connectorId: id } } }));
      void client.invalidateQueries({ queryKey: ["connectors", groupId] });
    });
    void navigate({ to: "/g/$groupId/connectors", params: { groupId } });
  };
  useShortcuts(mayWrite ? [{ key: "e", label: "Edit", run: onEdit }] : []);
  return (
    <>
      {mayWrite && (
        <Button writes onClick={() => toggle.mutate(!isOn)} title={isOn ? DISABLED_MEANS : undefined}>
          {isOn ? "Disable" : "Enable"}
        </Button>
      )}
      <ResendButton connector={connector} />
      {mayWrite && (
        <Button look="primary" onClick={onEdit}>
          Edit
        </Button>
      )}
      {mayCall(rights, "DELETE /connector") && <Menu label={<span aria-label="More actions">⋯</span>} items={[{ label: "Delete", writes: true, look: "danger", onSelect: remove }]} />}
    </>
  );
}

function ErrorLine({ connector }: { connector: Connector }) {
  const { error, filterFailing } = connector;
  const next = useQuery(healthQuery(connector.groupId, connector.id)).data?.nextAttemptAt;
  if (!error?.message) return null;
  const tone = error.since ? "figure-bad" : filterFailing ? "figure-warn" : "ink-2";
  const since = error.since ?? filterFailing?.since;
  return (
    <p className={`error-line ${tone}`}>
      {since && (
        <>
          Failing since <TimeText at={since} withAgo />.{" "}
        </>
      )}
      Last error: {error.message} · <TimeText at={error.at} withAgo />
      {error.since && next && (
        <>
          {" "}
          · next attempt <TimeText at={next} />
        </>
      )}
    </p>
  );
}

const TABS: readonly { id: ConnectorTab; label: string }[] = [
  { id: "messages", label: "Messages" },
  { id: "edit", label: "Edit" },
  { id: "replays", label: "Replays" },
  { id: "changes", label: "Changes" },
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
  const edit = () => {
    set({ tab: "edit" });
    // After the panel has taken the place of the one before.
    setTimeout(() => document.getElementById("tab-edit")?.scrollIntoView({ block: "start" }), 50);
  };
  const tab = search.tab ?? "messages";
  const tabs = TABS.filter((each) => each.id !== "changes" || mayCall(rights, "GET /group/audit"));
  const maySeeMetrics = mayCall(rights, "GET /connector/metrics");
  return (
    <QueryView query={query} operation="GET /connector" groupId={groupId} noun="connector">
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
                    Connectors
                  </Link>
                </>
              }
              state={<StatePill connector={connector} />}
              below={
                <>
                  <Scope connector={connector} groupName={group.data?.name ?? "this group"} />
                  <span className="connector-facts">{facts.join(" · ")}</span>
                </>
              }
              actions={<HeadActions connector={connector} onEdit={edit} />}
            />
            <ErrorLine connector={connector} />
            {rights.isPending ? (
              <Loading rows={6} />
            ) : (
              <>
                {maySeeMetrics && (
                  <div className="connector-top">
                    <DeliveriesCard connector={connector} span={spanFrom(search)} onSpan={onSpan} />
                    <ResponseTimeCard connector={connector} />
                  </div>
                )}
                <FilterEditor key={connector.id} connector={connector} />
                <Tabs tabs={tabs} current={tab} onChoose={(id) => set({ tab: id === "messages" ? undefined : id })} label="About this connector">
                  {tab === "messages" && (
                    <div className="connector-messages">
                      <MessageList groupId={groupId} filter={{ connectorId }} connectors={[connector]} onOpen={(message) => set({ message })} chips={[]} onClear={() => {}} />
                    </div>
                  )}
                  {tab === "edit" && <EditTab connector={connector} />}
                  {tab === "replays" && <ReplaysTab connector={connector} />}
                  {tab === "changes" && <ObjectChanges groupId={connector.groupId} objectId={connector.id} noun="connector" />}
                </Tabs>
              </>
            )}
            {search.message && <MessageDrawer id={search.message} connectorName={() => name} onClose={() => set({ message: undefined })} />}
          </div>
        );
      }}
    </QueryView>
  );
}
