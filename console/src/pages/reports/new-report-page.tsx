import { useMemo, useState } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { ApiProblem, type Schemas } from "~/api/client";
import { mayCall, useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { useZone } from "~/frame/page-state";
import { notificationTypesQuery } from "~/pages/notifications/queries";
import { Button } from "~/ui/button";
import { sendByKeys } from "~/ui/keys";
import { PageHeader } from "~/ui/page";
import { ErrorState, Loading, QueryView } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { Locked } from "~/ui/why";
import { bodyOf, emptyForm, isComplete } from "./form";
import { createReport, reportsQuery } from "./queries";
import { ReportFields, firstContent } from "./report-fields";
import { channelOf } from "./channels";
import "~/pages/connectors/connectors.css";
import "~/pages/notifications/notifications.css";
import "./reports.css";

const route = getRouteApi("/frame/g/$groupId/reports/new");

function NewFields({ groupId, types }: { groupId: string; types: readonly Schemas["NotificationType"][] }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const zone = useZone() || Intl.DateTimeFormat().resolvedOptions().timeZone;
  const rights = useRights(groupId);
  const { fields, noMail } = useMemo(() => channelOf(types, rights.isOperator), [types, rights.isOperator]);
  const [form, setForm] = useState(() => ({ ...emptyForm(zone), content: firstContent(rights), ...(noMail ? { to: "webhook" as const } : {}) }));
  const save = useMutation({
    mutationFn: () => createReport({ groupId, ...bodyOf(form, fields) }),
    onSuccess: (created) => {
      client.setQueryData(reportsQuery(groupId).queryKey, (before) => before && [...before, created]);
      void client.invalidateQueries({ queryKey: reportsQuery(groupId).queryKey });
      showToast(`${created.name ?? "It"} is sent from now on.`);
      void navigate({ to: "/g/$groupId/reports/$reportId", params: { groupId, reportId: created.id } });
    },
  });
  const problem = save.error instanceof ApiProblem ? save.error : null;
  const missing = isComplete(form, fields);
  return (
    <form
      className="edit-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!save.isPending && !missing) save.mutate();
      }}
      onKeyDown={sendByKeys}
    >
      <ReportFields groupId={groupId} form={form} fields={fields} noMail={noMail} problem={problem} onChange={(change) => setForm((before) => ({ ...before, ...change }))} />
      {save.error && !(problem && problem.fields.length > 0) && <ErrorState error={save.error} />}
      <div className="form-actions edit-actions">
        <Button look="primary" type="submit" disabledReason={missing} disabled={save.isPending}>
          Save
        </Button>
        {problem && problem.fields.length > 0 && (
          <span className="field-error" role="alert">
            {problem.fields.length === 1 ? "One field is wrong." : `${problem.fields.length} fields are wrong.`} Nothing is saved.
          </span>
        )}
      </div>
    </form>
  );
}

export function NewReportPage() {
  const { groupId } = route.useParams();
  const rights = useRights(groupId);
  const group = useQuery(groupQuery(groupId));
  const types = useQuery(notificationTypesQuery);
  return (
    <>
      <PageHeader
        title="New report"
        above={
          <>
            {group.data?.name} /{" "}
            <Link to="/g/$groupId/reports" params={{ groupId }}>
              Reports
            </Link>
          </>
        }
      />
      {rights.isKnown && !mayCall(rights, "POST /report") ? (
        <Locked label="New report" operation="POST /report" groupId={groupId} />
      ) : (
        <QueryView query={types} skeletonRows={8}>
          {(all) => (rights.isPending ? <Loading /> : <NewFields groupId={groupId} types={all} />)}
        </QueryView>
      )}
    </>
  );
}
