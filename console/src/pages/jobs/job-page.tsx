// One job: what it does, how far it is, what became of each device, and the way back.
import { useCallback, useMemo } from "react";
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { mayCall, useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { BASE_PATH } from "~/base-path";
import { DeviceName } from "~/pages/messages/device-name";
import { GroupName } from "~/pages/devices/devices-page";
import { duration } from "~/time";
import { Button } from "~/ui/button";
import { IdText } from "~/ui/copy";
import { Card, Facts, PageHeader } from "~/ui/page";
import { Pill, type Tone } from "~/ui/pill";
import { Empty, QueryView } from "~/ui/state";
import { Table, type Column } from "~/ui/table";
import { TimeText, useNow } from "~/ui/time-text";
import { hold, showToast } from "~/ui/toast";
import { needsOf } from "./new-job";
import { jobItemsQuery, jobQuery, usePeople } from "./queries";
import { OUTCOMES, type JobSearch, type Outcome } from "./search";
import { STATE_TONES, codeWords, errorWords, filterWords, isOpen, jobTitle, noUndoReason, parameterRows, progressWords, type Job } from "./words";
import { t } from "~/messages/jobs";
import "./jobs.css";

const route = getRouteApi("/frame/g/$groupId/jobs/$jobId");
const TONES: Record<string, Tone> = { changed: "good", failed: "bad", skipped: "warn" };

function Actions({ job, refresh }: { job: Job; refresh: () => void }) {
  const { groupId, jobId } = job;
  const navigate = useNavigate();
  const now = useNow();
  // An undo needs what the job needs that it undoes.
  const undone = useQuery({ ...jobQuery(groupId, job.undoOf ?? ""), enabled: Boolean(job.undoOf) }).data;
  const rights = useRights(groupId);
  const source = job.undoOf ? undone : job;
  const may = source !== undefined && mayCall(rights, needsOf(source.kind, source.parameters?.content));
  const failed = (error: Error) => showToast(error.message, { tone: "bad" });
  const cancel = useMutation({ mutationFn: () => read(api.POST("/job/cancel", { body: { groupId, jobId } })), onError: failed, onSettled: refresh });
  const undo = useMutation({
    mutationFn: () => read(api.POST("/job/undo", { body: { groupId, jobId } })),
    onError: failed,
    onSuccess: (started) => {
      refresh();
      void navigate({ to: "/g/$groupId/jobs/$jobId", params: { groupId, jobId: started.jobId } });
    },
  });
  if (!may) return null;
  if (isOpen(job))
    return (
      <Button writes onClick={() => cancel.mutate()} disabledReason={cancel.isPending ? t("OneMoment") : undefined}>
        {t("CancelJob")}
      </Button>
    );
  const reason = noUndoReason(job, now);
  if (reason !== null) return <span className="ink-2">{t("NoUndoReason", { reason })}</span>;
  return (
    <>
      <span className="ink-2">{t("durationLeftToUndo", { duration: duration(Date.parse(job.undoUntil ?? "") - now) })}</span>
      <Button writes onClick={() => undo.mutate()} disabledReason={undo.isPending ? t("OneMoment") : undefined}>
        {t("Undo")}
      </Button>
    </>
  );
}

function ResultFile({ job, refresh }: { job: Job; refresh: () => void }) {
  const { groupId, jobId, result } = job;
  if (!result) return null;
  const query = { groupId, jobId };
  return (
    <span className="job-file">
      <a href={`${BASE_PATH}/job/result?${new URLSearchParams(query).toString()}`} download>
        {t("DownloadBytesBytes", { bytes: result.bytes })}
      </a>{" "}
      <span className="ink-2">
        {t.rich("untilTime", { time: <TimeText at={result.expiresAt} precision="minute" /> })}
      </span>
      <Button
        writes
        look="quiet"
        onClick={() =>
          hold(t("fileWillBeDeleted"), async () => {
            await read(api.DELETE("/job/result", { params: { query } }));
            refresh();
          })
        }
      >
        {t("DeleteFile")}
      </Button>
    </span>
  );
}

function JobLink({ groupId, jobId }: { groupId: string; jobId: string }) {
  return (
    <Link to="/g/$groupId/jobs/$jobId" params={{ groupId, jobId }}>
      {jobId}
    </Link>
  );
}

function Details({ job, refresh }: { job: Job; refresh: () => void }) {
  const nameOf = usePeople(job.groupId);
  const { groupId } = job;
  return (
    <Card>
      <div className="job-progress">
        {isOpen(job) && <progress aria-label={t("Progress")} max={job.total ?? 1} {...(job.total ? { value: job.done } : {})} />}
        <strong>{progressWords(job)}</strong>
        {job.error && <span className="field-error">{errorWords(job.error)}</span>}
      </div>
      <Facts
        rows={[
          ...(job.kind === "export" && job.parameters?.content !== "devices" ? [] : [[t("Devices"), filterWords(job.filter)] as const]),
          ...parameterRows(job.parameters).map(([name, label, value]) => [label, name === "toGroupId" ? <GroupName key={name} groupId={value} /> : name === "configuration" ? <code key={name}>{value}</code> : value] as const),
          [t("StartedBy"), <span key="by" title={job.createdBy}>{nameOf(job.createdBy)}</span>],
          [t("Why"), job.reason || "–"],
          [t("Requested"), <TimeText key="at" at={job.createdAt} withAgo />],
          [t("Ended"), <TimeText key="end" at={job.endedAt} withAgo none={isOpen(job) ? t("notYet") : "–"} />],
          ...(job.result ? [[t("File"), <ResultFile key="file" job={job} refresh={refresh} />] as const] : []),
          ...(job.undoOf ? [[t("Undoes"), <JobLink key="of" groupId={groupId} jobId={job.undoOf} />] as const] : []),
          ...(job.undoneBy ? [[t("UndoneBy"), <JobLink key="by" groupId={groupId} jobId={job.undoneBy} />] as const] : []),
          [t("JobId"), <IdText key="id" id={job.jobId} />],
        ]}
      />
    </Card>
  );
}

const COLUMNS: readonly Column<Item>[] = [
  { id: "outcome", head: t("Outcome"), width: "120px", card: "line", cell: (item) => <Pill tone={TONES[item.outcome] ?? "idle"}>{item.outcome}</Pill> },
  { id: "device", head: t("Device"), width: "minmax(140px, 1fr)", card: "title", cell: (item) => <DeviceName deviceId={item.deviceId} /> },
  { id: "code", head: t("Reason"), width: "minmax(140px, 2fr)", card: "line", cell: (item) => <span className="ink-2">{codeWords(item.code)}</span> },
];

interface Item {
  readonly deviceId: string;
  readonly outcome: string;
  readonly code?: string | null | undefined;
}

function Items({ job, outcome, onOutcome }: { job: Job; outcome: Outcome | undefined; onOutcome: (outcome: Outcome | undefined) => void }) {
  const query = useInfiniteQuery(jobItemsQuery(job.groupId, job.jobId, outcome, isOpen(job)));
  const items = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = query;
  const onEndReached = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetchingNextPage]);
  return (
    <>
      <div className="filters">
        <select className="input" aria-label={t("Outcome")} value={outcome ?? ""} onChange={(event) => onOutcome((event.target.value || undefined) as Outcome | undefined)}>
          <option value="">{t("AnyOutcome")}</option>
          {OUTCOMES.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </div>
      <QueryView query={query} operation="GET /job/items" groupId={job.groupId} noun={t("job")} skeletonRows={4}>
        {() =>
          items.length > 0 ? (
            <Table label={t("Devices")} rows={items} columns={COLUMNS} rowKey={(item) => item.deviceId} onEndReached={onEndReached} isLoadingMore={isFetchingNextPage} />
          ) : (
            <Empty text={outcome ? t("NoDeviceIsListedAsOutcome", { outcome }) : t("NoDeviceIsListedThoseWith")} />
          )
        }
      </QueryView>
    </>
  );
}

