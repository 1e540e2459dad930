// Creates the device of an unknown id: network and id are those of its messages.
import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { childGroupsQuery, groupQuery, queryClient } from "~/api/queries";
import { deviceTypesQuery } from "~/pages/devices/queries";
import { parseTags } from "~/pages/devices/bulk";
import { Dialog } from "~/ui/dialog";
import { Checkbox, Select, TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { Facts } from "~/ui/page";
import { useSubmission } from "~/ui/submit";
import { showToast } from "~/ui/toast";
import { nameOf, type UnknownDevice } from "./words";
import { t } from "~/messages/unknown";

export function CreateDialog({ device, onClose }: { device: UnknownDevice; onClose: () => void }) {
  const navigate = useNavigate();
  const types = useQuery(deviceTypesQuery);
  const group = useQuery(groupQuery(device.groupId));
  const below = useQuery(childGroupsQuery(device.groupId));
  const [name, setName] = useState(() => nameOf(device));
  const [type, setType] = useState("generic");
  const [groupId, setGroupId] = useState(device.groupId);
  const [tags, setTags] = useState("");
  const [storesMessage, setStoresMessage] = useState(device.hasMessage);
  const submission = useSubmission(["name", "type", "tags", "groupId"]);
  const typeOptions = (types.data ?? []).flatMap((each) => (each.name ? [[each.name, each.displayName ?? each.name] as const] : []));
  const groupOptions = [[device.groupId, group.data?.name ?? t("ThisGroup")] as const, ...(below.data?.items ?? []).map((each) => [each.id, each.name ?? each.id] as const)];
  const create = async () => {
    const body = { groupId, name, type, network: device.network, originalId: device.originalId, tags: parseTags(tags) };
    const created = await read(storesMessage ? api.POST("/device/unknown", { body }) : api.POST("/device", { body }));
    for (const key of ["unknown-devices", "devices", "overview"]) void queryClient.invalidateQueries({ queryKey: [key] });
    showToast(t("CreatedName", { name: created.name }), {
      action: { label: t("Open"), run: () => navigate({ to: "/d/$deviceId", params: { deviceId: created.deviceId } }) },
    });
    onClose();
  };
  return (
    <Dialog title={t("CreateThisDevice")} onClose={onClose}>
      <Form submission={submission} onSubmit={create} submit={t("Create")}>
        <Facts
          rows={[
            [t("Network"), device.network],
            [t("OriginalId"), <code key="id">{device.originalId}</code>],
          ]}
        />
        <TextField label={t("Name")} required autoFocus value={name} error={submission.errorOf("name")} onChange={(event) => setName(event.target.value)} />
        <Select
          label={t("Type")}
          options={typeOptions.length ? typeOptions : [["generic", "generic"]]}
          value={type}
          error={submission.errorOf("type")}
          onChange={(event) => setType(event.target.value)}
        />
        {groupOptions.length > 1 && (
          <Select label={t("Group")} options={groupOptions} value={groupId} error={submission.errorOf("groupId")} onChange={(event) => setGroupId(event.target.value)} />
        )}
        <TextField label={t("Tags")} hint={t("SeparatedByCommas")} value={tags} error={submission.errorOf("tags")} onChange={(event) => setTags(event.target.value)} />
        {device.hasMessage && (
          <Checkbox
            label={t("StoreLastUplinkAsItsFirst")}
            hint={t("DecodedByTypeWithItsOwn")}
            checked={storesMessage}
            onChange={(event) => setStoresMessage(event.target.checked)}
          />
        )}
      </Form>
    </Dialog>
  );
}
