// The form of a connector, and what to do when somebody else was faster.
import { useMemo, useState } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { ApiProblem, api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { Button } from "~/ui/button";
import { ConflictDialog } from "~/ui/conflict-dialog";
import { sendByKeys } from "~/ui/keys";
import { Card } from "~/ui/page";
import { ErrorState, Loading } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { TextArea, fieldError } from "~/ui/field";
import { Locked } from "~/ui/why";
import { bodyOf, differences, formOf, mergeForms, type ConnectorForm } from "./form";
import { FormatFields, NameFields, ParamFields, PolicyFields, ScopeFields } from "./form-fields";
import { fieldsOf, type FormField } from "./schema-form";
import { connectorQuery, connectorTypesQuery, refreshConnector, type Connector } from "./queries";

function updateBody(connector: Connector, form: ConnectorForm, fields: readonly FormField[], ifUpdatedAt: string) {
  const { retry, ...rest } = bodyOf(form, fields);
  // An empty text restores the service's own backoff.
  return { groupId: connector.groupId, connectorId: connector.id, ...rest, retryPolicy: retry ?? "", ifUpdatedAt };
}

function EditForm({ connector, fields, formats }: { connector: Connector; fields: readonly FormField[]; formats: readonly string[] }) {
  const client = useQueryClient();
  // What the form began with: a refresh of the page does not change what is being typed.
  const [base, setBase] = useState(connector);
  const baseForm = useMemo(() => formOf(base, fields), [base, fields]);
  const [form, setForm] = useState(baseForm);
  const [theirs, setTheirs] = useState<Connector | null>(null);
  const isChanged = JSON.stringify(form) !== JSON.stringify(baseForm);
  const adopt = (version: Connector) => {
    setBase(version);
    setForm(formOf(version, fields));
    setTheirs(null);
  };
  const save = useMutation({
    // `before` is the version that it is saved over, and that an undo restores: somebody else's, if they were asked about it.
    mutationFn: (given: { form: ConnectorForm; before: Connector }) => read(api.PUT("/connector", { body: updateBody(connector, given.form, fields, given.before.updatedAt) })),
    onSuccess: (changed, { before }) => {
      refreshConnector(client, changed);
      void client.invalidateQueries({ queryKey: ["audit"] });
      adopt(changed);
      const undo = async () => {
        const back = await read(api.PUT("/connector", { body: updateBody(before, formOf(before, fields), fields, changed.updatedAt) }));
        refreshConnector(client, back);
        adopt(back);
      };
      showToast("Saved.", { action: { label: "Undo", run: undo } });
    },
    onError: async (error) => {
      if (!(error instanceof ApiProblem) || error.code !== "changed_meanwhile") return;
      const newest = await client.fetchQuery({ ...connectorQuery(connector.groupId, connector.id), staleTime: 0 });
      setTheirs(newest);
    },
  });
  useBlocker({ shouldBlockFn: () => isChanged && !window.confirm("Leave without saving your changes?"), enableBeforeUnload: isChanged, disabled: !isChanged });
  const problem = save.error instanceof ApiProblem && save.error.code !== "changed_meanwhile" ? save.error : null;
  const submit = (next = form, before = base) => save.mutate({ form: next, before });
  // Undefined where taking both would be the same as taking one of them.
  const mergeOf = (version: Connector): (() => void) | undefined => {
    const newer = formOf(version, fields);
    const merged = mergeForms(baseForm, form, newer);
    const isOneOfThem = differences(merged, form, fields).length === 0 || differences(merged, newer, fields).length === 0;
    if (isOneOfThem) return undefined;
    return () => {
      setTheirs(null);
      setForm(merged);
      submit(merged, version);
    };
  };
  const props = { form, fields, problem, onChange: (change: Partial<ConnectorForm>) => setForm((before) => ({ ...before, ...change })) };
  return (
    <form
      className="edit-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (isChanged && !save.isPending) submit();
      }}
      onKeyDown={sendByKeys}
    >
      <Card title="Destination" note={connector.type} className="form">
        <ParamFields {...props} />
      </Card>
      <Card title="What it takes" className="form">
        <TextArea label="Filter" hint="Tried on the last records above." isCode rows={3} error={fieldError(problem, "messageFilter")} value={form.messageFilter} onChange={(event) => props.onChange({ messageFilter: event.target.value })} />
        <ScopeFields groupId={connector.groupId} {...props} />
        <FormatFields {...props} formats={formats} />
      </Card>
      <Card title="Name" className="form">
        <NameFields {...props} />
      </Card>
      <Card title="Retries and dead letters" className="form">
        <PolicyFields {...props} />
      </Card>
      {save.error && !theirs && !(problem && problem.fields.length > 0) && <ErrorState error={save.error} />}
      <div className="form-actions edit-actions">
        <Button look="primary" type="submit" disabled={!isChanged || save.isPending}>
          Save
        </Button>
        <Button onClick={() => setForm(baseForm)} disabled={!isChanged}>
          Discard
        </Button>
        {problem && problem.fields.length > 0 && (
          <span className="field-error" role="alert">
            {problem.fields.length === 1 ? "One field is wrong." : `${problem.fields.length} fields are wrong.`} Nothing is saved.
          </span>
        )}
      </div>
      {theirs && (
        <ConflictDialog
          rows={differences(form, formOf(theirs, fields), fields)}
          changedAt={theirs.updatedAt}
          onClose={() => setTheirs(null)}
          onTheirs={() => {
            refreshConnector(client, theirs);
            adopt(theirs);
          }}
          onMine={() => {
            setTheirs(null);
            submit(form, theirs);
          }}
          onMerged={mergeOf(theirs)}
        />
      )}
    </form>
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
  return <EditForm connector={connector} fields={fields} formats={type.formatAvailable ?? ["json"]} />;
}
