// Sends nothing about alarms for a while: for a device, or for all of a group.
import { useState } from "react";
import { api, read } from "~/api/client";
import { Dialog } from "~/ui/dialog";
import { Checkbox, Select, TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { useSubmission } from "~/ui/submit";
import { showToast } from "~/ui/toast";
import { refreshAlarms } from "./queries";

const HOUR_MS = 3_600_000;
const SPANS = [
  ["1", "1 hour"],
  ["2", "2 hours"],
  ["8", "8 hours"],
  ["24", "1 day"],
  ["168", "7 days"],
  ["", "until a time"],
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
    showToast("Silenced. Alarms are recorded, and nothing is sent.", { action: { label: "Undo", run: undo } });
    onClose();
  };
  return (
    <Dialog title={device ? `Silence ${device.name}` : "Silence this group"} onClose={onClose}>
      <Form submission={submission} onSubmit={create} submit="Silence">
        <p className="ink-2">Alarms are recorded, and nothing is sent about them. What is still open when the silence ends is sent then, once.</p>
        <Select label="For" options={SPANS} value={hours} error={hours ? submission.errorOf("until") : undefined} onChange={(event) => setHours(event.target.value)} />
        {!hours && <TextField label="Until" type="datetime-local" required value={until} error={submission.errorOf("until")} onChange={(event) => setUntil(event.target.value)} />}
        <TextField label="Reason" required value={reason} error={submission.errorOf("reason")} onChange={(event) => setReason(event.target.value)} />
        {!device && <Checkbox label="With groups below" checked={isBelow} onChange={(event) => setBelow(event.target.checked)} />}
      </Form>
    </Dialog>
  );
}
