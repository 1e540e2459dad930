import { useState } from "react";
import { useNavigate } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { queryClient } from "~/api/queries";
import { Dialog } from "~/ui/dialog";
import { TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { useSubmission } from "~/ui/submit";
import { t } from "~/messages/groups";

export function NewGroup({ parent, onClose }: { parent: { id: string; name: string } | null; onClose: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const submission = useSubmission(["name", "description"]);
  const navigate = useNavigate();
  const create = async () => {
    const params = { query: parent ? { parentId: parent.id } : {} };
    const group = await read(api.POST("/group", { params, body: { name, ...(description && { description }) } }));
    await queryClient.invalidateQueries({ queryKey: ["groups"] });
    onClose();
    await navigate({ to: "/g/$groupId/overview", params: { groupId: group.id } });
  };
  return (
    <Dialog title={parent ? t("NewGroupBelowName", { name: parent.name }) : t("NewGroup")} onClose={onClose}>
      <Form submission={submission} onSubmit={create} submit={t("Create")}>
        <TextField label={t("Name")} required autoFocus value={name} error={submission.errorOf("name")} onChange={(event) => setName(event.target.value)} />
        <TextField label={t("Description")} value={description} error={submission.errorOf("description")} onChange={(event) => setDescription(event.target.value)} />
        {!parent && <p className="ink-2">{t("YouBecomeItsOwnerAndAdministrator")}</p>}
      </Form>
    </Dialog>
  );
}
