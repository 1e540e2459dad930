import { useState } from "react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { mayCall, useRights } from "~/api/may";
import { Button } from "~/ui/button";
import { IdText } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { Diff } from "~/ui/diff";
import { Facts } from "~/ui/page";
import { TimeText } from "~/ui/time-text";
import { showToast } from "~/ui/toast";
import { actionWords } from "./actions";
import { runUndo } from "./current";
import { ObjectLink } from "./object-link";
import type { AuditSearch } from "./search";
import { isPlan, undoOf, type AuditEntry, type UndoPlan } from "./undo";
import { t } from "~/messages/audit";

// Whether everything that the undo needs is allowed here, so that no press ends in a refusal.
function useMayUndo(plan: UndoPlan | null): boolean {
  const first = plan?.steps[0];
  const groupId = plan === null ? null : plan.noun === "group" || plan.noun === "policy" || plan.noun === "limits" ? plan.id : plan.groupId;
  const body = first?.body ?? {};
  const isTransfer = first?.operation === "PUT /device/transfer";
  const here = useRights(isTransfer ? String(body["groupId"]) : groupId);
  const there = useRights(isTransfer ? String(body["toGroupId"]) : null);
  if (!plan) return false;
  return plan.steps.every((each) => mayCall(here, each.operation)) && (!isTransfer || mayCall(there, "POST /device"));
}

function useUndo(entry: AuditEntry, onDone: () => void) {
  const answer = undoOf(entry);
  const may = useMayUndo(isPlan(answer) ? answer : null);
  const client = useQueryClient();
  const [isDone, setDone] = useState(false);
  const undo = useMutation({
    mutationFn: (wanted: UndoPlan) => runUndo(wanted),
    onSuccess: () => {
      setDone(true);
      showToast(t("UndoneThatIsChangeOfIts"));
      void client.invalidateQueries();
      onDone();
    },
  });
  return { answer, may, isDone, undo };
}

// In a list of changes: only where it can be undone; why it was refused is in a toast.
export function UndoButton({ entry }: { entry: AuditEntry }) {
  const { answer, may, isDone, undo } = useUndo(entry, () => {});
  if (!isPlan(answer) || !may) return null;
  const press = () => undo.mutate(answer, { onError: (error) => void showToast(t("NotUndoneMessage", { message: error.message }), { tone: "bad" }) });
  return (
    <Button writes onClick={press} aria-label={t("UndoActionObjectName", { action: actionWords(entry.action), objectName: entry.objectName ?? "" })} disabledReason={isDone ? t("ItIsUndone") : undo.isPending ? t("OneMoment") : undefined}>
      {t("Undo")}
    </Button>
  );
}

function Undo({ entry, onDone }: { entry: AuditEntry; onDone: () => void }) {
  const { answer, may, isDone, undo } = useUndo(entry, onDone);
  if (!isPlan(answer)) return <p className="ink-2">{t("NoUndoReason", { reason: answer.reason })}</p>;
  if (!may) return <p className="ink-2">{t("NoUndoYouMayNotMake")}</p>;
  return (
    <>
      <Button writes onClick={() => undo.mutate(answer)} disabledReason={isDone ? t("ItIsUndone") : undo.isPending ? t("OneMoment") : undefined}>
        {t("UndoThisChange")}
      </Button>
      {undo.isError && (
        <p className="field-error" role="alert">
          {t("NotUndoneMessage", { message: undo.error.message })}
        </p>
      )}
    </>
  );
}

export function EntryDrawer({ entry, set, onClose }: { entry: AuditEntry; set: (change: Partial<AuditSearch>) => void; onClose: () => void }) {
  const name = entry.actorName ?? entry.actorId;
  const job = /^job_\w+/.exec(entry.detail ?? "")?.[0];
  return (
    <Dialog side title={`${name} ${actionWords(entry.action)}`} onClose={onClose} actions={<Undo key={entry.id} entry={entry} onDone={onClose} />}>
      <Facts
        rows={[
          [t("When"), <TimeText key="at" at={entry.timestamp} precision="millisecond" withAgo />],
          [
            t("Who"),
            <span key="who">
              {name}{" "}
              <button type="button" className="link" onClick={() => set({ who: entry.actorId, entry: undefined })}>
                {t("OnlyTheirs")}
              </button>
              {entry.issuedBy && <div className="ink-2">{t("orIssuerNameWhoWasShownSign", { issuerName: entry.issuerName ?? entry.issuedBy })}</div>}
            </span>,
          ],
          [
            t("What"),
            <span key="what">
              <ObjectLink entry={entry} />{" "}
              <button type="button" className="link" onClick={() => set({ thing: entry.objectId, entry: undefined })}>
                {t("AllChangesOfIt")}
              </button>
            </span>,
          ],
          [t("Action"), <code key="action">{entry.action}</code>],
          ...(entry.detail ? [[t("Detail"), job ? <Link key="job" to="/g/$groupId/jobs/$jobId" params={{ groupId: entry.groupId, jobId: job }}>{job}</Link> : entry.detail] as const] : []),
          ...(entry.address ? [[t("From"), <code key="from">{entry.address}</code>] as const] : []),
          [
            t("Request"),
            <span key="request">
              <IdText id={entry.requestId} />{" "}
              <button type="button" className="link" onClick={() => set({ request: entry.requestId, entry: undefined })}>
                {t("AllOfThisRequest")}
              </button>
            </span>,
          ],
        ]}
      />
      <section className="drawer-section">
        <h3>{t("Changes")}</h3>
        {entry.before || entry.after ? <Diff before={entry.before} after={entry.after} omitted={entry.omittedFields} /> : <p className="ink-2">{t("auditLogKeepsNoFieldsOf")}</p>}
      </section>
    </Dialog>
  );
}
