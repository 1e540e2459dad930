import { useId, useState, type FormEvent } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ApiProblem, api, read } from "~/api/client";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Select, TextField, fieldError } from "~/ui/field";
import { ErrorState } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { parseTags } from "./bulk";
import { NETWORKS, deviceTypesQuery } from "./queries";

export function NewDeviceDialog({ groupId, onClose }: { groupId: string; onClose: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const types = useQuery(deviceTypesQuery);
  const formId = useId();
  const listId = useId();
  const [draft, setDraft] = useState({ name: "", originalId: "", type: "generic", network: "", tags: "" });
  const create = useMutation({
    mutationFn: () => read(api.POST("/device", { body: { ...draft, groupId, tags: parseTags(draft.tags) } })),
    onSuccess: (device) => {
      void client.invalidateQueries({ queryKey: ["devices"] });
      showToast(`Created ${device.name}`, {
        action: { label: "Open", run: () => navigate({ to: "/d/$deviceId", params: { deviceId: device.deviceId } }) },
      });
      onClose();
    },
  });
  const problem = create.error instanceof ApiProblem ? create.error : null;
  const field = (name: keyof typeof draft) => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) => setDraft({ ...draft, [name]: event.target.value }),
    error: fieldError(problem, name),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!create.isPending) create.mutate();
  };
  const options = (types.data ?? []).flatMap((each) => (each.name ? [[each.name, each.displayName ?? each.name] as const] : []));
  return (
    <Dialog
      title="New device"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={formId} disabledReason={create.isPending ? "Being created" : undefined}>
            Create
          </Button>
        </>
      }
    >
      <form id={formId} className="form" onSubmit={submit} noValidate>
        <TextField label="Name" autoFocus {...field("name")} />
        <TextField label="Original id" className="input input-code" hint="The network's own id, such as a DevEUI." {...field("originalId")} />
        <Select label="Type" options={options.length ? options : [["generic", "generic"]]} {...field("type")} />
        <TextField label="Network" list={listId} hint="Where its messages come from: chirpstack, ttn, mqtt, or any name." {...field("network")} />
        <datalist id={listId}>
          {NETWORKS.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <TextField label="Tags" hint="With commas between them." {...field("tags")} />
      </form>
      {create.error && (problem === null || problem.fields.length === 0) && <ErrorState error={create.error} />}
    </Dialog>
  );
}
