import { useMemo, useState } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { ApiProblem, api, read, type Schemas } from "~/api/client";
import { useMay, useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { useDeviceNames } from "~/pages/devices/device-picker";
import { Button } from "~/ui/button";
import { useUnsaved } from "~/ui/drafts";
import { MoreFields, TextArea, fieldError, fieldErrors } from "~/ui/field";
import { Card, PageHeader } from "~/ui/page";
import { ErrorState, QueryView } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { TimeText } from "~/ui/time-text";
import { Locked } from "~/ui/why";
import { bodyOf, draftOf, emptyForm, words, type ConnectorForm } from "./form";
import { FormatFields, KindsField, NameFields, POLICY_NAMES, ParamFields, PolicyFields, ScopeFields } from "./form-fields";
import type { PreviewItem } from "./preview";
import { MistakePlace, PreviewRows, PreviewSummary, WouldSend, chosenIndex, usePreview } from "./preview-panel";
import { connectorTypesQuery } from "./queries";
import { fieldsOf, type FormField } from "./schema-form";
import { scopeSentence } from "./scope";
import { TestResult, sendTest } from "./send-test";
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

function TestCard({ groupId, form, fields, record }: { groupId: string; form: ConnectorForm; fields: readonly FormField[]; record: PreviewItem | undefined }) {
  const test = useMutation({
    mutationFn: () => {
      const { type, params, format } = draftOf(form, fields);
      return sendTest({ groupId, draft: { type, params, format }, ...(record?.recordId ? { recordId: record.recordId } : {}) });
    },
  });
  return (
    <Card title="4 Test" note="one delivery, now" className="form">
      <p className="ink-2">
        {record?.recordId ? (
          <>
            Sends the record of <TimeText at={record.timestamp} precision="recent" /> to your destination, once.
          </>
        ) : (
          "Sends a sample to your destination, once."
        )}{" "}
        Nothing is saved, and nothing else is sent.
      </p>
      <div>
        <Button writes onClick={() => test.mutate()} disabled={test.isPending}>
          {test.data ? "Send again" : "Send a test"}
        </Button>
      </div>
      {test.isPending && <p className="ink-2">It is being sent…</p>}
      {test.error && <ErrorState error={test.error} operation="POST /connector/test" groupId={groupId} />}
      {test.data && !test.isPending && <TestResult reply={test.data} />}
    </Card>
  );
}

function Guide({ groupId, type }: { groupId: string; type: Schemas["ConnectorType"] }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const group = useQuery(groupQuery(groupId));
  const mayRead = useMay(groupId, "GET /group/records");
  const fields = useMemo(() => fieldsOf(type.expectedParameters), [type]);
  const [form, setForm] = useState(() => emptyForm(type.type));
  const [chosen, setChosen] = useState<number | null>(null);
  const isFilled = fields.every((each) => !each.isRequired || (form.values[each.path] ?? "").trim());
  const preview = usePreview(groupId, null, draftOf(form, fields), mayRead && isFilled);
  const save = useMutation({
    mutationFn: (enabled: boolean) => {
      const { retry, ...draft } = bodyOf(form, fields);
      return read(api.POST("/connector", { body: { ...draft, groupId, enabled, ...(retry ? { retryPolicy: retry } : {}) } }));
    },
    onSuccess: (connector, enabled) => {
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
          {isFilled && <TestCard groupId={groupId} form={form} fields={fields} record={items[at]} />}
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
