// Says that somebody cares about alarms, with a comment.
import { useState } from "react";
import { ApiProblem } from "~/api/client";
import { Dialog } from "~/ui/dialog";
import { TextArea } from "~/ui/field";
import { Form } from "~/ui/form";
import { useSubmission } from "~/ui/submit";
import { showToast } from "~/ui/toast";
import { acknowledge, refreshAlarms } from "./queries";
import { alarmWords, type Alarm, type FindMeasurement } from "./words";
import { t } from "~/messages/alarms";

export function AcknowledgeDialog({ alarms, find, onClose }: { alarms: readonly Alarm[]; find: FindMeasurement; onClose: () => void }) {
  const [comment, setComment] = useState("");
  const submission = useSubmission(["comment"]);
  const [first] = alarms;
  if (!first) return null;
  const about = alarms.length === 1 ? `${first.deviceName ?? first.connectorName ?? ""}: ${alarmWords(first, find)}` : t("countAlarms", { count: alarms.length });
  const send = async () => {
    let resolved = 0;
    for (const each of alarms)
      try {
        await acknowledge(each, comment);
      } catch (error) {
        // Meanwhile it is fine again, so that there is nothing left to care about.
        if (!(error instanceof ApiProblem) || error.status !== 409) throw error;
        resolved += 1;
      }
    await refreshAlarms();
    showToast(resolved === alarms.length ? t("ResolvedMeanwhile") : t("valueAlarmsAreAcknowledged", { count: alarms.length, value: alarms.length - resolved }));
    onClose();
  };
  return (
    <Dialog title={t("AcknowledgeTheseAlarms", { count: alarms.length })} onClose={onClose}>
      <Form submission={submission} onSubmit={send} submit={t("Acknowledge")}>
        <p>{about}</p>
        <TextArea
          label={t("Comment")}
          hint={t("WhoTakesCareOfItAnd")}
          rows={3}
          maxLength={1_000}
          autoFocus
          value={comment}
          error={submission.errorOf("comment")}
          onChange={(event) => setComment(event.target.value)}
        />
      </Form>
    </Dialog>
  );
}
