// Dialogs that create, change and delete a device type.
import { useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api, read, type Schemas } from "~/api/client";
import { mayCall, useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Select, TextArea, TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { ErrorState } from "~/ui/state";
import { useSubmission } from "~/ui/submit";
import { showToast } from "~/ui/toast";
import { t } from "~/messages/types";

type Definition = Schemas["DeviceTypeDefinition"];

// Whose a new type may be, the group of the page first; none if nobody may make one here.
export function useOwners(groupId: string | null): readonly (readonly [string, string])[] {
  const rights = useRights(groupId);
  const group = useQuery({ ...groupQuery(groupId ?? ""), enabled: groupId !== null });
  const own = groupId && group.data && mayCall(rights, "POST /device/type") ? [[groupId, t("nameAndBelow", { name: group.data.name ?? t("ThisGroup") })] as const] : [];
  return [...own, ...(rights.isOperator ? [["", t("AllGroups")] as const] : [])];
}

export function useTypesChanged(): () => void {
  const client = useQueryClient();
  return () => {
    for (const key of ["device-types", "device-type", "type-definition", "type-decoder"]) void client.invalidateQueries({ queryKey: [key] });
  };
}

const FIELDS = ["name", "displayName", "battery", "firmwareVersion", "defaultConfiguration"] as const;
type Draft = Record<(typeof FIELDS)[number], string>;

function Fields({ draft, set, errorOf, isNew }: { draft: Draft; set: (draft: Draft) => void; errorOf: (field: string) => string | undefined; isNew: boolean }) {
  const field = (name: keyof Draft) => ({ value: draft[name], error: errorOf(name), onChange: (event: { target: { value: string } }) => set({ ...draft, [name]: event.target.value }) });
  return (
    <>
      {isNew && <TextField label={t("Id")} className="input input-code" autoFocus hint={t("DevicesFilesAndFiltersNameIt")} {...field("name")} />}
      <TextField label={t("Name")} autoFocus={!isNew} {...field("displayName")} />
      <TextField label={t("Battery")} hint={t("ForPeopleSuchAs2AA")} {...field("battery")} />
      <TextField label={t("Firmware")} {...field("firmwareVersion")} />
      <TextArea label={t("DefaultConfiguration")} isCode rows={4} hint={t("NewDevicesGetItReportEverySecondsSays")} {...field("defaultConfiguration")} />
    </>
  );
}

export function NewTypeDialog({ owners, onClose }: { owners: readonly (readonly [string, string])[]; onClose: () => void }) {
  const navigate = useNavigate();
  const changed = useTypesChanged();
  const submission = useSubmission([...FIELDS, "groupId"]);
  const [owner, setOwner] = useState(owners[0]?.[0] ?? "");
  const [draft, setDraft] = useState<Draft>({ name: "", displayName: "", battery: "", firmwareVersion: "", defaultConfiguration: "{}" });
  const create = async () => {
    const { name, displayName, battery, firmwareVersion, defaultConfiguration } = draft;
    const made = await read(
      api.POST("/device/type", {
        body: { name: name.trim(), defaultConfiguration, displayName: displayName.trim() || undefined, battery: battery || undefined, firmwareVersion: firmwareVersion || undefined, groupId: owner || undefined },
      }),
    );
    changed();
    onClose();
    void navigate({ to: "/types/$type", params: { type: made.name } });
  };
  return (
    <Dialog title={t("NewDeviceType")} onClose={onClose}>
      <Form submission={submission} onSubmit={create} submit={t("Create")}>
        <Select label={t("For")} options={owners} value={owner} error={submission.errorOf("groupId")} onChange={(event) => setOwner(event.target.value)} />
        <Fields draft={draft} set={setDraft} errorOf={submission.errorOf} isNew />
      </Form>
    </Dialog>
  );
}

export function EditTypeDialog({ present, onClose }: { present: Definition; onClose: () => void }) {
  const changed = useTypesChanged();
  const submission = useSubmission(FIELDS);
  const [draft, setDraft] = useState<Draft>({
    name: present.name,
    displayName: present.displayName,
    battery: present.battery ?? "",
    firmwareVersion: present.firmwareVersion ?? "",
    defaultConfiguration: present.defaultConfiguration,
  });
  const save = async () => {
    const { displayName, battery, firmwareVersion, defaultConfiguration } = draft;
    const body = { type: present.name, displayName, defaultConfiguration, battery, firmwareVersion, ifUpdatedAt: present.updatedAt };
    await read(api.PUT("/device/type/definition", { body }));
    changed();
    showToast(t("Saved"));
    onClose();
  };
  return (
    <Dialog title={t("EditDisplayName", { displayName: present.displayName })} onClose={onClose}>
      <Form submission={submission} onSubmit={save} submit={t("Save")}>
        <Fields draft={draft} set={setDraft} errorOf={submission.errorOf} isNew={false} />
      </Form>
    </Dialog>
  );
}

export function DeleteTypeDialog({ present, onClose }: { present: Definition; onClose: () => void }) {
  const navigate = useNavigate();
  const changed = useTypesChanged();
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const remove = async () => {
    setBusy(true);
    try {
      await read(api.DELETE("/device/type", { params: { query: { type: present.name } } }));
      await navigate({ to: "/types" });
      changed(); // only here: the page of the type would ask for what is gone
      showToast(t("DeletedDisplayName", { displayName: present.displayName }));
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={t("DeleteDisplayName", { displayName: present.displayName })}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="danger" disabledReason={isBusy ? t("BeingDeleted") : undefined} onClick={() => void remove()}>
            {t("Delete")}
          </Button>
        </>
      }
    >
      <p>{t("ItsDecoderItsPolicyAndWhat")}</p>
      {error !== null && <ErrorState error={error} />}
    </Dialog>
  );
}
