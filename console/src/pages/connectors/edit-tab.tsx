// The form of a connector.
import { useMemo, useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { fetchNewest } from "~/api/queries";
import { EditForm, useEdit } from "~/ui/edit";
import { TextArea, fieldError } from "~/ui/field";
import { Card } from "~/ui/page";
import { ErrorState, Loading } from "~/ui/state";
import { Locked } from "~/ui/why";
import { bodyOf, differences, draftOf, formOf, type ConnectorForm } from "./form";
import { FormatFields, KindsField, NameFields, ParamFields, PolicyFields, ScopeFields } from "./form-fields";
import { fieldsOf, paramNames, type FormField } from "./schema-form";
import { MistakePlace, PreviewRows, PreviewSummary, WouldSend, chosenIndex, usePreview } from "./preview-panel";
import { SigningSecretCard } from "./signing-secret";
import { connectorQuery, connectorTypesQuery, refreshConnector, type Connector } from "./queries";
import { t } from "~/messages/connectors";

const WIRE_FIELDS = ["name", "description", "deviceTypes", "deviceIds", "messageFilter", "format", "retryPolicy", "dataFailurePolicy", "tags"];

function updateBody(before: Connector, form: ConnectorForm, fields: readonly FormField[]) {
  const { retry, name, ...rest } = bodyOf(form, fields);
  const { groupId, id: connectorId, updatedAt: ifUpdatedAt } = before;
  // One that has no name need not get one, and an empty text restores the service's own backoff.
  return { groupId, connectorId, ...rest, ...(name || before.name ? { name } : {}), retryPolicy: retry ?? "", ifUpdatedAt };
}

function storingDurationOf({ dataFailurePolicy }: Connector): number {
  return dataFailurePolicy?.storingDuration ?? 0;
}

// What a preview tries instead of what is saved; null while nothing of it is changed.
function previewDraft(form: ConnectorForm, stored: ConnectorForm, fields: readonly FormField[]): Schemas["PreviewDraft"] | null {
  const [mine, saved] = [draftOf(form, fields), draftOf(stored, fields)];
  const changed = Object.entries(mine).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(saved[name as keyof typeof saved]));
  return changed.length > 0 ? Object.fromEntries(changed) : null;
}

