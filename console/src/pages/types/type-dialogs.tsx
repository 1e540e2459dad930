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

type Definition = Schemas["DeviceTypeDefinition"];

// Whose a new type may be, the group of the page first; none if nobody may make one here.
export function useOwners(groupId: string | null): readonly (readonly [string, string])[] {
  const rights = useRights(groupId);
  const group = useQuery({ ...groupQuery(groupId ?? ""), enabled: groupId !== null });
  const own = groupId && group.data && mayCall(rights, "POST /device/type") ? [[groupId, `${group.data.name ?? "This group"} and below`] as const] : [];
  return [...own, ...(rights.isOperator ? [["", "All groups"] as const] : [])];
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
      {isNew && <TextField label="Id" className="input input-code" autoFocus hint="Devices, files and filters name it so. It never changes." {...field("name")} />}
      <TextField label="Name" autoFocus={!isNew} {...field("displayName")} />
      <TextField label="Battery" hint="For people, such as 2 × AA." {...field("battery")} />
      <TextField label="Firmware" {...field("firmwareVersion")} />
      <TextArea label="Default configuration" isCode rows={4} hint="New devices get it. reportEverySeconds says when one counts as silent." {...field("defaultConfiguration")} />
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
    <Dialog title="New device type" onClose={onClose}>
      <Form submission={submission} onSubmit={create} submit="Create">
        <Select label="For" options={owners} value={owner} error={submission.errorOf("groupId")} onChange={(event) => setOwner(event.target.value)} />
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
    showToast("Saved");
    onClose();
  };
  return (
    <Dialog title={`Edit ${present.displayName}`} onClose={onClose}>
      <Form submission={submission} onSubmit={save} submit="Save">
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
      showToast(`Deleted ${present.displayName}`);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={`Delete ${present.displayName}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" disabledReason={isBusy ? "Being deleted" : undefined} onClick={() => void remove()}>
            Delete
          </Button>
        </>
      }
    >
      <p>Its decoder, its policy and what is declared of it are gone then. Records stay. Only a type that no device has can be deleted.</p>
      {error !== null && <ErrorState error={error} />}
    </Dialog>
  );
}
