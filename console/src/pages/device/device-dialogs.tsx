import { useId, useState, type FormEvent } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ApiProblem, api, read } from "~/api/client";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { TextField, fieldError } from "~/ui/field";
import { Facts } from "~/ui/page";
import { KIND_LABELS } from "~/ui/pill";
import { ErrorState, QueryView } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { recordCountsQuery, type Device } from "./queries";

export function RenameDialog({ device, onChanged, onClose }: { device: Device; onChanged: (device: Device) => void; onClose: () => void }) {
  const [name, setName] = useState(device.name);
  const formId = useId();
  const put = (next: string, ifUpdatedAt: string) => read(api.PUT("/device", { body: { deviceId: device.deviceId, groupId: device.groupId, name: next, ifUpdatedAt } }));
  const rename = useMutation({
    mutationFn: () => put(name, device.updatedAt),
    onSuccess: (changed) => {
      onChanged(changed);
      showToast(`Renamed ${device.name} to ${changed.name}`, {
        action: {
          label: "Undo",
          run: () => put(device.name, changed.updatedAt).then(onChanged).catch((error: Error) => void showToast(error.message, { tone: "bad" })),
        },
      });
      onClose();
    },
  });
  const problem = rename.error instanceof ApiProblem ? rename.error : null;
  const error = fieldError(problem, "name");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    rename.mutate();
  };
  return (
    <Dialog
      title={`Rename ${device.name}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={formId}>
            Rename
          </Button>
        </>
      }
    >
      <form id={formId} className="form" onSubmit={submit}>
        <TextField label="Name" autoFocus value={name} error={error} onChange={(event) => setName(event.target.value)} />
      </form>
      {rename.error && !error && <ErrorState error={rename.error} />}
    </Dialog>
  );
}

export function DeleteRecordsDialog({ device, onClose }: { device: Device; onClose: () => void }) {
  const client = useQueryClient();
  const [typed, setTyped] = useState("");
  const counts = useQuery(recordCountsQuery(device.deviceId));
  const remove = useMutation({
    mutationFn: () => read(api.DELETE("/device/data", { body: { deviceId: device.deviceId } })),
    onSuccess: (answer) => {
      for (const key of ["device-records", "device-numbers", "device-series"]) void client.invalidateQueries({ queryKey: [key, device.deviceId] });
      showToast(answer.message ?? `Deleted the records of ${device.name}`);
      onClose();
    },
  });
  return (
    <Dialog
      title={`Delete all records of ${device.name}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="danger"
            disabledReason={remove.isPending ? "Being deleted" : typed === device.name ? undefined : "The name of the device is not typed yet"}
            onClick={() => remove.mutate()}
          >
            Delete records
          </Button>
        </>
      }
    >
      <p>This cannot be undone. The device itself stays.</p>
      <QueryView query={counts} operation="GET /device/data" groupId={device.groupId} skeletonRows={4}>
        {(found) => <Facts rows={found.map((each) => [KIND_LABELS[each.kind], `${each.count.toLocaleString("en")}${each.isMore ? " or more" : ""}`] as const)} />}
      </QueryView>
      <TextField label={`Type “${device.name}” to delete them`} value={typed} autoComplete="off" onChange={(event) => setTyped(event.target.value)} />
      {remove.error && <ErrorState error={remove.error} />}
    </Dialog>
  );
}