function Cards({ connector, fields, formats }: { connector: Connector; fields: readonly FormField[]; formats: readonly string[] }) {
  const client = useQueryClient();
  const mayRead = useMay(connector.groupId, "GET /group/records");
  const [chosen, setChosen] = useState<number | null>(null);
  const edit = useEdit({
    stored: connector,
    formOf: (version) => formOf(version, fields),
    put: (form, before) => read(api.PUT("/connector", { body: updateBody(before, form, fields) })),
    restore: (version, before) => {
      const dataFailurePolicy = { storingDuration: storingDurationOf(version) };
      return read(api.PUT("/connector", { body: { ...updateBody(before, formOf(version, fields), fields), params: version.params, dataFailurePolicy } }));
    },
    isSame: (one, other) =>
      one.params === other.params && storingDurationOf(one) === storingDurationOf(other) && differences(formOf(one, fields), formOf(other, fields), fields).length === 0,
    readNewest: () => fetchNewest(connectorQuery(connector.groupId, connector.id)),
    onStored: (version) => {
      refreshConnector(client, version);
      for (const key of ["audit", "connector-preview"]) void client.invalidateQueries({ queryKey: [key] });
    },
    compare: (mine, theirs) => differences(mine, theirs, fields),
    savedText: t("Saved"),
    fields: [...WIRE_FIELDS, ...paramNames(fields)],
  });
  const { form, change } = edit;
  const draft = previewDraft(form, formOf(connector, fields), fields);
  const preview = usePreview(connector.groupId, connector.id, draft, mayRead);
  const mistake = draft?.messageFilter === undefined ? undefined : fieldError(preview.problem, "messageFilter");
  const items = preview.items ?? [];
  const at = chosenIndex(items, chosen);
  const props = { form, fields, problem: edit.submission.problem, onChange: change };
  return (
    <EditForm edit={edit} className="edit-form" actionsClass="edit-actions" reason={mistake ? t("filterHasMistake") : undefined}>
      <div className="form-column">
        <Card title={t("WhatItForwards")} note={t("triedOnLastRecordsAsYou")} className="form">
          <TextArea
            label={t("Filter")}
            hint={t("CELOverMessageEmptyForEverything")}
            isCode
            rows={Math.min(8, Math.max(2, form.messageFilter.split("\n").length))}
            spellCheck={false}
            aria-invalid={mistake ? true : undefined}
            error={mistake ? undefined : edit.submission.errorOf("messageFilter")}
            value={form.messageFilter}
            onChange={(event) => change({ messageFilter: event.target.value })}
          />
          <MistakePlace expression={form.messageFilter} message={mistake} />
          {mistake && <p className="ink-2">{t("savedFilterStaysInUse")}</p>}
          {mayRead ? (
            <>
              <PreviewSummary preview={preview} isChanged={draft !== null} />
              {items.length > 0 && <PreviewRows items={items} chosen={at} onChoose={setChosen} isChanged={draft !== null} />}
            </>
          ) : (
            <p className="ink-2">{t("YouMayNotReadRecordsHere")}</p>
          )}
          <KindsField {...props} />
          <ScopeFields groupId={connector.groupId} {...props} />
          <FormatFields {...props} formats={formats} />
        </Card>
        <WouldSend item={items[at]} />
        <Card title={t("Name")} className="form">
          <NameFields {...props} />
        </Card>
      </div>
      <div className="form-column">
        <Card title={t("Destination")} note={connector.type} className="form">
          <ParamFields {...props} />
        </Card>
        <Card title={t("RetriesAndDeadLetters")} className="form">
          <PolicyFields {...props} />
        </Card>
      </div>
    </EditForm>
  );
}

// Somebody who may not change it sees what it forwards.
function ReadOnlyFilter({ connector }: { connector: Connector }) {
  const mayRead = useMay(connector.groupId, "GET /group/records");
  const [chosen, setChosen] = useState<number | null>(null);
  const preview = usePreview(connector.groupId, connector.id, null, mayRead);
  const items = preview.items ?? [];
  const at = chosenIndex(items, chosen);
  return (
    <div className="edit-form">
      <Card title={t("WhatItForwards")} className="form">
        <TextArea label={t("Filter")} isCode readOnly rows={2} placeholder={t("EverythingPasses")} value={connector.messageFilter ?? ""} />
        <PreviewSummary preview={preview} isChanged={false} />
        {items.length > 0 && <PreviewRows items={items} chosen={at} onChoose={setChosen} isChanged={false} />}
      </Card>
      {mayRead && <WouldSend item={items[at]} />}
    </div>
  );
}

export function EditTab({ connector }: { connector: Connector }) {
  const types = useQuery(connectorTypesQuery);
  const mayWrite = useMay(connector.groupId, "PUT /connector");
  const type = types.data?.find((each) => each.type === connector.type);
  const fields = useMemo(() => (type ? fieldsOf(type.expectedParameters) : []), [type]);
  if (!mayWrite)
    return (
      <div className="connector-overview">
        <Locked label={t("Edit")} operation="PUT /connector" groupId={connector.groupId} />
        <ReadOnlyFilter connector={connector} />
      </div>
    );
  if (types.isError) return <ErrorState error={types.error} onRetry={() => void types.refetch()} />;
  if (!type) return <Loading rows={6} />;
  return (
    <div className="connector-overview">
      <Cards key={connector.id} connector={connector} fields={fields} formats={type.formatAvailable ?? ["json"]} />
      <SigningSecretCard connector={connector} />
    </div>
  );
}
