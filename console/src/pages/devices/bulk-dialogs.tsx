import { useId, useState, type FormEvent } from "react";
import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "~/api/client";
import { groupQuery } from "~/api/queries";
import { GroupTree } from "~/frame/group-picker";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Select, TextField } from "~/ui/field";
import { DialogForm } from "~/ui/form";
import { countOf, parseTags } from "./bulk";
import type { BulkAction } from "./bulk-actions";
import { deviceTypesQuery } from "./queries";
import { t } from "~/messages/devices";

interface ActionDialogProps {
  count: number;
  onChoose: (action: BulkAction) => void;
  onClose: () => void;
}

export function TagDialog({ count, devices, onChoose, onClose }: ActionDialogProps & { devices: readonly Schemas["Device"][] }) {
  const [added, setAdded] = useState("");
  const [removed, setRemoved] = useState("");
  const formId = useId();
  const listId = useId();
  const present = [...new Set(devices.flatMap((each) => each.tags ?? []))].sort();
  const addTags = parseTags(added);
  const removeTags = parseTags(removed);
  const nothing = addTags.length + removeTags.length === 0 ? t("NoTagIsNamedYet") : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!nothing) onChoose({ kind: "tag", addTags, removeTags });
  };
  return (
    <Dialog
      title={t("TagCount", { count: countOf(count) })}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" form={formId} disabledReason={nothing}>
            {t("Tag")}
          </Button>
        </>
      }
    >
      <DialogForm id={formId} isBusy={false} onSubmit={submit}>
        <TextField label={t("AddTags")} hint={t("SeparatedByCommas")} value={added} onChange={(event) => setAdded(event.target.value)} autoFocus />
        <TextField
          label={t("RemoveTags")}
          list={listId}
          hint={present.length > 0 ? t("TagsTheyHaveValueValue2", { value: present.slice(0, 12).join(", "), value2: present.length > 12 ? ", …" : "" }) : undefined}
          value={removed}
          onChange={(event) => setRemoved(event.target.value)}
        />
        <datalist id={listId}>
          {present.map((tag) => (
            <option key={tag} value={tag} />
          ))}
        </datalist>
      </DialogForm>
    </Dialog>
  );
}

export function TypeDialog({ count, onChoose, onClose }: ActionDialogProps) {
  const types = useQuery(deviceTypesQuery);
  const [type, setType] = useState("");
  const formId = useId();
  const options = (types.data ?? []).flatMap((each) => (each.name ? [[each.name, each.displayName ?? each.name] as const] : []));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (type) onChoose({ kind: "type", type });
  };
  return (
    <Dialog
      title={t("ChangeTypeOfCount", { count: countOf(count) })}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" form={formId} disabledReason={type ? undefined : t("NoTypeIsChosenYet")}>
            {t("ChangeType")}
          </Button>
        </>
      }
    >
      <DialogForm id={formId} isBusy={false} onSubmit={submit}>
        <Select
          label={t("Type")}
          hint={t("configurationOfEachIsResetTo")}
          options={[["", t("ChooseType")], ...options]}
          value={type}
          onChange={(event) => setType(event.target.value)}
        />
      </DialogForm>
    </Dialog>
  );
}

export function MoveDialog({ count, onChoose, onClose }: ActionDialogProps) {
  const [toGroupId, setGroup] = useState<string | null>(null);
  const group = useQuery({ ...groupQuery(toGroupId ?? ""), enabled: toGroupId !== null });
  const name = group.data?.name ?? toGroupId ?? "";
  return (
    <Dialog
      title={t("MoveCount", { count: countOf(count) })}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button
            look="primary"
            disabledReason={toGroupId ? undefined : t("NoGroupIsChosenYet")}
            onClick={() => toGroupId && onChoose({ kind: "transfer", toGroupId, toName: name })}
          >
            {toGroupId ? t("MoveToName", { name }) : t("Move")}
          </Button>
        </>
      }
    >
      <p className="ink-2">{t("StoredRecordsStayWithGroupThey")}</p>
      <GroupTree onChoose={setGroup} />
      {toGroupId && (
        <p aria-live="polite">
          {t.rich("ToStrong", { strong: <strong>{name}</strong> })}
        </p>
      )}
    </Dialog>
  );
}
