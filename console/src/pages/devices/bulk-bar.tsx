// What can be done with the selected devices. By id it is done at once, in steps; all that match
// a filter are a job.
import { useRef, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import type { Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { usePageActions } from "~/ui/actions";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import type { SelectionState } from "~/ui/selection";
import { hold, showToast } from "~/ui/toast";
import { countOf, runSteps, type BulkOutcome } from "./bulk";
import { callOf, undoOf, wordsOf, type BulkAction } from "./bulk-actions";
import { MoveDialog, TagDialog, TypeDialog } from "./bulk-dialogs";
import { DevicesExportDialog, exportSelected } from "./export-dialog";
import { JobBanner, JobDialog } from "./bulk-job";
import { loadAll } from "./queries";
import type { DevicesSearch } from "./search";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/devices";

type Device = Schemas["Device"];

// Up to so many, "all that match" is a selection by id: done at once, and undone exactly.
const BY_ID_MAX = 2_000;
const NAMED_MAX = 50;

interface Known {
  readonly current: ReadonlyMap<string, Device>;
  add: (devices: readonly Device[]) => void;
}

function Result({ action, outcome, onClose, onRetry }: { action: BulkAction; outcome: BulkOutcome; onClose: () => void; onRetry: () => void }) {
  const { done, refused, left, failure, stopped } = outcome;
  const rest = left.length - refused.length;
  return (
    <Dialog
      title={wordsOf(action, done.length, true)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("Close")}</Button>
          {refused.length > 0 && rest > 0 && (
            <Button look="primary" onClick={onRetry}>
              {t("actionWithoutValue", { action: wordsOf(action, rest, false), value: t("them", { count: refused.length }) })}
            </Button>
          )}
        </>
      }
    >
      {refused.length > 0 && (
        <>
          <p>
            {t("valueSoNothingOfSameStep", { value: t("countWereRefused", { count: refused.length }), length: countOf(left.length) })}
          </p>
          <ul className="bulk-names">
            {refused.slice(0, NAMED_MAX).map(({ target, message }) => (
              <li key={target.deviceId}>
                <strong>{target.name}</strong> <code>{target.deviceId}</code>: {message}
              </li>
            ))}
            {refused.length > NAMED_MAX && <li className="ink-2">{t("andValueMore", { value: (refused.length - NAMED_MAX) })}</li>}
          </ul>
        </>
      )}
      {stopped && <p>{t("StoppedLengthStayAsTheyWere", { length: countOf(left.length) })}</p>}
      {failure && (
        <p role="alert">
          {t("messageLengthStayAsTheyWere", { message: failure.message, length: countOf(left.length) })}
        </p>
      )}
    </Dialog>
  );
}

interface BarProps {
  groupId: string;
  search: DevicesSearch;
  selection: SelectionState;
  known: Known;
  total: number;
  totalIsMore: boolean;
  rows: readonly Device[];
  held: ReadonlySet<string>;
  onHeld: (ids: ReadonlySet<string>) => void;
}

function useBulk({ selection, known, held, onHeld }: BarProps) {
  const client = useQueryClient();
  const [progress, setProgress] = useState<{ done: number; total: number } | null>(null);
  const [result, setResult] = useState<{ action: BulkAction; outcome: BulkOutcome } | null>(null);
  const isStopped = useRef(false);
  const refresh = () => client.invalidateQueries({ queryKey: ["devices"] });

  const run = async (action: BulkAction, devices: readonly Device[]) => {
    isStopped.current = false;
    setProgress({ done: 0, total: devices.length });
    const outcome = await runSteps(devices, callOf(action), {
      isStopped: () => isStopped.current,
      onProgress: (done, total) => setProgress({ done, total }),
    });
    setProgress(null);
    await refresh();
    const done = new Set(outcome.done.map((each) => each.deviceId));
    if (outcome.left.length > 0) {
      selection.setKeys(outcome.left.map((each) => each.deviceId));
      setResult({ action, outcome });
    } else if (action.kind !== "delete") selection.clear();
    if (done.size === 0) return;
    const undo = undoOf(action, devices.filter((each) => done.has(each.deviceId)));
    const text = wordsOf(action, done.size, true);
    if (!undo) showToast(text);
    else
      showToast(text, {
        action: {
          label: t("Undo"),
          run: async () => {
            try {
              await undo();
              showToast(t("UndoneValue", { value: text.toLowerCase() }));
            } catch (error) {
              showToast(error instanceof Error ? error.message : String(error), { tone: "bad" });
            }
            await refresh();
          },
        },
      });
  };
  const start = (action: BulkAction, devices: readonly Device[]) => {
    if (action.kind !== "delete") return void run(action, devices);
    const ids = new Set(devices.map((each) => each.deviceId));
    const release = () => onHeld(new Set([...held].filter((each) => !ids.has(each))));
    onHeld(new Set([...held, ...ids]));
    selection.clear();
    hold(
      t("DeletingLengthWithAllRecords", { length: countOf(devices.length) }),
      async () => {
        await run(action, devices);
        release();
      },
      release,
    );
  };
  const chosen = () => {
    const { selection: what } = selection;
    return what.mode === "keys" ? [...what.keys].flatMap((key) => known.current.get(key) ?? []) : [];
  };
  return { progress, result, setResult, start, chosen, stop: () => (isStopped.current = true) };
}

export function BulkBar(props: BarProps) {
  const { groupId, search, selection, known, total, totalIsMore } = props;
  const { progress, result, setResult, start, chosen, stop } = useBulk(props);
  const [dialog, setDialog] = useState<"tag" | "type" | "move" | "export" | null>(null);
  const [jobAction, setJobAction] = useState<BulkAction | null>(null);
  const [jobId, setJobId] = useState<string | null>(null);
  const [isLoading, setLoading] = useState(false);
  const mayChange = useMay(groupId, "PUT /devices");
  const mayMove = useMay(groupId, "PUT /devices/transfer");
  const mayDelete = useMay(groupId, "POST /devices/delete");
  const isAll = selection.selection.mode === "all";
  const isMany = totalIsMore || total > BY_ID_MAX;
  // A job would not see it, and change more than what is listed.
  const hasComparison = (search.where?.length ?? 0) > 0;
  const { count } = selection;

  const choose = (action: BulkAction) => {
    setDialog(null);
    if (isAll) setJobAction(action);
    else start(action, chosen());
  };
  const selectAll = async () => {
    if (isMany) return selection.selectAll(total);
    setLoading(true);
    try {
      const all = await loadAll(groupId, search, BY_ID_MAX);
      known.add(all);
      selection.setKeys(all.map((each) => each.deviceId));
    } catch (error) {
      showToast(error instanceof Error ? error.message : String(error), { tone: "bad" });
    } finally {
      setLoading(false);
    }
  };
  const whole = isAll ? (totalIsMore ? t("countOrMore", { count: countOf(count) }) : t("allCount", { count: countOf(count) })) : countOf(count);
  const offered: readonly (readonly [boolean, string, string, () => void])[] = [
    [mayMove, "move-devices", t("MoveWhole", { whole }), () => setDialog("move")],
    [mayChange, "tag-devices", t("TagWhole", { whole }), () => setDialog("tag")],
    [mayChange, "type-devices", t("ChangeTypeOfWhole", { whole }), () => setDialog("type")],
    [mayDelete, "delete-devices", t("DeleteWhole", { whole }), () => choose({ kind: "delete" })],
  ];
  usePageActions(count > 0 && !progress ? offered.flatMap(([may, id, label, run]) => (may ? [{ id, label, run }] : [])) : []);
  const exportChosen = () => (isAll ? setDialog("export") : exportSelected(chosen()));
  return (
    <>
      {jobId && <JobBanner groupId={groupId} jobId={jobId} onJob={setJobId} onClose={() => setJobId(null)} />}
      {progress ? (
        <div className="selection-bar" role="status">
          <progress className="bulk-progress" aria-label={t("Progress")} value={progress.done} max={progress.total} />
          <span className="number">
            {t("doneOfTotal", { done: progress.done, total: progress.total })}
          </span>
          <Button onClick={stop}>{t("Stop")}</Button>
        </div>
      ) : (
        count > 0 && (
          <div className="selection-bar" role="region" aria-label={t("Selection")}>
            <strong className="number">
              {isAll && `${t("All")} `}
              {count.toLocaleString(LOCALE)}
              {isAll && totalIsMore && "+"} {isAll ? t("thatMatch") : "selected"}
            </strong>
            {!isAll && total > count && isMany && hasComparison && <span className="ink-2">{t("FiltersByValueUpToBY", { BY_ID_MAX })}</span>}
            {!isAll && total > count && !(isMany && hasComparison) && (
              <button type="button" className="link" onClick={() => void selectAll()} disabled={isLoading}>
                {isLoading ? t("Loading") : t("SelectAllTotalValueThatMatch", { total, value: totalIsMore ? "+" : "" })}
              </button>
            )}
            <span className="bar-space" />
            {mayChange && (
              <>
                <Button writes onClick={() => setDialog("tag")}>{t("Tag")}</Button>
                <Button writes onClick={() => setDialog("type")}>{t("Type")}</Button>
              </>
            )}
            {mayMove && <Button writes onClick={() => setDialog("move")}>{t("MoveTo")}</Button>}
            <Button onClick={exportChosen}>{t("Export")}</Button>
            {mayDelete && (
              <Button look="danger" onClick={() => choose({ kind: "delete" })}>
                {t("Delete")}
              </Button>
            )}
            <Button look="quiet" onClick={selection.clear} title={t("Esc")}>
              {t("Clear")}
            </Button>
          </div>
        )
      )}
      {dialog === "tag" && <TagDialog count={count} devices={chosen()} onChoose={choose} onClose={() => setDialog(null)} />}
      {dialog === "type" && <TypeDialog count={count} onChoose={choose} onClose={() => setDialog(null)} />}
      {dialog === "move" && <MoveDialog count={count} onChoose={choose} onClose={() => setDialog(null)} />}
      {dialog === "export" && <DevicesExportDialog groupId={groupId} search={search} total={total} totalIsMore={totalIsMore} onClose={() => setDialog(null)} />}
      {jobAction && (
        <JobDialog
          groupId={groupId}
          search={search}
          action={jobAction}
          onClose={() => setJobAction(null)}
          onStarted={(id) => {
            setJobAction(null);
            setJobId(id);
            selection.clear();
          }}
        />
      )}
      {result && (
        <Result
          {...result}
          onClose={() => setResult(null)}
          onRetry={() => {
            const refused = new Set(result.outcome.refused.map((each) => each.target.deviceId));
            const rest = result.outcome.left.flatMap((each) => (refused.has(each.deviceId) ? [] : known.current.get(each.deviceId) ?? []));
            setResult(null);
            start(result.action, rest);
          }}
        />
      )}
    </>
  );
}
