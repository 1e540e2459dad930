// The form of a connector.
import { useMemo } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { fetchNewest } from "~/api/queries";
import { EditForm, useEdit } from "~/ui/edit";
import { TextArea } from "~/ui/field";
import { Card } from "~/ui/page";
import { ErrorState, Loading } from "~/ui/state";
import { Locked } from "~/ui/why";
import { bodyOf, differences, formOf, type ConnectorForm } from "./form";
import { FormatFields, KindsField, NameFields, ParamFields, PolicyFields, ScopeFields } from "./form-fields";
import { fieldsOf, paramNames, type FormField } from "./schema-form";
import { connectorQuery, connectorTypesQuery, refreshConnector, type Connector } from "./queries";

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

function Cards({ connector, fields, formats }: { connector: Connector; fields: readonly FormField[]; formats: readonly string[] }) {
  const client = useQueryClient();
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
      void client.invalidateQueries({ queryKey: ["audit"] });
    },
    compare: (mine, theirs) => differences(mine, theirs, fields),
    savedText: "Saved.",
    fields: [...WIRE_FIELDS, ...paramNames(fields)],
  });
  const { form, change } = edit;
  const props = { form, fields, problem: edit.submission.problem, onChange: change };
  return (
    <EditForm edit={edit} className="edit-form" actionsClass="edit-actions">
      <Card title="Destination" note={connector.type} className="form">
        <ParamFields {...props} />
      </Card>
      <Card title="What it forwards" className="form">
        <TextArea label="Filter" hint="Tried on the last records above." isCode rows={3} error={edit.submission.errorOf("messageFilter")} value={form.messageFilter} onChange={(event) => change({ messageFilter: event.target.value })} />
        <KindsField {...props} />
        <ScopeFields groupId={connector.groupId} {...props} />
        <FormatFields {...props} formats={formats} />
      </Card>
      <Card title="Name" className="form">
        <NameFields {...props} />
      </Card>
      <Card title="Retries and dead letters" className="form">
        <PolicyFields {...props} />
      </Card>
    </EditForm>
  );
}

export function EditTab({ connector }: { connector: Connector }) {
  const types = useQuery(connectorTypesQuery);
  const mayWrite = useMay(connector.groupId, "PUT /connector");
  const type = types.data?.find((each) => each.type === connector.type);
  const fields = useMemo(() => (type ? fieldsOf(type.expectedParameters) : []), [type]);
  if (!mayWrite) return <Locked label="Edit" operation="PUT /connector" groupId={connector.groupId} />;
  if (types.isError) return <ErrorState error={types.error} onRetry={() => void types.refetch()} />;
  if (!type) return <Loading rows={6} />;
  return <Cards key={connector.id} connector={connector} fields={fields} formats={type.formatAvailable ?? ["json"]} />;
}
