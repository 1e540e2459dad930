import { useEffect, useMemo, useRef, useState } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { ApiProblem, CONSOLE_HEADERS, api, read, type Schemas } from "~/api/client";
import { useMay, useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { BASE_PATH } from "~/base-path";
import { AttemptsTable } from "~/pages/messages/attempts";
import { isDelivered, stateWords } from "~/pages/messages/words";
import { useDeviceNames } from "~/pages/devices/device-picker";
import { Button } from "~/ui/button";
import { useUnsaved } from "~/ui/drafts";
import { MoreFields, TextArea, fieldError, fieldErrors } from "~/ui/field";
import { Card, PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { ErrorState, QueryView } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { TimeText } from "~/ui/time-text";
import { Locked } from "~/ui/why";
import { draftOf, emptyForm, words, type ConnectorForm } from "./form";
import { FormatFields, KindsField, NameFields, POLICY_NAMES, ParamFields, PolicyFields, ScopeFields } from "./form-fields";
import type { PreviewItem } from "./preview";
import { MistakePlace, PreviewRows, PreviewSummary, WouldSend, chosenIndex, usePreview } from "./preview-panel";
import { connectorTypesQuery, type Connector } from "./queries";
import { fieldsOf, type FormField } from "./schema-form";
import { scopeSentence } from "./scope";
import { replayOne, saveFinal, saveForTest } from "./test-delivery";
import "./connectors.css";

const route = getRouteApi("/frame/g/$groupId/connectors/new");

const TYPE_HINTS: Readonly<Record<string, string>> = {
  http: "A request to a URL for each message, signed by Standard Webhooks",
  mqtt: "Published to a topic of your broker, QoS 1",
  nats: "Stored by a JetStream stream",
  amqp: "To an exchange or a queue of RabbitMQ",
  kafka: "To a topic, confirmed by all in-sync replicas",
};

function TypeCards({ types, current, onChoose }: { types: readonly Schemas["ConnectorType"][]; current: string | undefined; onChoose: (type: string) => void }) {
  return (
    <div className="type-cards" role="group" aria-label="Type of destination">
      {types.map((each) => (
        <button key={each.type} type="button" className="type-card" aria-pressed={each.type === current} onClick={() => onChoose(each.type)}>
          <strong>{each.name ?? each.type}</strong>
          <span>{TYPE_HINTS[each.type] ?? each.type}</span>
        </button>
      ))}
    </div>
  );
}

// The message of the test, until its only attempt has an outcome.
function TestOutcome({ connector, since }: { connector: Connector; since: string }) {
  const { groupId, id: connectorId } = connector;
  const query = useQuery({
    queryKey: ["test-delivery", connectorId, since],
    queryFn: async ({ signal }) => {
      const page = await read(api.GET("/connector/messages", { params: { query: { groupId, connectorId, limit: 1 } }, signal }));
      const id = page.items[0]?.id;
      return id ? read(api.GET("/connector/message", { params: { query: { id } }, signal })) : null;
    },
    refetchInterval: ({ state }) => (state.data && !["queued", "sending"].includes(state.data.state) ? false : 500),
  });
  const message = query.data;
  const state = message ? stateWords(message.state, message.attempts.filter((each) => !isDelivered(each)).length) : null;
  const isOver = message && !["queued", "sending"].includes(message.state);
  return (
    <div className="form" role="status" aria-live="polite">
      {!message || !state ? (
        <p className="ink-2">It is being sent…</p>
      ) : (
        <>
          <p>
            <Pill tone={isOver && message.state !== "succeeded" ? "bad" : state.tone}>{message.state === "failed" ? "not delivered" : state.label}</Pill>{" "}
            <span className="ink-2">{message.event.message ?? ""}</span>{" "}
            <Link to="/m/$messageId" params={{ messageId: message.event.id ?? "" }} target="_blank">
              Trace
            </Link>
          </p>
          <AttemptsTable attempts={message.attempts} label="Attempts of the test" />
        </>
      )}
    </div>
  );
}

function TestDelivery({ groupId, form, fields, record, created, onCreated }: {
  groupId: string;
  form: ConnectorForm;
  fields: readonly FormField[];
  record: PreviewItem | undefined;
  created: Connector | null;
  onCreated: (connector: Connector) => void;
}) {
  const [since, setSince] = useState<string | null>(null);
  const test = useMutation({
    mutationFn: async (item: PreviewItem) => {
      const connector = await saveForTest(groupId, created, form, fields, item);
      onCreated(connector);
      await replayOne(connector, item);
      return new Date().toISOString();
    },
    onSuccess: setSince,
    onMutate: () => setSince(null),
  });
  return (
    <Card title="4 Test" note="a real delivery of one stored record" className="form">
      <div className="form">
        {record ? (
          <>
            <p className="ink-2">
              Sends the record of <TimeText at={record.timestamp} precision="recent" /> to your destination, once. Nothing else is forwarded meanwhile.
            </p>
            <div>
              <Button writes onClick={() => test.mutate(record)} disabled={test.isPending}>
                {since ? "Send again" : "Send a test"}
              </Button>
            </div>
          </>
        ) : (
          <p className="ink-2">No record is stored yet that could be sent. Save it, and watch the first one in its messages.</p>
        )}
        {test.error && <ErrorState error={test.error} />}
        {since && created && <TestOutcome connector={created} since={since} />}
      </div>
    </Card>
  );
}

function Guide({ groupId, type }: { groupId: string; type: Schemas["ConnectorType"] }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const group = useQuery(groupQuery(groupId));
  const mayRead = useMay(groupId, "GET /group/records");
  const mayResend = useMay(groupId, "POST /connector/replay");
  const fields = useMemo(() => fieldsOf(type.expectedParameters), [type]);
  const [form, setForm] = useState(() => emptyForm(type.type));
  const [chosen, setChosen] = useState<number | null>(null);
  const [created, setCreated] = useState<Connector | null>(null);
  // What only a test has made is deleted when the page is left without saving.
  const leftOver = useRef<Connector | null>(null);
  leftOver.current = created;
  useEffect(() => {
    const discard = () => {
      const left = leftOver.current;
      leftOver.current = null;
      if (!left) return;
      const query = new URLSearchParams({ groupId: left.groupId, connectorId: left.id });
      void fetch(`${BASE_PATH}/connector?${query.toString()}`, { method: "DELETE", headers: CONSOLE_HEADERS, credentials: "same-origin", keepalive: true });
    };
    // A page that the browser keeps for going back still has its connector.
    const onHide = (event: PageTransitionEvent) => !event.persisted && discard();
    window.addEventListener("pagehide", onHide);
    return () => {
      window.removeEventListener("pagehide", onHide);
      discard();
    };
  }, []);
  const isFilled = fields.every((each) => !each.isRequired || (form.values[each.path] ?? "").trim());
  const preview = usePreview(groupId, null, draftOf(form, fields), mayRead && isFilled);
  const save = useMutation({
    mutationFn: (enabled: boolean) => saveFinal(groupId, created, form, fields, enabled),
    onSuccess: (connector, enabled) => {
      leftOver.current = null;
      setCreated(null);
      void client.invalidateQueries({ queryKey: ["connectors", groupId] });
      showToast(enabled ? `${connector.name || "The connector"} forwards from now on.` : `${connector.name || "The connector"} is saved and disabled.`);
      void navigate({ to: "/g/$groupId/connectors/$connectorId", params: { groupId, connectorId: connector.id } });
    },
  });
  const saveProblem = save.error instanceof ApiProblem ? save.error : null;
  const problem = saveProblem ?? (isFilled ? preview.problem : null);
  const [isTyped, setTyped] = useState(false);
  useUnsaved(isTyped && !save.isPending && !save.isSuccess);
  const onChange = (change: Partial<ConnectorForm>) => {
    save.reset();
    setTyped(true);
    setForm((before) => ({ ...before, ...change }));
  };
  const props = { form, fields, problem, refusal: saveProblem, onChange };
  const items = isFilled ? (preview.items ?? []) : [];
  const at = chosenIndex(items, chosen);
  const chosenNames = useDeviceNames(groupId, words(form.deviceIds));
  const scope = scopeSentence({
    groupName: group.data?.name ?? "this group",
    withSubgroups: form.values.subgroups === "true",
    kinds: words(form.values.kinds ?? ""),
    deviceTypes: words(form.deviceTypes),
    devices: chosenNames,
    filter: form.messageFilter,
  });
  return (
    <>
      <div className="edit-form">
        <div className="form-column">
          <Card title="2 Destination" note={type.name ?? type.type} className="form">
            <ParamFields {...props} />
          </Card>
          <Card title="3 What it forwards" note="tried on the last records as you type" className="form">
            <p className="scope">Forwards {scope}</p>
            <TextArea
              label="Filter"
              hint="CEL over message; empty for everything. For example message.values.celsius > 8"
              isCode
              rows={2}
              aria-invalid={fieldError(problem, "messageFilter") ? true : undefined}
              value={form.messageFilter}
              onChange={(event) => onChange({ messageFilter: event.target.value })}
            />
            <MistakePlace expression={form.messageFilter} message={fieldError(problem, "messageFilter")} />
            <KindsField {...props} />
            <ScopeFields groupId={groupId} {...props} />
            <FormatFields {...props} formats={type.formatAvailable ?? ["json"]} />
            {!isFilled && <p className="ink-2">Fill in the destination to see which records pass and what would be sent.</p>}
            <PreviewSummary preview={isFilled ? preview : { items: null, problem: null, error: null, isFetching: false }} isChanged={false} />
            {items.length > 0 && <PreviewRows items={items} chosen={at} onChoose={setChosen} isChanged={false} />}
          </Card>
        </div>
        <div className="form-column">
          <Card title="Name" className="form">
            <NameFields {...props} />
          </Card>
          <Card title="Retries and dead letters" className="form">
            <MoreFields summary="5 attempts within 2 h, dead letters are kept 7 days" error={fieldErrors(problem, POLICY_NAMES)} refusal={saveProblem}>
              <PolicyFields {...props} />
            </MoreFields>
          </Card>
          {isFilled && <WouldSend item={items[at]} />}
          {isFilled && mayResend && <TestDelivery groupId={groupId} form={form} fields={fields} record={items[at]} created={created} onCreated={setCreated} />}
        </div>
        {save.error && !(saveProblem && saveProblem.fields.length > 0) && <ErrorState error={save.error} />}
        <div className="form-actions edit-actions">
          <Button look="primary" onClick={() => save.mutate(true)} disabledReason={isFilled ? undefined : "The destination is not filled in yet."} disabled={save.isPending}>
            Save and forward
          </Button>
          <Button writes onClick={() => save.mutate(false)} disabledReason={isFilled ? undefined : "The destination is not filled in yet."} disabled={save.isPending}>
            Save disabled
          </Button>
          {saveProblem && saveProblem.fields.length > 0 && (
            <span className="field-error" role="alert">
              {saveProblem.fields.length === 1 ? "One field is wrong." : `${saveProblem.fields.length} fields are wrong.`} Nothing is saved.
            </span>
          )}
        </div>
      </div>
    </>
  );
}

export function NewConnectorPage() {
  const { groupId } = route.useParams();
  const { type } = route.useSearch();
  const navigate = useNavigate();
  const rights = useRights(groupId);
  const mayCreate = useMay(groupId, "POST /connector");
  const group = useQuery(groupQuery(groupId));
  const types = useQuery(connectorTypesQuery);
  const choose = (next: string) => void navigate({ to: ".", search: (before: object) => ({ ...before, type: next }) } as never);
  return (
    <>
      <PageHeader
        title="New connector"
        above={
          <>
            {group.data?.name} /{" "}
            <Link to="/g/$groupId/connectors" params={{ groupId }}>
              Connectors
            </Link>
          </>
        }
      />
      {rights.isKnown && !mayCreate ? (
        <Locked label="New connector" operation="POST /connector" groupId={groupId} />
      ) : (
        <QueryView query={types} skeletonRows={3}>
          {(all) => {
            const chosen = all.find((each) => each.type === type);
            return (
              <>
                <Card title="1 Where to?">
                  <TypeCards types={all} current={chosen?.type} onChoose={choose} />
                </Card>
                {chosen && <Guide key={chosen.type} groupId={groupId} type={chosen} />}
              </>
            );
          }}
        </QueryView>
      )}
    </>
  );
}
