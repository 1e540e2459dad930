import { useId, useState, type FormEvent } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ApiProblem, api, read } from "~/api/client";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Checkbox, Select, TextField, fieldError } from "~/ui/field";
import { DialogForm } from "~/ui/form";
import { ErrorState } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { EMPTY_DEVICE, VENDOR, deviceBody, registrationBody, type DeviceDraft } from "./new-device";
import { NetworkField } from "./network-field";
import { deviceTypesQuery, originalIdHint } from "./queries";

type TextName = { [K in keyof DeviceDraft]: DeviceDraft[K] extends string ? K : never }[keyof DeviceDraft];

export function NewDeviceDialog({ groupId, onClose }: { groupId: string; onClose: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const types = useQuery(deviceTypesQuery);
  const formId = useId();
  const [draft, setDraft] = useState(EMPTY_DEVICE);
  const isRegistered = draft.network === VENDOR && draft.isRegistered;
  const create = useMutation({
    mutationFn: () =>
      isRegistered
        ? read(api.POST("/device/vendor", { body: registrationBody(draft, groupId) }))
        : read(api.POST("/device", { body: deviceBody(draft, groupId) })),
    onSuccess: (device) => {
      void client.invalidateQueries({ queryKey: ["devices"] });
      showToast(isRegistered ? `Created ${device.name}; its registration is on its page` : `Created ${device.name}`, {
        action: { label: "Open", run: () => navigate({ to: "/d/$deviceId", params: { deviceId: device.deviceId } }) },
      });
      onClose();
    },
  });
  const problem = create.error instanceof ApiProblem ? create.error : null;
  const set = (change: Partial<DeviceDraft>) => setDraft((before) => ({ ...before, ...change }));
  const field = (name: TextName, wireName: string = name) => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
    error: fieldError(problem, wireName) ?? fieldError(problem, `input.${wireName}`) ?? fieldError(problem, `vendor.${wireName}`),
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
            {isRegistered ? "Create and register" : "Create"}
          </Button>
        </>
      }
    >
      <DialogForm id={formId} isBusy={create.isPending} onSubmit={submit} noValidate>
        <TextField label="Name" autoFocus {...field("name")} />
        <Select label="Type" options={options.length ? options : [["generic", "generic"]]} {...field("type")} />
        <NetworkField value={draft.network} error={field("network").error} onChange={(network) => set({ network })} />
        <TextField label="Original id" className="input input-code" hint={originalIdHint(draft.network)} {...field("originalId")} />
        {draft.network === VENDOR && (
          <Checkbox
            label="Register it at the vendor's network"
            hint="Otherwise it is created here only, as a device that is registered there already."
            checked={draft.isRegistered}
            onChange={(event) => set({ isRegistered: event.target.checked })}
          />
        )}
        {isRegistered && (
          <fieldset className="form registration">
            <legend>Registration</legend>
            <TextField label="PAC" className="input input-code" autoComplete="off" hint="Printed on the device, and used once. It is not shown again." {...field("pac")} />
            <TextField label="Device type at the vendor" className="input input-code" hint="The id that the vendor's portal shows for it." {...field("deviceTypeId")} />
            <Checkbox label="May be activated" checked={draft.activable} onChange={(event) => set({ activable: event.target.checked })} />
            <Checkbox label="Renew its subscription by itself" checked={draft.automaticRenewal} onChange={(event) => set({ automaticRenewal: event.target.checked })} />
            <TextField label="Latitude" inputMode="decimal" {...field("lat")} />
            <TextField label="Longitude" inputMode="decimal" {...field("lng")} />
          </fieldset>
        )}
        <TextField label="Tags" hint="Separated by commas." {...field("tags")} />
      </DialogForm>
      {create.error && (problem === null || problem.fields.length === 0) && <ErrorState error={create.error} />}
    </Dialog>
  );
}
