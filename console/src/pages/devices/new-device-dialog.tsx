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
import { t } from "~/messages/devices";

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
      showToast(isRegistered ? t("CreatedNameItsRegistrationIsOn", { name: device.name }) : t("CreatedName", { name: device.name }), {
        action: { label: t("Open"), run: () => navigate({ to: "/d/$deviceId", params: { deviceId: device.deviceId } }) },
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
      title={t("NewDevice")}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" form={formId} disabledReason={create.isPending ? t("BeingCreated") : undefined}>
            {isRegistered ? t("CreateAndRegister") : t("Create")}
          </Button>
        </>
      }
    >
      <DialogForm id={formId} isBusy={create.isPending} onSubmit={submit} noValidate>
        <TextField label={t("Name")} autoFocus {...field("name")} />
        <Select label={t("Type")} options={options.length ? options : [["generic", "generic"]]} {...field("type")} />
        <NetworkField value={draft.network} error={field("network").error} onChange={(network) => set({ network })} />
        <TextField label={t("OriginalId")} className="input input-code" hint={originalIdHint(draft.network)} {...field("originalId")} />
        {draft.network === VENDOR && (
          <Checkbox
            label={t("RegisterItAtVendorsNetwork")}
            hint={t("OtherwiseItIsCreatedHereOnly")}
            checked={draft.isRegistered}
            onChange={(event) => set({ isRegistered: event.target.checked })}
          />
        )}
        {isRegistered && (
          <fieldset className="form registration">
            <legend>{t("Registration")}</legend>
            <TextField label={t("PAC")} className="input input-code" autoComplete="off" hint={t("PrintedOnDeviceAndUsedOnce")} {...field("pac")} />
            <TextField label={t("DeviceTypeAtVendor")} className="input input-code" hint={t("idThatVendorsPortalShowsFor")} {...field("deviceTypeId")} />
            <Checkbox label={t("MayBeActivated")} checked={draft.activable} onChange={(event) => set({ activable: event.target.checked })} />
            <Checkbox label={t("RenewItsSubscriptionByItself")} checked={draft.automaticRenewal} onChange={(event) => set({ automaticRenewal: event.target.checked })} />
            <TextField label={t("Latitude")} inputMode="decimal" {...field("lat")} />
            <TextField label={t("Longitude")} inputMode="decimal" {...field("lng")} />
          </fieldset>
        )}
        <TextField label={t("Tags")} hint={t("SeparatedByCommas")} {...field("tags")} />
      </DialogForm>
      {create.error && (problem === null || problem.fields.length === 0) && <ErrorState error={create.error} />}
    </Dialog>
  );
}
