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
import { t } from "~/messages/connectors";
import "./connectors.css";

const route = getRouteApi("/frame/g/$groupId/connectors/new");

const TYPE_HINTS: Readonly<Record<string, string>> = {
  http: t("requestToURLForEachMessage"),
  mqtt: t("PublishedToTopicOfYourBroker"),
  nats: t("StoredByJetStreamStream"),
  amqp: t("ToExchangeOrQueueOfRabbitMQ"),
  kafka: t("ToTopicConfirmedByAllIn"),
};

function TypeCards({ types, current, onChoose }: { types: readonly Schemas["ConnectorType"][]; current: string | undefined; onChoose: (type: string) => void }) {
  return (
    <div className="type-cards" role="group" aria-label={t("TypeOfDestination")}>
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
    <Card title="4 Test" note={t("oneDeliveryNow")} className="form">
      <p className="ink-2">
        {record?.recordId ? (
          <>
            {t.rich("SendsRecordOfTimeToYour", { time: <TimeText at={record.timestamp} precision="recent" /> })}
          </>
        ) : (
          t("SendsSampleToYourDestinationOnce")
        )}{" "}
        {t("NothingIsSavedAndNothingElse")}
      </p>
      <div>
        <Button writes onClick={() => test.mutate()} disabled={test.isPending}>
          {test.data ? t("SendAgain") : t("SendTest")}
        </Button>
      </div>
      {test.isPending && <p className="ink-2">{t("ItIsBeingSent")}</p>}
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
      showToast(enabled ? t("valueForwardsFromNowOn", { value: connector.name || t("connector2") }) : t("valueIsSavedAndDisabled", { value: connector.name || t("connector2") }));
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
    groupName: group.data?.name ?? t("thisGroup"),
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
          <Card title={t("n3WhatItForwards")} note={t("triedOnLastRecordsAsYou")} className="form">
            <p className="scope">{t("ForwardsScope", { scope })}</p>
            <TextArea
              label={t("Filter")}
              hint={t("CELOverMessageEmptyForEverything")}
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
            {!isFilled && <p className="ink-2">{t("FillInDestinationToSeeWhich")}</p>}
            <PreviewSummary preview={isFilled ? preview : { items: null, problem: null, error: null, isFetching: false }} isChanged={false} />
            {items.length > 0 && <PreviewRows items={items} chosen={at} onChoose={setChosen} isChanged={false} />}
          </Card>
        </div>
        <div className="form-column">
          <Card title={t("Name")} className="form">
            <NameFields {...props} />
          </Card>
          <Card title={t("RetriesAndDeadLetters")} className="form">
            <MoreFields summary={t("n5AttemptsWithin2HDead")} error={fieldErrors(problem, POLICY_NAMES)} refusal={saveProblem}>
              <PolicyFields {...props} />
            </MoreFields>
          </Card>
          {isFilled && <WouldSend item={items[at]} />}
          {isFilled && <TestCard groupId={groupId} form={form} fields={fields} record={items[at]} />}
        </div>
        {save.error && !(saveProblem && saveProblem.fields.length > 0) && <ErrorState error={save.error} />}
        <div className="form-actions edit-actions">
          <Button look="primary" onClick={() => save.mutate(true)} disabledReason={isFilled ? undefined : t("destinationIsNotFilledInYet")} disabled={save.isPending}>
            {t("SaveAndForward")}
          </Button>
          <Button writes onClick={() => save.mutate(false)} disabledReason={isFilled ? undefined : t("destinationIsNotFilledInYet")} disabled={save.isPending}>
            {t("SaveDisabled")}
          </Button>
          {saveProblem && saveProblem.fields.length > 0 && (
            <span className="field-error" role="alert">
              {t("valueNothingIsSaved", { value: t("countFieldsAreWrong", { count: saveProblem.fields.length }) })}
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
        title={t("NewConnector")}
        above={
          <>
            {group.data?.name} /{" "}
            <Link to="/g/$groupId/connectors" params={{ groupId }}>
              {t("Connectors")}
            </Link>
          </>
        }
      />
      {rights.isKnown && !mayCreate ? (
        <Locked label={t("NewConnector")} operation="POST /connector" groupId={groupId} />
      ) : (
        <QueryView query={types} skeletonRows={3}>
          {(all) => {
            const chosen = all.find((each) => each.type === type);
            return (
              <>
                <Card title={t("n1WhereTo")}>
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
