// Files that are made and sent by themselves, with what became of each last.
import { useMemo } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMeasurementWords } from "~/alarms/queries";
import { mayCall, useRights } from "~/api/may";
import { SERVICE_URL } from "~/base-path";
import { GroupName } from "~/frame/group-name";
import { useScope } from "~/frame/page-state";
import { bytes } from "~/pages/platform/exposition";
import { ListPage } from "~/ui/list-page";
import type { Column } from "~/ui/table";
import { TimeText } from "~/ui/time-text";
import { nameOr } from "~/ui/name";
import { reportsQuery, type Report } from "./queries";
import { RunPill, causeOf, sizeWords } from "./report-run";
import { FORMAT_WORDS, contentWords, recipientWords, whenWords } from "./summary";
import { ReportSwitch } from "./toggle";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/reports";
import "~/pages/connectors/connectors.css";
import "./reports.css";

const route = getRouteApi("/frame/g/$groupId/reports");
const ROW_PX = 52;

function ContentText({ report }: { report: Report }) {
  const { find } = useMeasurementWords(report.groupId);
  const words = contentWords(report, find);
  return <span title={words}>{words}</span>;
}

function RunCell({ report: { lastRun: run } }: { report: Report }) {
  if (!run) return <span className="ink-3">{t("notSentYet")}</span>;
  const cause = causeOf(run);
  return (
    <div className="report-lines">
      <span>
        <RunPill run={run} /> {!cause && <TimeText at={run.at} precision="minute" />}
        {run.bytes > 0 && <span className="ink-2 if-card"> · {sizeWords(run)}</span>}
      </span>
      {cause && (
        <span className="ink-2" title={cause}>
          {cause}
        </span>
      )}
    </div>
  );
}

function SizeCell({ report: { lastRun: run } }: { report: Report }) {
  if (!run || run.bytes === 0) return <span className="ink-3">–</span>;
  return (
    <div className="report-lines">
      <span>{bytes(run.bytes)}</span>
      <span className="ink-2">
        {run.rows.toLocaleString(LOCALE)} {t("rows", { count: run.rows })}
      </span>
    </div>
  );
}

function useColumns(groupId: string, hasGroups: boolean): Column<Report>[] {
  const mayWrite = mayCall(useRights(groupId), "PUT /report");
  return useMemo(() => {
    const columns: Column<Report>[] = [
      {
        id: "name",
        head: t("Name"),
        width: "minmax(120px, 1.1fr)",
        card: "title",
        cell: (row) => (
          <Link to="/g/$groupId/reports/$reportId" params={{ groupId: row.groupId, reportId: row.id }} className="row-name">
            {nameOr(row.name, row.id)}
          </Link>
        ),
      },
      {
        id: "content",
        head: t("Content"),
        width: "minmax(140px, 1.6fr)",
        card: "wide",
        cell: (row) => (
          <div className="report-lines">
            <ContentText report={row} />
            <span className="ink-2 no-card">{FORMAT_WORDS[row.format]}</span>
          </div>
        ),
      },
      {
        id: "next",
        head: t("Next"),
        width: "minmax(170px, 1.1fr)",
        card: "wide",
        cell: (row) => (
          <div className="report-lines">
            <span>{row.enabled ? <TimeText at={row.nextAt} precision="minute" /> : <span className="ink-2">{t("disabled")}</span>}</span>
            <span className="ink-2" title={row.timezone}>
              {whenWords(row)}
            </span>
          </div>
        ),
      },
      { id: "to", head: t("To"), width: "minmax(110px, 1.2fr)", card: "wide", cell: (row) => <span title={recipientWords(row.to)}>{recipientWords(row.to)}</span> },
      { id: "run", head: t("LastRun"), width: "minmax(190px, 1.4fr)", card: "wide", cell: (row) => <RunCell report={row} /> },
      { id: "size", head: t("Size"), width: "84px", align: "end", cell: (row) => <SizeCell report={row} /> },
    ];
    if (hasGroups) columns.splice(1, 0, { id: "group", head: t("Group"), width: "minmax(80px, 0.7fr)", card: "line", cell: (row) => <GroupName groupId={row.groupId} /> });
    if (mayWrite) columns.push({ id: "switch", head: t("On"), width: "44px", card: "line", cell: (row) => <ReportSwitch report={row} /> });
    return columns;
  }, [mayWrite, hasGroups]);
}

export function ReportsPage() {
  const { groupId } = route.useParams();
  const { q } = route.useSearch();
  const navigate = useNavigate();
  const { withBelow } = useScope();
  const query = useQuery(reportsQuery(groupId, withBelow));
  const columns = useColumns(groupId, query.data?.some((each) => each.groupId !== groupId) ?? false);
  const { find } = useMeasurementWords(groupId);
  return (
    <ListPage
      groupId={groupId}
      title={t("Reports")}
      query={query}
      readOperation="GET /group/reports"
      createOperation="POST /report"
      newPage="/g/$groupId/reports/new"
      newLabel={t("NewReport")}
      empty={{
        text: t("reportIsFileThatIsMade"),
        create: t("CreateFirstReport"),
        curl: `curl -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"groupId":"${groupId}","name":"Devices","content":"devices","every":"week","at":"06:00","to":{"type":"webhook","params":{"url":"https://example.com/reports"}}}' \\
  "${SERVICE_URL}/report"`,
      }}
      nouns={["report", "reports"]}
      columns={columns}
      textOf={(each) => `${each.name ?? ""} ${contentWords(each, find)} ${recipientWords(each.to)}`}
      placeholder={t("NameContentOrRecipient")}
      q={q}
      rowHeight={ROW_PX}
      onOpen={(row) => void navigate({ to: "/g/$groupId/reports/$reportId", params: { groupId: row.groupId, reportId: row.id } })}
    />
  );
}
