// Work by filter over many devices: what runs, what ran, and a new one.
import { useCallback, useMemo } from "react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { Guarded } from "~/frame/guarded";
import { useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { SERVICE_URL } from "~/base-path";
import { GroupName } from "~/frame/group-name";
import { useScope } from "~/frame/page-state";
import { Button } from "~/ui/button";
import { PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { Empty, NoMatch, QueryView } from "~/ui/state";
import { Table, type Column } from "~/ui/table";
import { TimeText } from "~/ui/time-text";
import { NewJob, kindsAllowed } from "./new-job";
import { jobsQuery, usePeople } from "./queries";
import { STATES, type JobsSearch, type State } from "./search";
import { STATE_TONES, STATE_WORDS, jobTitle, progressWords, stateWords, type Job } from "./words";
import { t } from "~/messages/jobs";
import "./jobs.css";

const route = getRouteApi("/frame/g/$groupId/jobs");

function useColumns(groupId: string, hasGroups: boolean): Column<Job>[] {
  const nameOf = usePeople(groupId);
  return useMemo(
    () => [
      { id: "state", head: t("State"), width: "116px", card: "line", cell: (job) => <Pill tone={STATE_TONES[job.state] ?? "idle"}>{stateWords(job.state)}</Pill> },
      {
        id: "what",
        head: t("What"),
        width: "minmax(150px, 1.2fr)",
        card: "title",
        cell: (job) => (
          <Link to="/g/$groupId/jobs/$jobId" params={{ groupId: job.groupId, jobId: job.jobId }} className="row-link">
            {jobTitle(job)}
          </Link>
        ),
      },
      ...(hasGroups ? [{ id: "group", head: t("Group"), width: "minmax(80px, 0.7fr)", card: "line", cell: (job: Job) => <GroupName groupId={job.groupId} /> } as const] : []),
      { id: "progress", head: t("Progress"), width: "minmax(250px, 2fr)", card: "line", cell: (job) => <span title={progressWords(job)}>{progressWords(job)}</span> },
      { id: "who", head: t("Who"), width: "minmax(90px, 0.7fr)", cell: (job) => <span title={job.createdBy}>{nameOf(job.createdBy)}</span> },
      { id: "why", head: t("Why"), width: "minmax(100px, 1.4fr)", cell: (job) => <span className="ink-2" title={job.reason ?? undefined}>{job.reason || "–"}</span> },
      { id: "since", head: t("Started"), width: "152px", card: "line", cell: (job) => <TimeText at={job.createdAt} /> },
    ],
    // Names come once.
    [nameOf, hasGroups],
  );
}

function Jobs() {
  const { groupId } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const group = useQuery(groupQuery(groupId));
  const rights = useRights(groupId);
  const { withBelow } = useScope();
  const query = useInfiniteQuery(jobsQuery(groupId, search.state, withBelow));
  const columns = useColumns(groupId, query.data?.pages.some((page) => page.items.some((each) => each.groupId !== groupId)) ?? false);
  const set = (change: Partial<JobsSearch>, replace = false): void =>
    void navigate({ to: ".", search: (before: object) => ({ ...before, ...change }), replace } as never);
  const jobs = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = query;
  const onEndReached = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetchingNextPage]);
  const kinds = kindsAllowed(rights);
  const [firstKind] = kinds;
  const start = firstKind && (
    <Button look="primary" onClick={() => set({ new: firstKind })}>
      {t("NewJob")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("Jobs")} above={group.data?.name} actions={start} />
      <div className="filters">
        <select className="input" aria-label={t("State")} value={search.state ?? ""} onChange={(event) => set({ state: (event.target.value || undefined) as State | undefined })}>
          <option value="">{t("AnyState")}</option>
          {STATES.map((state) => (
            <option key={state} value={state}>
              {STATE_WORDS[state]}
            </option>
          ))}
        </select>
      </div>
      <QueryView query={query} operation="GET /jobs" groupId={groupId} noun="group">
        {() => {
          if (jobs.length > 0)
            return (
              <Table
                label={t("Jobs")}
                rows={jobs}
                columns={columns}
                rowKey={(job) => job.jobId}
                onOpen={(job) => void navigate({ to: "/g/$groupId/jobs/$jobId", params: { groupId: job.groupId, jobId: job.jobId } })}
                onEndReached={onEndReached}
                isLoadingMore={isFetchingNextPage}
              />
            );
          if (search.state) return <NoMatch chips={[{ label: t("stateState", { state: STATE_WORDS[search.state] }), onRemove: () => set({ state: undefined }) }]} onClear={() => set({ state: undefined })} />;
          return (
            <Empty
              text={t("NoJobInLast30Days")}
              action={start}
              curl={`curl -H "Authorization: Bearer $TOKEN" \\
  "${SERVICE_URL}/jobs?groupId=${groupId}"`}
            />
          );
        }}
      </QueryView>
      {search.new && kinds.length > 0 && <NewJob groupId={groupId} search={search} set={set} kinds={kinds} />}
    </>
  );
}

export function JobsPage() {
  const { groupId } = route.useParams();
  return (
    <Guarded groupId={groupId} operation="GET /jobs" title={t("Jobs")}>
      <Jobs />
    </Guarded>
  );
}
