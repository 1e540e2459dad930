// A report sent by hand, and what became of it.
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { Button } from "~/ui/button";
import { Card } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { showToast } from "~/ui/toast";
import { fetchReport, reportsQuery, type Report } from "./queries";
import { RunPill, causeOf, sizeWords, type Run } from "./report-run";
import { periodWords } from "./words";
import { t } from "~/messages/reports";

const POLL_MS = 1_000;

export interface SentReport {
  reportId: string;
  groupId: string;
  // Of the run before: another one that was sent by hand is its outcome.
  before: string | undefined;
}

function outcomeOf({ reportId, before }: SentReport, reports: readonly Report[] | undefined): Run | undefined {
  const run = reports?.find((each) => each.id === reportId)?.lastRun;
  return run?.isTest && run.at !== before ? run : undefined;
}

export function SendButton({ report, onSend }: { report: Report; onSend: (sent: SentReport | null) => void }) {
  const { groupId, id: reportId, enabled } = report;
  const run = useMutation({
    mutationFn: async (): Promise<SentReport> => {
      const before = (await fetchReport(groupId, reportId)).lastRun?.at;
      await read(api.POST("/report/send", { body: { groupId, reportId } }));
      return { reportId, groupId, before };
    },
    onMutate: () => onSend(null),
    onSuccess: onSend,
    onError: (error) => void showToast(error.message, { tone: "bad" }),
  });
  return (
    <Button
      writes
      onClick={() => run.mutate()}
      disabled={run.isPending}
      disabledReason={enabled ? undefined : t("ItIsDisabledNothingIsSent")}
      title={t("AboutLastWholePeriodToAll")}
    >
      {t("SendNow")}
    </Button>
  );
}

export function SendOutcome({ sent }: { sent: SentReport }) {
  const query = useQuery({
    ...reportsQuery(sent.groupId),
    refetchInterval: ({ state }) => {
      const run = outcomeOf(sent, state.data);
      return run && run.state !== "queued" ? false : POLL_MS;
    },
  });
  const run = outcomeOf(sent, query.data);
  const report = query.data?.find((each) => each.id === sent.reportId);
  if (!run || !report)
    return (
      <Card title={t("SentByHand")}>
        <Pill tone="idle">{t("beingMade")}</Pill>
      </Card>
    );
  const about = `${periodWords({ ...run, timezone: report.timezone })} (${report.timezone})`;
  return (
    <Card title={t("SentByHand")}>
      <p className="report-outcome">
        <RunPill run={run} /> <span>{[`About ${about}`, sizeWords(run), run.recipients > 0 && t("toRecipientsValue", { recipients: run.recipients, value: t("recipients", { count: run.recipients }) })].filter(Boolean).join(" · ")}</span>
      </p>
      {causeOf(run) && <p>{causeOf(run)}</p>}
    </Card>
  );
}
