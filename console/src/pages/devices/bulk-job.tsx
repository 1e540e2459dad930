// All that match a filter: a job of the service, counted before it is started, and undone by one.
import { useState } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { groupQuery } from "~/api/queries";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { TextField } from "~/ui/field";
import { Pill, type Tone } from "~/ui/pill";
import { ErrorState, Loading } from "~/ui/state";
import { countOf } from "./bulk";
import { jobParametersOf, wordsOf, type BulkAction } from "./bulk-actions";
import { filterOf, type DevicesSearch } from "./search";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/devices";

const POLL_MS = 1_000;
const OPEN_STATES = ["waiting", "running"];
const TONES: Record<string, Tone> = { succeeded: "good", failed: "bad" };

export function JobDialog({
  groupId,
  search,
  action,
  onClose,
  onStarted,
}: {
  groupId: string;
  search: DevicesSearch;
  action: BulkAction;
  onClose: () => void;
  onStarted: (jobId: string) => void;
}) {
  const [typed, setTyped] = useState("");
  const group = useQuery(groupQuery(groupId));
  const body = { groupId, kind: action.kind, filter: filterOf(search), parameters: jobParametersOf(action) };
  const preview = useQuery({
    queryKey: ["job-preview", body],
    queryFn: ({ signal }) => read(api.POST("/job", { body: { ...body, dryRun: true }, signal })),
    gcTime: 0,
  });
  const start = useMutation({
    mutationFn: () => read(api.POST("/job", { body })),
    onSuccess: (started) => started.job && onStarted(started.job.jobId),
  });
  const total = preview.data?.total ?? 0;
  const more = preview.data?.totalIsMore ? "+" : "";
  const name = group.data?.name ?? groupId;
  const isDelete = action.kind === "delete";
  const reason = !preview.data ? t("StillCounting") : total === 0 ? t("NothingMatches") : isDelete && typed !== name ? t("nameOfGroupIsNotTyped") : undefined;
  return (
    <Dialog
      title={preview.data ? wordsOf(action, total, false) : t("AllThatMatch")}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look={isDelete ? "danger" : "primary"} disabledReason={start.isPending ? t("BeingStarted") : reason} onClick={() => start.mutate()}>
            {t("StartJob")}
          </Button>
        </>
      }
    >
      {preview.isError && <ErrorState error={preview.error} onRetry={() => void preview.refetch()} />}
      {preview.isPending && <Loading rows={4} />}
      {preview.data && (
        <>
          <p>
            {t("totalMoreMatchNowValue", { total: countOf(total), more, value: isDelete ? t("TheyAreDeletedWithAllTheir") : t("jobCanBeUndoneFor24") })}
          </p>
          <ul className="bulk-names">
            {preview.data.sample?.slice(0, 5).map((each) => (
              <li key={each.deviceId}>
                {each.name} <span className="ink-2">{each.type}</span>
              </li>
            ))}
            {total > 5 && <li className="ink-2">{t("andValueMore", { value: (total - 5) })}</li>}
          </ul>
          {isDelete && <TextField label={t("TypeNameToDeleteThem", { name })} value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" />}
        </>
      )}
      {start.isError && <ErrorState error={start.error} />}
    </Dialog>
  );
}

export function JobBanner({ groupId, jobId, onJob, onClose }: { groupId: string; jobId: string; onJob: (jobId: string) => void; onClose: () => void }) {
  const client = useQueryClient();
  const job = useQuery({
    queryKey: ["job", jobId],
    queryFn: async ({ signal }) => {
      const found = await read(api.GET("/job", { params: { query: { groupId, jobId } }, signal }));
      if (!OPEN_STATES.includes(found.state)) void client.invalidateQueries({ queryKey: ["devices"] });
      return found;
    },
    refetchInterval: (query) => (query.state.data && !OPEN_STATES.includes(query.state.data.state) ? false : POLL_MS),
  });
  const cancel = useMutation({
    mutationFn: () => read(api.POST("/job/cancel", { body: { groupId, jobId } })),
    onSettled: () => job.refetch(),
  });
  const undo = useMutation({
    mutationFn: () => read(api.POST("/job/undo", { body: { groupId, jobId } })),
    onSuccess: (started) => onJob(started.jobId),
  });
  const found = job.data;
  const failure = undo.error ?? cancel.error ?? job.error;
  const isOpen = found !== undefined && OPEN_STATES.includes(found.state);
  return (
    <div className="job-banner" role="status">
      {found && (
        <>
          <Pill tone={TONES[found.state] ?? "idle"}>{found.state}</Pill>
          <span>
            {t("valueDoneOfTotalDoneChanged", { value: found.undoOf ? t("Undo") : t("Job"), done: found.done, total: found.total?.toLocaleString(LOCALE) ?? "?", changed: found.changed })}
            {found.skipped + found.failed > 0 && t("valueSkippedOrFailed", { value: (found.skipped + found.failed) })}
          </span>
          <Link to="/g/$groupId/jobs/$jobId" params={{ groupId, jobId }}>
            {t("OpenJob")}
          </Link>
          {isOpen && <Button writes onClick={() => cancel.mutate()}>{t("CancelJob")}</Button>}
          {!isOpen && found.undoUntil && !found.undoneBy && found.changed > 0 && <Button writes onClick={() => undo.mutate()}>{t("Undo")}</Button>}
        </>
      )}
      {failure && <span role="alert">{failure.message}</span>}
      {!isOpen && (
        <Button look="quiet" onClick={onClose} aria-label={t("Dismiss")}>
          ×
        </Button>
      )}
    </div>
  );
}
