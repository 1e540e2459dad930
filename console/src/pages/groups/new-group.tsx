import { useState } from "react";
import { useNavigate } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { queryClient } from "~/api/queries";
import { Dialog } from "~/ui/dialog";
import { TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { useSubmission } from "~/ui/submit";

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
    <Dialog title={parent ? `New group below ${parent.name}` : "New group"} onClose={onClose}>
      <Form submission={submission} onSubmit={create} submit="Create">
        <TextField label="Name" required autoFocus value={name} error={submission.errorOf("name")} onChange={(event) => setName(event.target.value)} />
        <TextField label="Description" value={description} error={submission.errorOf("description")} onChange={(event) => setDescription(event.target.value)} />
        {!parent && <p className="ink-2">You become its owner and administrator. Groups below it are created in its settings.</p>}
      </Form>
    </Dialog>
  );
}