export function JobPage() {
  const { groupId, jobId } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const client = useQueryClient();
  const group = useQuery(groupQuery(groupId));
  const query = useQuery(jobQuery(groupId, jobId));
  const set = (change: Partial<JobSearch>): void => void navigate({ to: ".", search: (before: object) => ({ ...before, ...change }) } as never);
  const refresh = () => {
    for (const key of ["job", "jobs", "job-items"]) void client.invalidateQueries({ queryKey: [key, groupId] });
  };
  const above = (
    <>
      {group.data?.name} /{" "}
      <Link to="/g/$groupId/jobs" params={{ groupId }}>
        {t("Jobs")}
      </Link>
    </>
  );
  return (
    <>
      <PageHeader
        title={query.data ? jobTitle(query.data) : t("Job")}
        above={above}
        state={query.data && <Pill tone={STATE_TONES[query.data.state] ?? "idle"}>{query.data.state}</Pill>}
        actions={query.data && <Actions job={query.data} refresh={refresh} />}
      />
      <QueryView query={query} operation="GET /job" groupId={groupId} noun={t("job")}>
        {(job) => (
          <>
            <Details job={job} refresh={refresh} />
            {job.kind !== "export" && <Items job={job} outcome={search.outcome} onOutcome={(outcome) => set({ outcome })} />}
          </>
        )}
      </QueryView>
    </>
  );
}
