import { useMemo } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import type { Schemas } from "~/api/client";
import { useRights } from "~/api/may";
import { useZone } from "~/frame/page-state";
import { notificationTypesQuery } from "~/pages/notifications/queries";
import { NewForm, NewPage, problemOf, useNewDraft } from "~/ui/new-form";
import { showToast } from "~/ui/toast";
import { bodyOf, emptyForm, isComplete } from "./form";
import { createReport, reportsQuery } from "./queries";
import { ReportFields, firstContent } from "./report-fields";
import { channelOf } from "./channels";
import { t } from "~/messages/reports";
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
  const { form, isChanged, change } = useNewDraft(() => ({ ...emptyForm(zone), content: firstContent(rights), ...(noMail ? { to: "webhook" as const } : {}) }));
  const save = useMutation({
    mutationFn: () => createReport({ groupId, ...bodyOf(form, fields) }),
    onSuccess: (created) => {
      client.setQueryData(reportsQuery(groupId).queryKey, (before) => before && [...before, created]);
      void client.invalidateQueries({ queryKey: reportsQuery(groupId).queryKey });
      showToast(t("nameIsSentFromNowOn", { name: created.name ?? t("It") }));
      void navigate({ to: "/g/$groupId/reports/$reportId", params: { groupId, reportId: created.id } });
    },
  });
  const problem = problemOf(save);
  return (
    <NewForm save={save} isChanged={isChanged} missing={isComplete(form, fields)}>
      <ReportFields groupId={groupId} form={form} fields={fields} noMail={noMail} problem={problem} onChange={change} />
    </NewForm>
  );
}

export function NewReportPage() {
  const { groupId } = route.useParams();
  return (
    <NewPage groupId={groupId} title={t("NewReport")} list={{ to: "/g/$groupId/reports", label: t("Reports") }} operation="POST /report" query={useQuery(notificationTypesQuery)}>
      {(types) => <NewFields groupId={groupId} types={types} />}
    </NewPage>
  );
}
