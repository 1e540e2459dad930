// Sends nothing about alarms for a while: for a device, or for all of a group.
import { useState } from "react";
import { api, read } from "~/api/client";
import { Dialog } from "~/ui/dialog";
import { Checkbox, Select, TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { useSubmission } from "~/ui/submit";
import { showToast } from "~/ui/toast";
import { refreshAlarms } from "./queries";
import { t } from "~/messages/alarms";

const HOUR_MS = 3_600_000;
const SPANS = [
  ["1", "1 hour"],
  ["2", "2 hours"],
  ["8", "8 hours"],
  ["24", "1 day"],
  ["168", "7 days"],
  ["", t("untilTime")],
] as const;

export function SilenceDialog({ groupId, device, onClose }: { groupId: string; device: { id: string; name: string } | null; onClose: () => void }) {
  const [hours, setHours] = useState("2");
  const [until, setUntil] = useState("");
  const [reason, setReason] = useState("");
  const [isBelow, setBelow] = useState(true);
  const submission = useSubmission(["until", "reason"]);
  const create = async () => {
    const end = hours ? new Date(Date.now() + Number(hours) * HOUR_MS) : new Date(until);
    const body = { groupId, until: Number.isNaN(end.getTime()) ? until : end.toISOString(), reason, ...(device ? { deviceIds: [device.id] } : { subgroups: isBelow }) };
    const made = await read(api.POST("/alarm/silence", { body }));
    await refreshAlarms();
    const undo = async () => {
      await read(api.DELETE("/alarm/silence", { params: { query: { groupId, silenceId: made.id } } }));
      await refreshAlarms();
    };
    showToast(t("SilencedAlarmsAreRecordedAndNothing"), { action: { label: t("Undo"), run: undo } });
    onClose();
  };
  return (
    <Dialog title={device ? t("SilenceName", { name: device.name }) : t("SilenceThisGroup")} onClose={onClose}>
      <Form submission={submission} onSubmit={create} submit={t("Silence")}>
        <p className="ink-2">{t("AlarmsAreRecordedAndNothingIs")}</p>
        <Select label={t("For")} options={SPANS} value={hours} error={hours ? submission.errorOf("until") : undefined} onChange={(event) => setHours(event.target.value)} />
        {!hours && <TextField label={t("Until")} type="datetime-local" required value={until} error={submission.errorOf("until")} onChange={(event) => setUntil(event.target.value)} />}
        <TextField label={t("Reason")} required value={reason} error={submission.errorOf("reason")} onChange={(event) => setReason(event.target.value)} />
        {!device && <Checkbox label={t("WithGroupsBelow")} checked={isBelow} onChange={(event) => setBelow(event.target.checked)} />}
      </Form>
    </Dialog>
  );
}
