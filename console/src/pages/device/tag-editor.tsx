import { useState, type FormEvent } from "react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useUnreachableSince } from "~/api/reachability";
import { api, read } from "~/api/client";
import { parseTags } from "~/pages/devices/bulk";
import { Button } from "~/ui/button";
import { showToast } from "~/ui/toast";
import type { Device } from "./queries";
import { t } from "~/messages/device";

type TagChange = { addTags: string[] } | { removeTags: string[] };

export function TagEditor({ device, mayChange, onChanged }: { device: Device; mayChange: boolean; onChanged: (device: Device) => void }) {
  const client = useQueryClient();
  const [text, setText] = useState<string | null>(null);
  const isUnreachable = useUnreachableSince() !== null;
  const tags = device.tags ?? [];
  // By name, not as a whole list: what others have tagged meanwhile stays, and is not undone either.
  const put = async (change: TagChange): Promise<Device> => {
    const { items } = await read(api.PUT("/devices", { body: { groupId: device.groupId, deviceIds: [device.deviceId], ...change } }));
    return items[0] ?? device;
  };
  const fail = (error: Error) => {
    showToast(error.message, { tone: "bad" });
    void client.invalidateQueries({ queryKey: ["device", device.deviceId] });
  };
  const change = useMutation({
    mutationFn: ({ tagged }: { tagged: TagChange; undone: TagChange; text: string }) => put(tagged),
    onSuccess: (changed, { undone, text: words }) => {
      onChanged(changed);
      showToast(words, {
        action: { label: t("Undo"), run: () => put(undone).then(onChanged).catch(fail) },
      });
    },
    onError: fail,
  });
  const add = (event: FormEvent) => {
    event.preventDefault();
    if (isUnreachable) return;
    const added = parseTags(text ?? "").filter((tag) => !tags.includes(tag));
    setText(null);
    if (added.length > 0) change.mutate({ tagged: { addTags: added }, undone: { removeTags: added }, text: t("AddedValueToName", { value: added.join(", "), name: device.name }) });
  };
  return (
    <span className="tag-editor">
      {tags.map((tag) => (
        <span key={tag} className="tag">
          {tag}
          {mayChange && (
            <Button
              look="plain"
              writes
              className="tag-remove"
              aria-label={t("RemoveTagTag", { tag })}
              onClick={() => change.mutate({ tagged: { removeTags: [tag] }, undone: { addTags: [tag] }, text: t("RemovedTagFromName", { tag, name: device.name }) })}
            >
              ×
            </Button>
          )}
        </span>
      ))}
      {mayChange &&
        (text === null ? (
          <Button look="link" writes onClick={() => setText("")}>
            {t("tag")}
          </Button>
        ) : (
          <form onSubmit={add}>
            <input
              className="input tag-input"
              aria-label={t("AddTag")}
              autoFocus
              value={text}
              onChange={(event) => setText(event.target.value)}
              onBlur={() => text.trim() === "" && setText(null)}
              onKeyDown={(event) => event.key === "Escape" && setText(null)}
            />
          </form>
        ))}
    </span>
  );
}
