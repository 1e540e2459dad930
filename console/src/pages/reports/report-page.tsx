import { useMemo, useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMeasurementWords } from "~/alarms/queries";
import { api, read, type Schemas } from "~/api/client";
import { useMay, useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import type { FormField } from "~/pages/connectors/schema-form";
import { useDeviceNames } from "~/pages/devices/device-picker";
import { usePeople } from "~/pages/jobs/queries";
import { notificationTypesQuery } from "~/pages/notifications/queries";
import { Button } from "~/ui/button";
import { IdText } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { EditForm, useEdit } from "~/ui/edit";
import { Card, Facts, PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { ErrorState, Loading, QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { showToast } from "~/ui/toast";
import { Locked } from "~/ui/why";
import { nameOr } from "~/ui/name";
import { channelOf } from "./channels";
import { bodyOf, changesOf, differences, formOf, isComplete } from "./form";
import { fetchReport, noReport, refreshReport, reportsQuery, updateReport, type Report } from "./queries";
import { ReportFields } from "./report-fields";
import { RunPill, causeOf, missedWords, sizeWords, type Run } from "./report-run";
import { SendButton, SendOutcome, type SentReport } from "./send-now";
import { FORMAT_WORDS, aboutWords, contentWords, recipientWords, whenWords } from "./summary";
import { ReportSwitch } from "./toggle";
import { periodWords } from "./words";
import { t } from "~/messages/reports";
import "~/pages/connectors/connectors.css";
import "~/pages/notifications/notifications.css";
import "./reports.css";

const route = getRouteApi("/frame/g/$groupId/reports/$reportId");
const DEVICES_SHOWN_MAX = 10;

function DeviceNames({ groupId, ids }: { groupId: string; ids: readonly string[] }) {
  const shown = ids.slice(0, DEVICES_SHOWN_MAX);
  const names = useDeviceNames(groupId, shown);
  return (
    <>
      {shown.map((each, index) => (
        <span key={each}>
          {index > 0 && ", "}
          <Link to="/d/$deviceId" params={{ deviceId: each }}>
            {names[index] ?? each}
          </Link>
        </span>
      ))}
      {ids.length > shown.length && ` ${t("andValueMore", { value: ids.length - shown.length })}`}
    </>
  );
}

function LastRun({ run, timezone }: { run: Run; timezone: string }) {
  const notes = [sizeWords(run), run.recipients > 0 && t("toRecipientsValue", { recipients: run.recipients, value: t("recipients", { count: run.recipients }) }), run.isTest && t("sentByHand")].filter(Boolean).join(" · ");
  const cause = causeOf(run);
  const missed = missedWords(run);
  return (
    <>
      <div>
        <RunPill run={run} /> <TimeText at={run.at} withAgo precision="minute" />
      </div>
      {cause && <div>{cause}</div>}
      <div className="ink-2">{t("aboutPeriodWords", { periodWords: periodWords({ ...run, timezone }) })}</div>
      {notes && <div className="ink-2">{notes}</div>}
      {missed && <div className="ink-2">{missed}</div>}
    </>
  );
}

function About({ report }: { report: Report }) {
  const { find } = useMeasurementWords(report.groupId);
  const nameOf = usePeople(report.groupId);
  const { deviceId } = report.parameters;
  const devices = [deviceId].flat().filter((each): each is string => typeof each === "string");
  return (
    <Card>
      <Facts
        rows={[
          [t("What"), `${contentWords(report, find)}; ${FORMAT_WORDS[report.format]}`],
          ...(devices.length > 0 ? ([[t("Devices"), <DeviceNames key="devices" groupId={report.groupId} ids={devices} />]] as const) : []),
          [t("When"), t("reportInTimezoneReport2", { report: whenWords(report), timezone: report.timezone, report2: aboutWords(report) })],
          [t("Next"), report.enabled ? <TimeText key="next" at={report.nextAt} withAgo precision="minute" /> : t("notWhileItIsDisabled")],
          [t("To"), recipientWords(report.to)],
          [t("WithPermissionsOf"), nameOf(report.updatedBy)],
          [t("LastRun"), report.lastRun ? <LastRun key="run" run={report.lastRun} timezone={report.timezone} /> : "never"],
        ]}
      />
    </Card>
  );
}

const WIRE_FIELDS = ["name", "content", "parameters", "every", "at", "timezone", "format", "to"];

function Fields({ report, fields, noMail }: { report: Report; fields: readonly FormField[]; noMail: string | undefined }) {
  const client = useQueryClient();
  const { groupId, id: reportId } = report;
  const edit = useEdit({
    stored: report,
    formOf: (version) => formOf(version, fields),
    put: (form, before) => updateReport({ groupId, reportId, ...changesOf(form, formOf(before, fields), fields), ifUpdatedAt: before.updatedAt }),
    restore: ({ name, content, parameters, every, at, timezone, format, to }, { updatedAt }) =>
      updateReport({ groupId, reportId, name: name ?? "", content, parameters, every, at, timezone, format, to, ifUpdatedAt: updatedAt }),
    isSame: (one, other) => JSON.stringify(bodyOf(formOf(one, fields), fields)) === JSON.stringify(bodyOf(formOf(other, fields), fields)),
    readNewest: () => fetchReport(groupId, reportId),
    onStored: (version) => refreshReport(client, version),
    compare: (mine, theirs) => differences(mine, theirs, fields),
    savedText: t("SavedFromNowOnItHas"),
    fields: WIRE_FIELDS,
    // What is chosen belongs to its content.
    canMerge: false,
  });
  return (
    <EditForm edit={edit} reason={isComplete(edit.form, fields)} className="edit-form" actionsClass="edit-actions">
      <ReportFields groupId={groupId} form={edit.form} fields={fields} noMail={noMail} problem={edit.submission.problem} onChange={edit.change} />
    </EditForm>
  );
}

function Edit({ report }: { report: Report }) {
  const types = useQuery(notificationTypesQuery);
  const { isOperator } = useRights(report.groupId);
  const channel = useMemo(() => types.data && channelOf(types.data as readonly Schemas["NotificationType"][], isOperator), [types.data, isOperator]);
  if (types.isError) return <ErrorState error={types.error} onRetry={() => void types.refetch()} />;
  if (!channel) return <Loading rows={6} />;
  return <Fields report={report} {...channel} />;
}

function DeleteDialog({ report, onClose }: { report: Report; onClose: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { groupId, id: reportId } = report;
  const name = nameOr(report.name, reportId);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const remove = async () => {
    setBusy(true);
    try {
      await read(api.DELETE("/report", { params: { query: { groupId, reportId } } }));
      await navigate({ to: "/g/$groupId/reports", params: { groupId } });
      const { queryKey } = reportsQuery(groupId);
      client.setQueryData(queryKey, (before) => before?.filter((each) => each.id !== reportId));
      void client.invalidateQueries({ queryKey });
      showToast(t("DeletedName", { name }));
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={t("DeleteName", { name })}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="danger" disabledReason={isBusy ? t("BeingDeleted") : undefined} onClick={() => void remove()}>
            {t("Delete")}
          </Button>
        </>
      }
    >
      <p>{t("WhatIsOnItsWayIs")}</p>
      {error !== null && <ErrorState error={error} />}
    </Dialog>
  );
}

function Actions({ report, onSend }: { report: Report; onSend: (sent: SentReport | null) => void }) {
  const [isDeleting, setDeleting] = useState(false);
  return (
    <>
      <ReportSwitch report={report} />
      <SendButton report={report} onSend={onSend} />
      <Button look="danger" onClick={() => setDeleting(true)}>
        {t("Delete")}
      </Button>
      {isDeleting && <DeleteDialog report={report} onClose={() => setDeleting(false)} />}
    </>
  );
}

function StatePill({ report }: { report: Report }) {
  if (!report.enabled) return <Pill tone={report.lastRun?.state === "stopped" ? "bad" : "idle"}>{report.lastRun?.state === "stopped" ? "stopped" : "disabled"}</Pill>;
  return report.lastRun ? <RunPill run={report.lastRun} /> : <span className="ink-3">{t("notSentYet")}</span>;
}

export function ReportPage() {
  const { groupId, reportId } = route.useParams();
  const query = useQuery(reportsQuery(groupId));
  const group = useQuery(groupQuery(groupId));
  const mayWrite = useMay(groupId, "PUT /report");
  const [sent, setSent] = useState<SentReport | null>(null);
  const found = query.data?.find((each) => each.id === reportId);
  return (
    <>
      <PageHeader
        title={found ? nameOr(found.name, found.id) : t("Report")}
        above={
          <>
            {group.data?.name} /{" "}
            <Link to="/g/$groupId/reports" params={{ groupId }}>
              {t("Reports")}
            </Link>
          </>
        }
        state={found && <StatePill report={found} />}
        below={found && <IdText id={found.id} />}
        actions={found && mayWrite && <Actions key={found.id} report={found} onSend={setSent} />}
      />
      <div role="status" className="report-sent" aria-label={t("OutcomeOfSending")}>
        {found && sent?.reportId === reportId && <SendOutcome sent={sent} />}
      </div>
      <QueryView query={query} noun={t("report")} operation="GET /group/reports" groupId={groupId}>
        {() =>
          found ? (
            <>
              <About report={found} />
              {mayWrite ? <Edit key={found.id} report={found} /> : <Locked label={t("Edit")} operation="PUT /report" groupId={groupId} />}
            </>
          ) : (
            <ErrorState error={noReport()} noun={t("report")} onRetry={() => void query.refetch()} />
          )
        }
      </QueryView>
    </>
  );
}
